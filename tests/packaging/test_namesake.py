"""The distribution `sqlext` of PyPI, another project with a package of our name, in the same environment."""

from __future__ import annotations

import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

THEIRS = "from .transaction import transaction\n"  # their module needs libraries that we do not
HINT = "run `pip uninstall sqlext`, then `pip install --force-reinstall --no-deps spark-sqlext`"


def environment(folder: Path, wheel: Path) -> Path:
    """A folder with our wheel and the metadata of the other distribution."""
    zipfile.ZipFile(wheel).extractall(folder)
    (folder / "sqlext-0.1.dist-info").mkdir()
    (folder / "sqlext-0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: sqlext\nVersion: 0.1\n")
    return folder


def printed(folder: Path, program: str) -> str:
    """What a program prints in which the folder comes first, and the libraries of this Python after it."""
    path = f"import sys; sys.path[:0] = [{str(folder)!r}]; sys.path += {site.getsitepackages()!r}\n"
    command = [sys.executable, "-I", "-S", "-c", path + program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_both_installed_is_a_warning(tmp_path, wheel):
    program = "from sqlext.spark.namesake import warn_of_namesake; warn_of_namesake()"
    warning = printed(environment(tmp_path, wheel), program)
    assert "SqlExtWarning: the distribution sqlext, another project, is installed" in warning
    assert HINT in warning


@pytest.mark.parametrize("program", ["a.main()", "a._extend(None)"])
def test_files_of_the_other_in_the_place_of_ours_are_an_error_that_says_how_to_mend_it(tmp_path, wheel, program):
    folder = environment(tmp_path, wheel)
    (folder / "sqlext" / "__init__.py").write_text(THEIRS)
    text = printed(folder, f"import _sqlext_autoload as a; {program}")
    assert text.splitlines()[-1] == (
        f"ImportError: the distribution sqlext, another project, has replaced files of spark-sqlext: {HINT}"
    )


def test_the_command_runs_where_only_ours_is_installed(tmp_path, wheel):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    assert (
        printed(tmp_path, "import _sqlext_autoload as a; sys.argv = ['sqlext', '--version']; a.main()")
        == "sqlext 0.1.0\n"
    )
