"""The late rows of some keys, from the table of `sqlext.late_rows`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.engine.planning.answers import ClauseInput, KeptClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.reports.row_json import row_texts
from sqlext.engine.streams.side_tables import written_rows
from sqlext.errors import SqlExtError
from sqlext.expressions.spark_types import in_sql
from sqlext.operators.stateful.fact import seconds
from sqlext.operators.stateful.side_rows import LATE
from sqlext.pattern.task.event_time import BEGINNING
from sqlext.rewriter.text.names import column_name, quoted
from sqlext.rewriter.text.splice import Text, join

MAX_LATE = 20  # rows that are read


class LateRow(NamedTuple):
    """`time`, and the `watermark` that had passed it, in int64 microseconds; the `row` and its `key` as JSON. A row
    without a time has come too late as well, because no watermark reaches it."""

    time: int | None
    watermark: int
    row: str
    key: str | None

    @property
    def text(self) -> str:
        """Why the row was dropped.

        >>> LateRow(2_000_000, 5_000_000, '{"i":1}', None).text, LateRow(None, 5_000_000, '{"i":2}', None).text
        ('{"i":1}; it came 3 s after the watermark had passed it, and was dropped', \
'{"i":2}; it has no time, which a watermark could reach: it was dropped, and is in no result')
        """
        if self.time is None:
            return f"{self.row}; it has no time, which a watermark could reach: it was dropped, and is in no result"
        late = seconds(self.watermark - self.time)
        return f"{self.row}; it came {late} after the watermark had passed it, and was dropped"


def late_rows(call: SqlCall, clause: KeptClause, identifier: str, condition: Text) -> Sequence[LateRow] | None:
    """The last late rows of a clause whose keys satisfy the condition; None if it writes them into no table.
    `identifier`: of its query."""
    written = written_rows(call.spark, LATE, clause.clause.fingerprint, identifier)
    if written is None:
        return None
    rows = {row[:3]: row for kind in clause.inputs for row in _of_keys(call, written, kind, clause, condition)}
    return sorted(rows.values(), key=lambda row: BEGINNING if row.time is None else row.time, reverse=True)[:MAX_LATE]


def _of_keys(
    call: SqlCall, written: DataFrame, kind: ClauseInput, clause: KeptClause, condition: Text
) -> Sequence[LateRow]:
    """The late rows, read as rows of one kind of input."""
    names = [quoted(name) for name in clause.keys.values()]
    types = ", ".join(f"{quoted(name)} {in_sql(spark_type)}" for name, spark_type in kind.columns)
    late = written.select(*(F.col(name).alias(f"__late_{name}") for name in written.columns))
    late = late.withColumn("__late", F.from_json("__late_row", types)).select("*", "__late.*").drop("__late")
    queries = Queries(call.sql, {}, call.text)
    keys = "".join(f", {_own_column(text)} AS {name}" for text, name in zip(kind.keys, names))
    shown = "".join(f", {name}" for name in names)
    query = join(
        f"SELECT unix_micros(__late_time), unix_micros(__late_watermark), __late_row{shown} FROM (",
        f"SELECT __late_time, __late_watermark, __late_row{keys} FROM {queries.name(late)}) AS late WHERE (",
        condition,
        f") ORDER BY __late_time DESC LIMIT {MAX_LATE}",
    )
    try:
        table = queries.run(query).toArrow()
    except (SqlExtError, PySparkException):  # a key that the columns of the row alone do not give
        return []
    own = {name: name for name in clause.keys.values()}
    times, watermarks, rows = (column.to_pylist() for column in table.columns[:3])
    written_keys = row_texts(call.spark, own, table) if own else [None] * table.num_rows
    return [LateRow(*fact) for fact in zip(times, watermarks, rows, written_keys)]


def _own_column(text: str) -> str:
    """An expression over the columns of a row: a column is without the name of its relation.

    >>> _own_column("e.card"), _own_column("upper(card)")
    ('`card`', 'upper(card)')
    """
    name = column_name(text)
    return text if name == text else quoted(name)
