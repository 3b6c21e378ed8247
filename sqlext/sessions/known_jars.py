"""The jars of Delta, remembered from one start of Spark to the next.

Ivy looks for them at each start, which takes 2 seconds of processor time even if all of them are on the disk, and its
list of jars becomes part of the path on which Python workers look for modules.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from sqlext.catalog.warehouse import local_path
from sqlext.host_folder import own_folder


def known_jars(package: str, folder: Path | None = None) -> str:
    """The value of `spark.jars` for the package, Maven coordinates; "" unless all jars are still there.

    `folder`: where lists of jars are kept.
    """
    try:
        jars = _file(package, folder).read_text("utf-8")
    except OSError:
        return ""
    return jars if all(map(_exists, jars.split(","))) else ""


def remember_jars(package: str, jars: str, folder: Path | None = None) -> None:
    """Keep the value of `spark.jars` with which Spark has started, if all of its jars are files of this machine."""
    if not all(map(_exists, jars.split(","))):
        return
    file = _file(package, folder)
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as draft:
            draft.write(jars)
        os.replace(draft.name, file)
    except OSError:
        pass  # Ivy finds them again at the next start


def _file(package: str, folder: Path | None) -> Path:
    return (folder or Path(own_folder("sqlext-jars"))) / re.sub(r"[^\w.-]", "_", package)


def _exists(jar: str) -> bool:
    path = local_path(jar)
    return path is not None and path.is_file()
