"""The second step of a statement: each clause is bound to the columns and types that Spark reports for its input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.planning.planner import NOT_PORTABLE
from sqlext.engine.queries.pushable_columns import pushable_columns
from sqlext.engine.queries.python_functions import python_function
from sqlext.engine.queries.queries import Queries, SparkTypeResolver, watermarks, with_outer_hint
from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.reports.shown_values import shown_name
from sqlext.engine.shipped.data_types import CHAR_TYPE, lengths_of_chars
from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError, raise_all
from sqlext.rewriter.conditions.condition_parts import TypeResolver
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.pushdown import pushed_down
from sqlext.rewriter.lowering.stream_checks import PROCTIME_VALUE, check_row_times, is_processing_time
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.subqueries import correlation_error, subqueries
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import ParsedStatement
from sqlext.rewriter.text.names import column_name, quoted, repeated
from sqlext.rewriter.text.splice import Edit, Source, Text, join
from sqlext.rewriter.tree.sources import check_repeatable
from sqlext.rewriter.tree.unread import unread


def _check_order(clause: MatchClause, known: list[str]) -> None:
    """Raise BindError if the first ORDER BY key is not the watermark column, ascending. `known`: the columns that have
    a watermark."""
    if not clause.order_by:
        raise _order_error(
            "MATCH_RECOGNIZE on a stream needs ORDER BY its watermark column", clause.keyword.place, known
        )
    first = clause.order_by[0]
    if first.is_descending or first.nulls_first is False:
        raise _order_error("the first ORDER BY key of a stream must be ascending", first.expression.place, known)
    if column_name(first.expression.text).lower() not in map(str.lower, known):
        raise _order_error(
            f"the first ORDER BY key of a stream must be its watermark column, and {first.expression.text} is not",
            first.expression.place,
            known,
        )


def _order_error(message: str, place: Place, known: list[str]) -> BindError:
    hint = "write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS MATCH_RECOGNIZE (… ORDER BY ts …)."
    if known:
        hint = f"write ORDER BY {shown_name(quoted(known[0]))}, the column of the watermark."
    return BindError("STREAM_ORDER", message, place=place, hint=hint)


@dataclass(frozen=True, kw_only=True)
class BoundClause:
    """A bound clause. `prefix`: the WITH clause that its input needs; `rows`: its input, None for a window over
    the result of another one; `resolver`: the types of texts over it, None for a window. `written`: of a window,
    what the user wrote for columns of `rows`."""

    plan: MatchPlan
    prefix: Text
    rows: DataFrame | None = None
    resolver: TypeResolver | None = None
    is_streaming: bool = False
    written: Mapping[str, str] = field(default_factory=dict)


def input_query(relation: Text, hidden: Sequence[str] = ()) -> Text:
    """The query whose columns a clause over `relation` sees; `hidden`: the columns that it does not see."""
    columns = f"* EXCEPT ({', '.join(hidden)})" if hidden else "*"
    return join(f"SELECT {columns} FROM ", relation)


@dataclass(frozen=True, kw_only=True)
class ClauseBinder:
    """Binds the clauses of one statement.

    `strategy`: the strategy that the session names, or "auto". `is_portable`: the plan is printed as plain SQL and not
    run.
    """

    spark: SparkSession
    statement: ParsedStatement
    queries: Queries
    strategy: str
    is_portable: bool = False

    def bind(self, part: ClauseSite, source: Source, prefix: Text, hidden: Sequence[str] = ()) -> BoundClause:
        """Bind a clause. `source`: the statement with DataFrames in place of the clauses inside this one; `prefix`: the
        WITH clause that its input needs; `hidden`: columns of its input that it cannot see.

        Raises BindError and UnsupportedError.
        """
        site, clause, tree = part.site, part.clause, self.statement.tree
        ctes = self.statement.ctes(site.whole)
        check_repeatable(tree, ctes, (site.relation, *subqueries(clause)))
        relation = source.of(clause.relation)
        rows = self._input(join(prefix, input_query(relation, hidden)), is_subquery=bool(site.depth))
        is_streaming = rows.isStreaming
        if is_streaming and self.is_portable:
            message = "sqlext_match matches the rows that are there now, not a stream"
            raise UnsupportedError("STREAM", message, place=clause.relation.place, hint=NOT_PORTABLE)
        if is_streaming and is_processing_time(clause):
            time = clause.order_by[0].expression
            source = source.edited([Edit(time.start, time.stop, PROCTIME_VALUE)])
        elif is_streaming:
            _check_order(clause, watermarks(rows))
        self._check_subqueries(clause, prefix, source, tuple(rows.schema.names))
        columns = tuple((f.name, f.dataType.simpleString()) for f in rows.schema.fields)
        settings = execution_settings(self.spark)
        inputs = InputRelation(
            columns=columns,
            # Spark also sees the hidden columns, which may have the names of others
            resolver=SparkTypeResolver(
                self.queries, prefix, relation, columns=() if hidden else columns, settings=settings
            ),
            is_aggregate=self.queries.is_aggregate,
            python_function=cache(partial(python_function, self.spark)),
            settings=settings,
            takes_start_bounds=not self.is_portable,
            is_streaming=is_streaming,
            ambiguous=repeated(rows.columns),
            chars=lengths_of_chars(rows.schema),
            unread=frozenset() if self.queries.frames else unread(tree, clause.keyword, rows.schema.names),
        )
        plan = lower(clause, source, inputs, self.strategy)
        check_row_times(plan)
        if not any(CHAR_TYPE in f.metadata for f in rows.schema.fields):
            pushable = partial(pushable_columns, self.queries, prefix, relation, columns)
            plan = pushed_down(plan, tree, source, inputs.resolver, pushable)
        return BoundClause(plan=plan, prefix=prefix, rows=rows, resolver=inputs.resolver, is_streaming=is_streaming)

    def _input(self, query: Text, *, is_subquery: bool) -> DataFrame:
        """The rows of a clause's input."""
        try:
            return self.queries.run(query)
        except BindError as e:
            if not is_subquery:
                raise
            hint = "is it a column of an outer query? The input cannot read it: join with the clause's result instead."
            raise with_outer_hint(e, hint) from None

    def _check_subqueries(self, clause: MatchClause, prefix: Text, source: Source, columns: tuple[str, ...]) -> None:
        """Raise BindError for a subquery that Spark cannot run by itself, and UnsupportedError for one over a
        stream."""
        errors: list[SqlExtError] = []
        for query in subqueries(clause):
            try:
                rows = self.queries.run(join(prefix, source.of(query)))
            except BindError as e:
                errors.append(correlation_error(clause, columns, e) or e)
                continue
            if rows.isStreaming:
                errors.append(
                    UnsupportedError(
                        "STREAMING_SUBQUERY",
                        "a subquery in MATCH_RECOGNIZE cannot read a stream",
                        place=query.place,
                        hint="read the table as it is now: leave STREAM out.",
                    )
                )
        raise_all(errors)
