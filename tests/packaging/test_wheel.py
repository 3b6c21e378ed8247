"""The wheel holds every module once and works outside of the checkout. Needs no network."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.built_wheel import build, tracked_files


def paths_in_the_wheel():
    """Of all modules, which lie in `sqlext/` or beside it."""
    modules = [name for name in tracked_files() if name.endswith(".py")]
    inside = {name for name in modules if name.startswith("sqlext/") or "/" not in name}
    return inside | {f"sqlext/{name}" for name in modules if name.startswith(("rewriter/", "catalog/"))}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("packaging"))


def test_the_wheel_holds_every_module_once(built):
    names = [name for name in zipfile.ZipFile(built[1]).namelist() if name.endswith(".py")]
    assert len(names) == len(set(names))
    assert set(names) == paths_in_the_wheel()
    assert {"sqlext/rewriter/statements/scan.py", "sqlext/catalog/views.py", "_sqlext_autoload.py"} <= set(names)


def test_the_source_distribution_holds_what_the_wheel_is_made_of(built):
    with tarfile.open(built[0]) as archive:
        names = archive.getnames()
    inside = {name.split("/", 1)[1] for name in names if "/" in name}
    files = {
        "pyproject.toml",
        "LICENSE",
        "README.md",
        "rewriter/statements/scan.py",
        "catalog/views.py",
        "_sqlext_autoload.py",
    }
    assert files <= inside


def test_the_installed_wheel_works_outside_of_the_checkout(built, tmp_path):
    zipfile.ZipFile(built[1]).extractall(tmp_path / "installed")
    (tmp_path / "catalog.py").write_text("raise SystemExit('a module of the user was taken for ours')")
    program = (
        "import sys; sys.path.insert(0, 'installed')\n"
        "import sqlext.rewriter.statements.scan, sqlext.catalog.views, sqlext.cli.main\n"
        "print({m.__file__.startswith(sys.argv[1]) for n, m in sys.modules.items() if n.startswith('sqlext')})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "installed")],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "{True}\n", done.stderr
