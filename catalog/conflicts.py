"""Writes of several sessions into one Delta table at the same time: Delta refuses the second of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from sqlext.errors import SqlExtError

ATTEMPTS = 100  # each failed attempt means that another writer has succeeded
_CONFLICT = re.compile(
    r"DELTA_(CONCURRENT|METADATA_CHANGED|PROTOCOL_CHANGED)|ALREADY_EXISTS|\b(Concurrent\w+|MetadataChanged)Exception"
)

Result = TypeVar("Result")


def is_conflict(error: Exception) -> bool:
    """True if another session has written at the same time.

    Py4J, Spark and Spark Connect each have their own classes for these errors.
    """
    return not isinstance(error, SqlExtError) and _CONFLICT.search(str(error)[:2000]) is not None


def repeated_on_conflict(write: Callable[[], Result], attempts: int = ATTEMPTS) -> Result:
    """The result of `write`, which is called again if another session was quicker. Raises the last of `attempts`
    conflicts, and any other error at once."""
    for _ in range(attempts - 1):
        try:
            return write()
        except Exception as error:
            if not is_conflict(error):
                raise
    return write()
