"""Limits on the rows that workers hold at once. This module is light, since the driver imports it too."""

from __future__ import annotations

from dataclasses import dataclass, replace

FILES = 64  # into which rows that do not fit in memory are divided by their keys
SHARE_OF_MEMORY = 3  # one part in this many is for rows: to order and match them takes their bytes about twice more


@dataclass(frozen=True)
class Limits:
    """How many rows, and about how many bytes, are computed at once and are in a batch of the result. Neither
    partitions nor rows are divided.

    `held_bytes`: how many bytes of rows in no order are kept in memory; the others are on disk.
    `free_bytes`: what a worker may take beyond its rows; None means what the system has free.
    `threads`: how many threads order and match the rows of a worker.
    """

    rows: int = 1 << 16
    bytes: int = 1 << 28
    held_bytes: int = 1 << 28
    free_bytes: int | None = None
    threads: int = 1

    def within(self, free: int | None) -> Limits:
        """The limits of a worker with `free` bytes, None if unknown.

        >>> Limits(held_bytes=100).within(60).held_bytes, Limits(held_bytes=100).within(None).held_bytes
        (20, 100)
        """
        return self if free is None else replace(self, held_bytes=min(self.held_bytes, free // SHARE_OF_MEMORY))
