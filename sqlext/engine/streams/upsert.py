"""UPSERT KEY: a table that keeps one row of each key, which is the last one by event time.

Each micro-batch is one MERGE, which commits the identifier of the query and the number of the micro-batch together with
the rows, so a micro-batch that is run again changes nothing.

On Connect all queries share the settings of one session, from which the format reads the identifiers, so they are left
out there. Spark runs only the last micro-batch again, and its MERGE finds its own rows. A MERGE that fails because
of another writer is run again.

| a row of the micro-batch | effect |
|---|---|
| is not the last of its key in the micro-batch | nothing |
| has the timing MERGED | deletes the row of its key |
| is older than the row of its key in the table | nothing; only if the table holds the event time |
| any other | replaces the row of its key, or is inserted |
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.catalog.checkpoint import Checkpoint
from sqlext.catalog.conflicts import repeated_on_conflict
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import WATERMARK
from sqlext.engine.streams.append import query_of
from sqlext.errors import BindError
from sqlext.expressions.spark_types import is_orderable
from sqlext.formats.format import Format
from sqlext.operators.emit.parts import FIRING, MERGED, ROWTIME, TIMING
from sqlext.rewriter.emit.upserted import HIDDEN
from sqlext.rewriter.heads.stream_target import NamedColumn, StreamTarget
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.kind import is_connect
from sqlext.spark.void_columns import has_void

_WINDOW_ENDS = ("window_end", "window_start")  # the columns with the event times of windows that Spark groups
_NUMBER, _TIMING, _START = "window_firing", "window_timing", "window_start"
_ATTEMPTS = 5  # of a MERGE


@dataclass(frozen=True, kw_only=True)
class Upsert:
    """How rows of one key replace each other: by `times`, then by `number`, then by `values`; the largest is the last.

    All of them are names of columns. `columns`: the columns of the table; `timing`: the column that may be MERGED, if
    there is one; `merged_is_least`: a row of timing MERGED is earlier in the order than any other row of the same time;
    `is_stored`: the table has all columns that the order reads.
    """

    key: tuple[str, ...]
    columns: tuple[str, ...]
    times: tuple[str, ...]
    number: str | None
    values: tuple[str, ...]
    timing: str | None = None
    merged_is_least: bool = False
    is_stored: bool = True


def plan_upsert(frame: DataFrame, target: StreamTarget, clauses: Sequence[StreamClause]) -> Upsert:
    """How the rows of the query `frame` replace each other.

    Raises BindError (UPSERT_KEY, UPSERT_ORDER, UPSERT_MERGED), placed at UPSERT KEY.
    """
    fields = [f for f in frame.schema.fields if f.name not in HIDDEN]
    names = {f.name.lower(): f.name for f in fields}
    key = tuple(_key_column(column, fields) for column in target.upsert_key)
    columns = tuple(f.name for f in fields)
    values = tuple(f.name for f in fields if _is_comparable(f.dataType))
    has_merged_rows = any(clause.has_merged_rows for clause in clauses)
    if len(fields) < len(frame.columns):
        timing = TIMING if has_merged_rows else None
        return Upsert(
            key=key, columns=columns, times=(ROWTIME,), number=FIRING, values=values, timing=timing, is_stored=False
        )
    timing = names.get(_TIMING) if has_merged_rows else None
    if has_merged_rows and timing is None:
        raise BindError(
            "UPSERT_MERGED",
            "no column of the result tells which sessions have joined others and must be deleted",
            place=target.upsert_key[0].place,
            hint="add window_timing to the select list, and do not filter out its value MERGED.",
        )
    return Upsert(
        key=key,
        columns=columns,
        times=_times(fields, target),
        number=names.get(_NUMBER),
        values=values,
        timing=timing,
        merged_is_least=timing is not None and names.get(_START) not in key,
    )


def check_table(upsert: Upsert, columns: Sequence[str], target: StreamTarget) -> None:
    """Raise BindError if an existing table lacks a column."""
    known = {name.lower() for name in columns}
    missing = next((name for name in (*upsert.key, *upsert.columns) if name.lower() not in known), None)
    if missing is not None:
        raise BindError(
            "UPSERT_KEY",
            f"the table {target.name[-1]} has no column {missing}",
            place=target.upsert_key[0].place,
            hint="CREATE OR REPLACE STREAMING TABLE drops it first.",
        )


def _key_column(column: NamedColumn, fields: Sequence[T.StructField]) -> str:
    kind = next(((f.name, f.dataType) for f in fields if f.name.lower() == column.name.lower()), None)
    if kind is None:
        raise BindError(
            "UPSERT_KEY",
            f"the query returns no column {column.name}",
            place=column.place,
            hint=f"its columns are {', '.join(f.name for f in fields)}.",
        )
    if not _is_comparable(kind[1]):
        raise BindError(
            "UPSERT_KEY",
            f"{column.name} of type {kind[1].simpleString()} cannot be a key",
            place=column.place,
            hint="values of a key are compared: take a column of another type.",
        )
    return kind[0]


def _is_comparable(kind: T.DataType) -> bool:
    return is_orderable(kind.simpleString()) and not has_void(kind)


def _times(fields: Sequence[T.StructField], target: StreamTarget) -> tuple[str, ...]:
    """The columns with the event time of a row."""
    names = {f.name.lower(): f.name for f in fields}
    times = [f.name for f in fields if WATERMARK in f.metadata]
    times = times or [names[name] for name in _WINDOW_ENDS if name in names][:1]
    if not times:
        raise BindError(
            "UPSERT_ORDER",
            "no column of the result tells which of several rows of a key is the last",
            place=target.upsert_key[0].place,
            hint="select the event time: MATCH_ROWTIME() AS x, window_rowtime, or the column of the WATERMARK.",
        )
    return tuple(times)


@dataclass
class UpsertWriter:
    """The function that Spark calls with each micro-batch. `table`: its name, with the schema."""

    upsert: Upsert
    table: Parts
    tables: Format
    checkpoint: str
    query: str = field(default="", init=False)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        spark = rows.sparkSession
        last = spark.sql(last_rows_query(self.upsert), rows=rows).persist()
        try:
            if last.count():  # counting reads all partitions, so the state of each is written
                self._merge(spark, last, batch)
        finally:
            last.unpersist()

    def _merge(self, spark: SparkSession, last: DataFrame, batch: int) -> None:
        is_first = not self.query
        self.query = self.query or query_of(spark, self.checkpoint)
        settings = {} if is_connect(spark) else self.tables.settings_of_batch(self.query, batch)

        def merge() -> None:
            for name, value in settings.items():
                spark.conf.set(name, value)
            spark.sql(merge_statement(self.upsert, quote(self.table)), last=last).collect()

        try:
            # After a conflict the format has committed nothing or, if it knows the identifiers of the micro-batch, has
            # committed rows that the next call finds and does not repeat.
            if not (is_first and self.tables.repeats_merge(spark, self.table, self.query, batch)):
                repeated_on_conflict(merge, _ATTEMPTS)
            Checkpoint(spark, self.checkpoint).write_merged(batch)
        finally:
            for name in settings:
                with suppress(PySparkException):
                    spark.conf.unset(name)


# the SQL, in which {rows} and {last} are replaced by DataFrames


def last_rows_query(upsert: Upsert) -> str:
    """The last row of each key of a micro-batch, {rows}.

    >>> upsert = Upsert(key=("k",), columns=("k", "at"), times=("at",), number=None, values=("k", "at"))
    >>> print(last_rows_query(upsert))
    SELECT r.* FROM (SELECT max_by(struct(*), struct(`at`, `k`, `at`)) AS r FROM {rows} GROUP BY `k`)
    """
    key = ", ".join(map(_name, upsert.key))
    return f"SELECT r.* FROM (SELECT max_by(struct(*), {_order(upsert, '')}) AS r FROM {{rows}} GROUP BY {key})"


def merge_statement(upsert: Upsert, table: str) -> str:
    """The MERGE of the rows {last} into the table.

    >>> upsert = Upsert(key=("k",), columns=("k", "at"), times=("at",), number=None, values=("k", "at"))
    >>> print(merge_statement(upsert, "spark_catalog.default.latest"))
    MERGE INTO spark_catalog.default.latest AS t USING {last} AS s ON t.`k` <=> s.`k`
    WHEN MATCHED AND struct(s.`at`, s.`k`, s.`at`) >= struct(t.`at`, t.`k`, t.`at`)
    THEN UPDATE SET t.`k` = s.`k`, t.`at` = s.`at`
    WHEN NOT MATCHED
    THEN INSERT (`k`, `at`) VALUES (s.`k`, s.`at`)
    """
    columns = [_name(name) for name in upsert.columns]
    same = " AND ".join(f"t.{name} <=> s.{name}" for name in map(_name, upsert.key))
    newer = f" AND {_order(upsert, 's.')} >= {_order(upsert, 't.')}" if upsert.is_stored else ""
    is_merged = f"s.{_name(upsert.timing)} = '{MERGED}'" if upsert.timing else ""
    lines = [
        f"MERGE INTO {table} AS t USING {{last}} AS s ON {same}",
        *([f"WHEN MATCHED AND {is_merged} THEN DELETE"] if is_merged else []),
        f"WHEN MATCHED{newer}",
        f"THEN UPDATE SET {', '.join(f't.{c} = s.{c}' for c in columns)}",
        f"WHEN NOT MATCHED{f' AND NOT {is_merged}' if is_merged else ''}",
        f"THEN INSERT ({', '.join(columns)}) VALUES ({', '.join(f's.{c}' for c in columns)})",
    ]
    return "\n".join(lines)


def _order(upsert: Upsert, row: str) -> str:
    """A value that is larger for the later of two rows. `row`: the qualifier of the row's columns."""
    times = [row + _name(name) for name in upsert.times]
    parts = [f"greatest({', '.join(times)})" if len(times) > 1 else times[0]]
    if upsert.timing is not None and upsert.merged_is_least:
        parts.append(f"{row}{_name(upsert.timing)} <> '{MERGED}'")
    names = [upsert.number, *upsert.values] if upsert.number is not None else upsert.values
    return f"struct({', '.join([*parts, *(row + _name(name) for name in names)])})"


def _name(name: str) -> str:
    """A quoted name for a text in which {…} is replaced by a DataFrame."""
    return quoted(name).replace("{", "{{").replace("}", "}}")
