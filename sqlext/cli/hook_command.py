"""`sqlext hook`: makes every Python of an environment extend configured sessions, and undoes it."""

from __future__ import annotations

import argparse
import sys
import sysconfig
from pathlib import Path
from typing import Any

from sqlext.errors import file_fault

FAILED = 1  # exit status
_PURPOSE = (
    "install, remove or show the hook that extends every session with spark.sqlext.enabled=true; "
    "the exit status of show is 1 if it is not installed"
)
_PTH = "sqlext_autoload.pth"
# Python runs this line when it starts. After `pip uninstall`, which leaves the file, the line has no effect.
_LINE = (
    r'import sys; exec("try:\n import _sqlext_autoload\n'
    r'except ImportError: pass\nelse: _sqlext_autoload.wait_for_sessions()")'
)


def add_command(commands: Any) -> None:
    """Add `hook` to the parser."""
    hook = commands.add_parser("hook", help=_PURPOSE, description=_PURPOSE)
    hook.set_defaults(tool=run)
    hook.add_argument("state", choices=("install", "remove", "show"), nargs="?", default="show")


def run(options: argparse.Namespace) -> int:
    """Install or remove the hook in this environment, and print whether it is installed.

    Returns the exit status: 1 if the hook is not installed and was only to be shown.
    """
    folder = site_packages()
    try:
        if options.state == "install":
            install(folder)
        elif options.state == "remove":
            remove(folder)
    except OSError as error:
        print(f"sqlext: cannot change {folder}: {file_fault(error)}", file=sys.stderr)
        return FAILED
    if is_installed(folder):
        print(f"installed in {folder}: sessions with spark.sqlext.enabled=true are extended when they start")
    else:
        print(f"not installed in {folder}")
        return FAILED if options.state == "show" else 0
    return 0


def site_packages() -> Path:
    """The folder of this environment's packages."""
    return Path(sysconfig.get_path("purelib"))


def install(folder: Path) -> None:
    """Make every Python of the environment whose packages are in `folder` extend the sessions that are configured for
    it.

    Raises OSError if the folder cannot be written.
    """
    (folder / _PTH).write_text(f"{_LINE}\n", encoding="utf-8")


def remove(folder: Path) -> None:
    """Undo `install`. Raises OSError if the file cannot be removed."""
    (folder / _PTH).unlink(missing_ok=True)


def is_installed(folder: Path) -> bool:
    """Return True if the folder has the file that this version of sqlext installs."""
    file = folder / _PTH
    return file.exists() and file.read_text(encoding="utf-8") == f"{_LINE}\n"
