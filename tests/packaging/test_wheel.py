"""The wheel holds every module once and works outside of the checkout. Needs no network."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile

import sqlext
from tests.built_wheel import ROOT, build, tracked_files


def paths_in_the_wheel():
    """Of all modules and their data, which lie in `sqlext/` or beside it; not of the links to what lies beside it."""
    names = [name for name in tracked_files() if name != "setup.py" and not (ROOT / name).is_symlink()]
    inside = {name for name in names if name.startswith("sqlext/") or (name.endswith(".py") and "/" not in name)}
    return inside | {f"sqlext/{name}" for name in names if name.startswith(("rewriter/", "catalog/"))}


def test_the_public_names_are_those_that_dir_shows():
    assert dir(sqlext) == sorted(sqlext.__all__)
    assert [name for name in sqlext.__all__ if getattr(sqlext, name, None) is None] == []


def test_a_second_build_gives_the_same_bytes(built, tmp_path):
    """Under another umask, as another checkout may have."""
    before = os.umask(0o077)
    try:
        again = build(tmp_path)
    finally:
        os.umask(before)
    for first, second in zip(built, again):
        assert (first.name, first.read_bytes() == second.read_bytes()) == (second.name, True)


def test_the_wheel_holds_every_module_and_its_data_once(built):
    names = [name for name in zipfile.ZipFile(built[1]).namelist() if ".dist-info/" not in name]
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
    assert [name for name in inside if name.startswith("tests")] == []  # the tests need the whole repository


def test_the_source_distribution_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path)
    (source,) = tmp_path.iterdir()
    program = "import sys; sys.path.insert(0, 'build_backend'); import reproducible; reproducible.build_wheel('..')"
    subprocess.run([sys.executable, "-c", program], cwd=source, capture_output=True, check=True)
    assert (tmp_path / built[1].name).read_bytes() == built[1].read_bytes()


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
