"""ASOF JOIN of tables: whether workers pair the rows, or Spark's window function does, and the pairing by workers.

Spark shuffles the rows of both relations by their keys, and workers order and merge them, which takes a fraction of the
time of Spark's sort and window (decision 43). Spark does it where the order of the values is only known to Spark, and
where filters around the join make it cheap: Spark applies a filter on a key before a window, but not before workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sqlext.engine.joins.bind_asof import BoundAsof
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.local_asof import LocalAsof, local_asof
from sqlext.engine.joins.paired_types import refusal_by_types
from sqlext.engine.match.ordering import AUTO, SPARK
from sqlext.engine.planning.planner import PlannedPart
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.scan.file_relation import NotRead
from sqlext.engine.scan.scan_plan import reason_of
from sqlext.engine.shipped.data_types import CHAR_TYPE
from sqlext.operators.asof.plan import LEFT, RIGHT, PairsPlan
from sqlext.rewriter.joins import join_conditions
from sqlext.rewriter.joins.asof_pairs_sql import Pairs, asof_pairs, rows_sql, worker_plan
from sqlext.rewriter.joins.asof_sql import AsofJoin
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.outer_filters import filtered_name
from sqlext.rewriter.joins.stars import reader_of
from sqlext.rewriter.statements.parse_statement import ParsedStatement
from sqlext.rewriter.text.names import quoted, unquoted
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.tree.sources import is_random
from sqlext.rewriter.tree.unread import unread_by_query
from sqlext.spark.worker_functions import map_in_arrow


@dataclass(frozen=True, kw_only=True)
class JoinComputation:
    """What decides who pairs the rows of a join. `order`: who orders rows, one of `ordering.MODES`; `read`: who reads
    files, one of `scan_plan.MODES`; `cores`: those of this machine, None if Spark runs on others; `is_portable`: the
    join is printed as plain SQL; `why_windows`: why Spark's windows pair them if `order` is AUTO, or "";
    `skips_failures`: on streams, a value that cannot be computed is NULL and does not end the query."""

    order: str
    read: str
    cores: int | None
    is_portable: bool
    why_windows: str
    skips_failures: bool


@dataclass(frozen=True, kw_only=True)
class PairedAsof(PlannedPart):
    """An ASOF JOIN that workers compute. `prefix`: the WITH clause that its relations need; `why_read`: why Spark reads
    their rows, as a clause of a sentence."""

    pairs: Pairs
    prefix: Text
    why_read: str = ""
    has_effect: ClassVar[bool] = False
    stream_clauses: ClassVar[tuple[StreamClause, ...]] = ()

    @property
    def plan(self) -> PairsPlan:
        return worker_plan(self.pairs)

    def rows(self, queries: Queries) -> DataFrame:
        """The rows that workers read."""
        return queries.run(join(self.prefix, rows_sql(self.pairs)))

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        return self.result(self.rows(queries))

    def result(self, rows: DataFrame) -> DataFrame:
        """What workers return of the rows, which `relation_sql` reads."""
        plan = self.plan
        types = {field.name: field.dataType for field in rows.schema.fields}
        columns = {**plan.of_left, **plan.of_right}
        schema = T.StructType([T.StructField(name, types[of]) for name, of in columns.items()])

        def pair(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from sqlext.operators.asof.pair_rows import pair_batches  # loads Numba, which the driver does not need

            return pair_batches(batches, plan)

        return map_in_arrow(rows, pair, schema)


def plan_pairs(
    bound: BoundAsof, sides: JoinSides, statement: ParsedStatement, computation: JoinComputation
) -> tuple[PairedAsof | LocalAsof, DataFrame] | str:
    """The join by workers and its result or, as a clause of a sentence, the reason why Spark pairs the rows."""
    if computation.is_portable:
        return "plain SQL has no workers"
    why = _refusal_by_text(bound, sides, statement, computation.order)
    if why := why or (computation.why_windows if computation.order == AUTO else None):
        return why
    of_side = {LEFT: join_conditions.LEFT, RIGHT: join_conditions.RIGHT}
    fields = {side: sides.whole(of).schema.fields for side, of in of_side.items()}
    if any(CHAR_TYPE in field.metadata for some in fields.values() for field in some):
        return "Spark pads the values that it compares with CHAR and VARCHAR columns"
    pairs = asof_pairs(
        bound.asof,
        {side: {quoted(field.name): field.dataType for field in some} for side, some in fields.items()},
        {} if sides.queries.frames else _unread(bound.asof, sides),
        bound.same,
    )
    try:
        local = local_asof(pairs, sides.prefix, sides.queries, computation.read, computation.cores)
        return local, local.frame(sides.queries, sides.whole(join_conditions.LEFT).sparkSession)
    except NotRead as refusal:
        why_read = refusal
    paired = PairedAsof(pairs=pairs, prefix=sides.prefix)
    rows = paired.rows(sides.queries)
    if why := refusal_by_types(paired.plan, rows.schema):
        return why
    paired = replace(paired, why_read=reason_of(why_read, computation.read, sides.clause.words.place))
    if computation.order == AUTO and not bound.asof.conditions.keys:
        return "without keys one worker would hold all rows"
    return paired, paired.result(rows)


def _refusal_by_text(bound: BoundAsof, sides: JoinSides, statement: ParsedStatement, mode: str) -> str | None:
    clause, tree, asof = sides.clause, sides.tree, bound.asof
    if mode == SPARK:
        return "sqlext.order is spark"
    if any(is_random(tree.tokens, cte.query) for cte in statement.ctes(clause.whole)):
        return "a random WITH query must be computed once only"
    if not asof.right_columns:
        return "two right columns have the same name"
    if mode != AUTO:
        return None
    if name := _filtered_key(asof, clause, statement):
        return f"Spark applies a WHERE on {name} before it"
    return None


def _filtered_key(asof: AsofJoin, clause: JoinClause, statement: ParsedStatement) -> str | None:
    """A name in a key of the join that a WHERE of the statement outside of the join reads, too."""
    tree = statement.tree
    names = {
        unquoted(token.text).lower()
        for key in asof.conditions.keys
        for side in (key.left, key.right)
        for token in tree.tokens
        if token.is_name and any(start <= token.start < stop for start, stop in [side.span or (0, 0)])
    }
    relations = {unquoted(name).lower() for name in (asof.name, asof.carried.name if asof.carried else "")}
    return filtered_name(tree, clause, names - relations)


def _unread(asof: AsofJoin, sides: JoinSides) -> Mapping[str, Sequence[str]]:
    """The columns of LEFT and of RIGHT, quoted, that the query does not read from the join."""
    clause, tree = sides.clause, sides.tree
    if reader_of(tree, clause) is not None:
        return {}
    using = {name.text.lower() for name in clause.using}
    relations = [name for name in (asof.name, asof.carried.name if asof.carried else "") if name]
    columns = {LEFT: asof.carried.columns if asof.carried else (), RIGHT: asof.right_columns}
    unread = {}
    for side, of in ((LEFT, join_conditions.LEFT), (RIGHT, join_conditions.RIGHT)):
        by_name = {name: c for c in columns[side] if (name := unquoted(c).lower()) not in using}
        other = sides.other_qualifier(of)
        names = unread_by_query(tree, clause.query, clause.whole, relations, by_name, other)
        unread[side] = [by_name[name] for name in names]
    return unread
