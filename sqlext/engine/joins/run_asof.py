"""ASOF JOIN of two streams: Spark computes keys and times, workers pair the rows, Spark computes the rest of the
query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.planning.answers import KeptClause
from sqlext.engine.planning.fingerprint import Fingerprint, fingerprint_of
from sqlext.engine.planning.planner import PlannedPart
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import WATERMARK, Queries, after_watermark
from sqlext.engine.shipped.data_types import arrow_schema, char_type
from sqlext.engine.streams import side_tables
from sqlext.engine.streams.run_operator import decided_rows, result_columns
from sqlext.errors import Place, UnsupportedError
from sqlext.expressions.spark_types import has_plain_equality
from sqlext.operators.asof.operator import AsofOperator
from sqlext.operators.asof.plan import AsofPlan
from sqlext.operators.rows.columns import LATE_ROW
from sqlext.rewriter.checkpoint_words.resumed_words import resumed_words
from sqlext.rewriter.joins.asof_sql import AsofJoin, Key
from sqlext.rewriter.joins.asof_stream_sql import stream_rows, struct_names
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Text, join


@dataclass(frozen=True, kw_only=True)
class StreamAsof(PlannedPart):
    """An ASOF JOIN of two streams. `prefix`: the WITH clause that its relations need; `types`: the columns of the left
    relation and of the right one; `has_effect`: building the DataFrame to run creates the table of late rows."""

    clause: JoinClause
    asof: AsofJoin
    prefix: Text
    fields: tuple[Sequence[T.StructField], ...]
    has_effect: bool

    @property
    def types(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """The names and types of the columns of both relations."""
        return tuple(tuple((field.name, field.dataType.simpleString()) for field in side) for side in self.fields)

    @property
    def stream_clauses(self) -> list[StreamClause]:
        """The record of the join that is stored beside the checkpoint."""
        whole = self.clause.whole
        text = Fragment(whole.source, self.clause.words.start, whole.stop)
        return [StreamClause(text=text.text, place=text.place, fingerprint=self.fingerprint)]

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint: which rows are kept, with which columns, and which of them are pairs."""
        asof, conditions = self.asof, self.asof.conditions
        limit = asof.distance and asof.distance.limit
        times = [asof.left_time, asof.right_time]
        parts = {
            "MATCH_CONDITION": [asof.operator, [resumed_words(str(t)) for t in times], limit and limit.micros],
            "the type of the join": asof.is_left,
            "ON": [
                [[resumed_words(str(k.left)), resumed_words(str(k.right)), k.matches_null] for k in conditions.keys],
                [resumed_words(str(condition)) for condition in (*conditions.left, *conditions.right)],
            ],
            "the columns of both relations": self.types,
        }
        return fingerprint_of(parts, [], [], join(asof.left, " JOIN ", asof.right))

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        folders = side_tables.open_folders(spark, self.fingerprint, queries.identifier) if self.has_effect else {}
        rows = self._rows(queries, has_late_rows=bool(folders))
        operator = self._operator(rows)
        plan = operator.plan
        decided = decided_rows(rows, operator, self.fingerprint, plan.keys, folders=folders)
        types = {field.name: field.dataType for field in rows.schema.fields}
        schema = T.StructType([T.StructField(name, types[name]) for name in (*plan.left, *plan.right)])
        result = result_columns(decided, [], schema)
        halves = (
            F.struct(*(F.col(name).alias(field.name, metadata=char_type(field)) for name, field in zip(names, fields)))
            for names, fields in zip((plan.left, plan.right), self.fields)
        )
        return result.select(*(half.alias(name) for half, name in zip(halves, struct_names(self.asof))))

    def kept(self, queries: Queries, spark: SparkSession) -> Iterable[KeptClause]:
        from sqlext.engine.joins.kept_asof import kept_asof  # loads the matchers, which other statements need not

        operator = self._operator(self._rows(queries, has_late_rows=False))
        return (kept_asof(self.asof, operator, clause, self.types, spark) for clause in self.stream_clauses)

    def _rows(self, queries: Queries, *, has_late_rows: bool) -> DataFrame:
        return queries.run(join(self.prefix, stream_rows(self.asof, has_late_rows=has_late_rows)))

    def _operator(self, rows: DataFrame) -> AsofOperator:
        extra = tuple(name for name in rows.columns if name == LATE_ROW)
        fields = [field for field in rows.schema.fields if field.name not in extra]
        limit, place = self.asof.distance and self.asof.distance.limit, self.clause.keyword.place
        plan = AsofPlan(
            schema=pa.schema([field.with_nullable(nullable=True) for field in arrow_schema(fields, lambda _: place)]),
            operator=self.asof.operator,
            within=limit.micros if limit else None,
            is_left=self.asof.is_left,
            takes_last=self.asof.takes_last,
        )
        return AsofOperator(plan=plan, extra=extra)


def check_streams(sides: JoinSides, asof: AsofJoin, times: tuple[Fragment, Fragment]) -> None:
    """Raise UnsupportedError (WATERMARK, STREAM_RANGE, STREAM_JOIN) for an ASOF JOIN of two streams that cannot be
    decided, or that is not built. `times`: the times of the left and the right relation."""
    clause = sides.clause
    condition = clause.match_condition
    if condition is None or clause.using:
        raise _unsupported("ASOF JOIN of streams takes ON, not USING", clause.words, _ON_HINT)
    fields = [sides.field_on(side, time) for side, time in zip((LEFT, RIGHT), times)]
    for field, time in zip(fields, times):
        if field is None or WATERMARK not in field.metadata:
            column = after_watermark(time.text)
            raise UnsupportedError(
                "WATERMARK",
                f"{time.text} has no watermark, so the nearest row would never be known",
                place=time.place,
                hint=f"write STREAM relation WATERMARK {column} DELAY OF INTERVAL 10 SECONDS AS alias.",
            )
    if len({field.dataType.simpleString() for field in fields if field is not None}) > 1:
        message = "the times of an ASOF JOIN of streams have one type"
        raise _unsupported(message, condition.whole, "CAST one of them in a subquery before its WATERMARK.")
    has_limit = asof.distance is not None and asof.distance.limit is not None
    if asof.operator not in (">=", ">") and not has_limit:
        raise UnsupportedError(
            "STREAM_RANGE",
            "on a stream a nearer row may always come, so no row would ever be decided",
            place=condition.whole.place,
            hint=f"write {condition.whole.text} WITHIN INTERVAL 5 MINUTES.",
        )
    if asof.conditions.bounds:
        hint = "write MATCH_CONDITION (…) WITHIN INTERVAL 1 HOUR."
        raise _unsupported("on streams WITHIN bounds the distance, not ON", clause.on or clause.words, hint)
    if asof.carried is None:
        message = "the left relation of an ASOF JOIN of streams is one relation with a name"
        raise _unsupported(message, clause.left, "write FROM (SELECT … FROM …) AS l ASOF JOIN ….")
    if not asof.right_columns:
        raise _unsupported("two columns have the same name", clause.right, "name its columns in a subquery.")


_ON_HINT = "write MATCH_CONDITION (l.ts >= r.ts) ON l.key = r.key."


def check_stream_and_table(clause: JoinClause, streams: Sequence[str]) -> None:
    """Raise UnsupportedError (STREAM_JOIN) for a join of a stream and a table that is not built."""
    if streams == [RIGHT]:
        message = "the left relation is a table, whose rows a later row of the stream may still join"
        raise _unsupported(message, clause.words, "write FROM STREAM l ASOF JOIN table, or make both of them streams.")
    if clause.using:
        raise _unsupported("ASOF JOIN of a stream takes ON, not USING", clause.words, _ON_HINT)


def check_key_types(clause: JoinClause, keys: Sequence[Key], types: Sequence[tuple[T.DataType, T.DataType]]) -> None:
    """Raise UnsupportedError (KEY_TYPE) for keys that workers cannot compare. `types`: of both sides of each key."""
    texts = [text for key in keys for text in (key.left, key.right)]
    for text, of in zip(texts, (side.simpleString() for pair in types for side in pair)):
        if not has_plain_equality(of):
            raise UnsupportedError(
                "KEY_TYPE",
                f"an ASOF JOIN of streams cannot compare keys of type {of}",
                place=Place(clause.whole.source, *text.span) if text.span else clause.keyword.place,
                hint="CAST both keys, such as to STRING.",
            )


def _unsupported(message: str, where: Fragment, hint: str) -> UnsupportedError:
    return UnsupportedError("STREAM_JOIN", message, place=where.place, hint=hint)
