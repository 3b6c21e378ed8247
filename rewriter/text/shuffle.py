"""The SQL by which Spark brings all rows of a key into one task."""

from __future__ import annotations

from collections.abc import Iterable

# A constant beside the keys. Spark leaves out a shuffle by the keys alone where its input is distributed by them: a
# bucketed table, a join by the keys, an aggregation. It does not know that a worker needs whole keys, so afterwards it
# may read the files of the table in any order, split a skewed partition of the join, or read rows where they were
# written. No distribution of Spark's own has the constant, so the shuffle stays.
APART = "0"


def distribute_by(keys: Iterable[str]) -> str:
    """The clause after which all rows of a key are in one task; without keys, all rows are in one.

    >>> distribute_by(["k"])
    'DISTRIBUTE BY k, 0'
    """
    return f"DISTRIBUTE BY {', '.join([*keys, APART])}"
