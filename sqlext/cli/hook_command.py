"""`sqlext hook`: makes every Python of an environment extend configured sessions, and undoes it."""

from __future__ import annotations

import sysconfig
from pathlib import Path

_PTH = "sqlext_autoload.pth"
# Python runs this line when it starts. After `pip uninstall`, which leaves the file, the line has no effect.
_LINE = (
    r'import sys; exec("try:\n import _sqlext_autoload\n'
    r'except ImportError: pass\nelse: _sqlext_autoload.wait_for_sessions()")'
)


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
