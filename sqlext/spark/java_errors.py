"""The error that Java's errors become in Python, also where there is no Java."""

from __future__ import annotations

try:
    from py4j.protocol import Py4JError
except ModuleNotFoundError:  # pyspark-client has no JVM

    class Py4JError(Exception):  # type: ignore[no-redef]
        """A placeholder, which is never raised."""


__all__ = ["Py4JError"]
