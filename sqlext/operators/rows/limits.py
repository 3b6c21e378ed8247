"""Limits on the rows that workers hold at once. This module is light, since the driver imports it too."""

from __future__ import annotations

from dataclasses import dataclass


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
