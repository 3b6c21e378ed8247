"""Writes of several sessions into one Delta table at the same time: Delta refuses the second of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlext.errors import SqlExtError

ATTEMPTS = 100  # each failed attempt means that another writer has succeeded
_CONFLICTS = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "ALREADY_EXISTS")

Result = TypeVar("Result")


def is_conflict(error: Exception) -> bool:
    """True if another session has written at the same time.

    Delta's conflicts reach Python as errors without a class.
    """
    return not isinstance(error, SqlExtError) and any(word in str(error)[:2000] for word in _CONFLICTS)


def repeated_on_conflict(write: Callable[[], Result]) -> Result:
    """The result of `write`, which is called again if another session was quicker."""
    for _ in range(ATTEMPTS):
        try:
            return write()
        except Exception as error:
            if not is_conflict(error):
                raise
    return write()
