"""Unpacks a package that Spark has shipped as a zip into a folder of the host, once for all workers and applications.

The path of a shipped zip holds the id of its application, and Numba keeps machine code by the path of the source: each
application would compile all kernels anew. In a folder that is named by the zip's content, Numba finds the machine code
that came with the zip, or that another worker of the host has compiled. Python keeps its bytecode there too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile

# Light by design: `import sqlext` loads this before all else, and from the zip; so it is in no folder of the package.

_PREFIX = "sqlext-packages"


def unpacked(folders: list[str]) -> list[str]:
    """Where the package `sqlext` is to be imported from: `folders`, unless they lie in a zip.

    The packages of the zip are then found first, too. They stay in the zip where the host has no folder to write to.

    >>> unpacked(["/opt/python/site-packages/sqlext"])
    ['/opt/python/site-packages/sqlext']
    """
    archive, package = os.path.split(folders[0])
    if not os.path.isfile(archive):
        return folders
    try:
        folder = _unpacked_zip(archive)
    except OSError:
        return folders
    sys.path.insert(0, folder)
    return [os.path.join(folder, package)]


def _unpacked_zip(archive: str) -> str:
    """The folder with the content of the archive. Workers that start at once unpack it each, and one of them wins."""
    with open(archive, "rb") as file:
        content = hashlib.sha256(file.read()).hexdigest()[:16]
    top = own_folder(_PREFIX)
    folder = os.path.join(top, content)
    if not os.path.isdir(folder):
        draft = tempfile.mkdtemp(dir=top)
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(draft)
        try:
            os.rename(draft, folder)
        except OSError:  # another worker was faster
            shutil.rmtree(draft)
    return folder


def own_folder(name: str) -> str:
    """A temporary folder to which no other user can write, because the code read from it is executed."""
    if not hasattr(os, "getuid"):  # on Windows each user has temporary folders of their own
        folder = os.path.join(tempfile.gettempdir(), name)
        os.makedirs(folder, exist_ok=True)
        return folder
    user = os.getuid()
    folder = os.path.join(tempfile.gettempdir(), f"{name}-{user}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    status = os.lstat(folder)
    is_own = status.st_uid == user and not status.st_mode & 0o022
    return folder if is_own else tempfile.mkdtemp()
