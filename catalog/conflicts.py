"""Writes of several sessions into one table at the same time: the format refuses the second of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlext.formats.known_formats import is_conflict

ATTEMPTS = 100  # each failed attempt means that another writer has succeeded

Result = TypeVar("Result")


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
