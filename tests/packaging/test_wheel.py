"""The wheel holds every module once and works outside of the checkout. Needs no network."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = """
import sys
from setuptools import build_meta
target = sys.argv[1]  # setuptools writes its own words into sys.argv
build_meta.build_sdist(target)
build_meta.build_wheel(target)
"""


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


def paths_in_the_wheel():
    """Of all modules, which lie in `sqlext/` or, for two packages, beside it."""
    modules = [name for name in tracked_files() if name.endswith(".py")]
    inside = {name for name in modules if name.startswith("sqlext/")}
    return inside | {f"sqlext/{name}" for name in modules if name.startswith(("rewriter/", "catalog/"))}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(sdist, wheel), built from a copy of the checkout, as git would give it."""
    folder = tmp_path_factory.mktemp("packaging")
    source, target = folder / "source", folder / "dist"
    for name in tracked_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    target.mkdir()
    command = [sys.executable, "-c", BUILD, str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (sdist,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return sdist, wheel


def test_the_wheel_holds_every_module_once(built):
    names = [name for name in zipfile.ZipFile(built[1]).namelist() if name.endswith(".py")]
    assert len(names) == len(set(names))
    assert set(names) == paths_in_the_wheel()
    assert {"sqlext/rewriter/scan.py", "sqlext/catalog/views.py"} <= set(names)


def test_the_source_distribution_holds_what_the_wheel_is_made_of(built):
    with tarfile.open(built[0]) as archive:
        names = archive.getnames()
    inside = {name.split("/", 1)[1] for name in names if "/" in name}
    assert {"pyproject.toml", "LICENSE", "README.md", "rewriter/scan.py", "catalog/views.py"} <= inside


def test_the_installed_wheel_works_outside_of_the_checkout(built, tmp_path):
    zipfile.ZipFile(built[1]).extractall(tmp_path / "installed")
    (tmp_path / "catalog.py").write_text("raise SystemExit('a module of the user was taken for ours')")
    program = (
        "import sys; sys.path.insert(0, 'installed')\n"
        "import sqlext.rewriter.scan, sqlext.catalog.views, sqlext.cli\n"
        "print({m.__file__.startswith(sys.argv[1]) for n, m in sys.modules.items() if n.startswith('sqlext')})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "installed")],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "{True}\n", done.stderr
