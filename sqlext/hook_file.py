"""`sqlext hook`: puts the start of `sqlext.autoload` into a Python environment, and removes it."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from sqlext import autoload

_MODULE, _PTH = "_sqlext_autoload.py", "sqlext_autoload.pth"


def site_packages() -> Path:
    """The folder of this environment's packages."""
    return Path(sysconfig.get_path("purelib"))


def install(folder: Path) -> None:
    """Let every Python of the environment whose packages are in `folder` extend the sessions that are configured so.

    Raises OSError if the folder cannot be written.
    """
    source = Path(autoload.__file__).read_text(encoding="utf-8")
    (folder / _MODULE).write_text(f"{source}\n\nwait_for_sessions()\n", encoding="utf-8")
    (folder / _PTH).write_text(f"import {Path(_MODULE).stem}\n", encoding="utf-8")


def remove(folder: Path) -> None:
    """Undo `install`. Raises OSError if the files cannot be removed."""
    for name in (_PTH, _MODULE):  # the .pth file first: without the module Python would complain at each start
        (folder / name).unlink(missing_ok=True)


def is_installed(folder: Path) -> bool:
    return (folder / _PTH).exists()
