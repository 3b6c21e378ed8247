"""The paths of the locations that Spark and its users write. This module is light, since a session starts with it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from sqlext.spark.kind import is_connect

_DRIVE = re.compile(r"[A-Za-z]:(?=[/\\]|$)")  # of Windows; a scheme has more letters


def local_path(location: str) -> Path | None:
    """The path of a location as Spark returns it; None if it is not on this machine.

    >>> local_path("file:/tmp/a%20b"), local_path("/tmp/c"), local_path("s3://bucket/d")
    (PosixPath('/tmp/a b'), PosixPath('/tmp/c'), None)
    """
    path = file_path(location)
    return None if path is None else Path(path).resolve()


def path_here(spark: Any, location: str) -> Path | None:
    """The path on this machine of a location that Spark returns; None if it is elsewhere, as all are on Connect."""
    return None if is_connect(spark) else local_path(location)


def file_path(location: str) -> str | None:
    r"""The path of a location on the machines of Spark; None if it is not in a file system of theirs.

    >>> file_path("file:/tmp/a%20b"), file_path("s3://bucket/d")
    ('/tmp/a b', None)
    >>> file_path("file:///C:/tables/a%20b"), file_path(r"C:\tables")  # as Spark and users write them on Windows
    ('C:/tables/a b', 'C:\\tables')
    """
    if _DRIVE.match(location):
        return location
    url = urlparse(location)
    if url.scheme == "file":
        path = unquote(url.path)
        return path.removeprefix("/") if _DRIVE.match(path[1:]) else path
    return None if url.scheme or not location else location
