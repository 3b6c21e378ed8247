"""What differs between Linux, macOS and Windows, tested here with the paths and the checkouts of the others."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from sqlext import host_folder
from sqlext.catalog.warehouse import WarehouseTable
from sqlext.cli.shell_programs import words
from sqlext.sessions.session import _location
from sqlext.spark.locations import file_path
from tests.built_wheel import ROOT, tracked_files

LINKS = ("sqlext/rewriter", "sqlext/catalog")
FOLDERS = ("sqlext", "rewriter", "catalog", "_sqlext_autoload.py")


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("file:/C:/Users/ann/tables", "C:/Users/ann/tables"),
        ("file:///D:/a%20b", "D:/a b"),
        (r"C:\Users\ann", r"C:\Users\ann"),
        ("C:/Users/ann", "C:/Users/ann"),
        ("file:/private/tmp/a%20b", "/private/tmp/a b"),
        ("/srv/tables", "/srv/tables"),
        ("s3://C/b", None),
        ("hdfs://host/C:/b", None),
    ],
)
def test_a_location_of_spark_is_a_path_on_each_system(location, path):
    assert file_path(location) == path


@pytest.mark.parametrize(
    ("folder", "location"),
    [
        (PureWindowsPath(r"C:\Users\ann's\t"), r"'C:/Users/ann\'s/t'"),
        (PurePosixPath("/Users/ann's/t"), r"'/Users/ann\'s/t'"),
        (PurePosixPath(r"/srv/a\b"), r"'/srv/a\\b'"),
    ],
)
def test_a_table_of_the_warehouse_is_registered_by_a_path_that_spark_reads(folder, location):
    assert WarehouseTable(("default", "t"), folder).statements()[1].endswith(f"LOCATION {location}")


def test_a_uri_of_the_warehouse_is_left_as_it_is():
    assert _location("s3://bucket/tables") == "s3://bucket/tables"


def test_a_command_line_of_windows_keeps_its_backslashes():
    assert words(r"C:\vim\vim.exe -n", "nt") == [r"C:\vim\vim.exe", "-n"]


def test_sql_comes_in_utf8_through_the_pipe_of_a_system_with_another_encoding():
    """As the pipes of Windows have one."""
    text = "SELECT 'é日' AS `ü` FROM t MATCH_RECOGNIZE (\n  ORDER BY n\n  PATTERN (A)\n  DEFINE A AS n > 0\n)\n"
    command = [sys.executable, "-c", "import sys; from sqlext.cli.main import main; main(['format', '-'])"]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = subprocess.run(command, input=text.encode(), env=environment, cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.decode() == text


def test_a_system_without_user_numbers_shares_a_folder_of_the_user(tmp_path, monkeypatch):
    """Windows reports all permissions for every folder, so they are not looked at."""
    monkeypatch.delattr(os, "getuid")
    monkeypatch.setattr(host_folder.tempfile, "gettempdir", lambda: str(tmp_path))
    assert host_folder.own_folder("kernels") == host_folder.own_folder("kernels") == str(tmp_path / "kernels")


# A server forks, on Linux only.
FORKING = {("sqlext/server/listener.py", "os.fork"), ("sqlext/server/places.py", "import fcntl")}


def test_our_processes_do_not_fork():
    """On macOS a forked process must not use what its parent had loaded, and Windows has no fork; Spark's own may."""
    modules = [ROOT / name for name in tracked_files() if name.endswith(".py") and name.split("/")[0] in FOLDERS]
    calls = ("os.fork", "multiprocessing", "import fcntl", "import pwd", "import resource", "import termios")
    used = {(path.relative_to(ROOT).as_posix(), w) for path in modules for w in calls if w in path.read_text("utf-8")}
    assert used == FORKING


@pytest.mark.slow
def test_a_checkout_without_links_can_be_installed_in_place(tmp_path):
    """As git makes it on Windows, where each link is a file with the path to which it leads."""
    source = tmp_path / "source"
    for name in tracked_files():
        if name not in LINKS and not name.startswith("tests/"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    for name in LINKS:
        (source / name).write_text(f"../{Path(name).name}", encoding="utf-8")
    program = "import sys; sys.path.insert(0, 'build_backend'); import reproducible; reproducible.build_editable('..')"
    subprocess.run([sys.executable, "-c", program], cwd=source, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = (
        # The libraries of this Python without its .pth files, after the finder of the editable wheel.
        "import site, sys; sys.path[:0] = ['site']; sys.path += sys.argv[1:]; site.addsitedir('site')\n"
        "import sqlext.rewriter.statements.scan, sqlext.catalog.views, sqlext.cli.main\n"
        "print(sqlext.rewriter.__file__)"
    )
    command = [sys.executable, "-I", "-S", "-c", program, *site.getsitepackages()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"{source / 'rewriter' / '__init__.py'}\n", done.stderr
