"""What a worker reads of the files of a table, and what it computes of their rows, pickled to it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sqlext.expressions.scalar_tree import Scalar


@dataclass(frozen=True, kw_only=True)
class FileColumn:
    """A column that is read: its name in the table, its Spark type, and whether only conditions read its texts.

    `stored`: its name in the files, where that is another one; it is found there with regard to case.
    """

    name: str
    spark_type: str
    is_coded: bool = False
    stored: str = ""


@dataclass(frozen=True, kw_only=True)
class MaskColumn:
    """An integer column of `bits` bits, which holds the conditions: bit b is set where condition b is true."""

    name: str
    bits: int
    conditions: tuple[Scalar, ...]


@dataclass(frozen=True)
class DeltaLog:
    """The `folder` of the log of a Delta table, and the `version` for which the plan was made."""

    folder: str
    version: int


@dataclass(frozen=True)
class KeyValues:
    """The values of a `column` of the table whose rows are asked for; NULL may be one of them."""

    column: str
    values: pa.Array


@dataclass(frozen=True, kw_only=True)
class ScanPlan:
    """The rows of a table: those on which all `filters` are true, one after the other.

    `columns` are read from the files, and `constants`, the partition columns, are the same for all rows of a file; the
    expressions of `filters`, `computed` and `masks` are over both. `computed`: (name, expression) of each column of
    the result, and after them come the `masks`. `threads`: how many pieces are read at once, and `batch_rows`: how many
    rows of each at most, and how many rows may be held in any case. `log`: the log of a table whose newest version is
    read. `keys`: only rows with these values are read. `order`: the column of the files in whose order rows are wanted,
    if they are stored so.
    """

    columns: tuple[FileColumn, ...]
    constants: tuple[FileColumn, ...] = ()
    filters: tuple[Scalar, ...] = ()
    computed: tuple[tuple[str, Scalar], ...] = ()
    masks: tuple[MaskColumn, ...] = ()
    threads: int = 1
    batch_rows: int = 1 << 24
    log: DeltaLog | None = None
    keys: tuple[KeyValues, ...] = ()
    order: str | None = None
