"""The windows with row patterns of one query: bound to the columns of the query, and run one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession

from sqlext.aggregates.registry import AGGREGATES
from sqlext.engine.match.bind_clause import BoundClause
from sqlext.engine.match.explain_match import explained_clause
from sqlext.engine.match.plan_match import PlanClause, PlannedClause
from sqlext.engine.planning.planner import Planned, PlannedPart, PlannedRelation, Section
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.python_functions import python_function
from sqlext.engine.queries.queries import Queries, SparkTypeResolver, with_outer_hint
from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.shipped.data_types import lengths_of_chars
from sqlext.errors import BindError, UnsupportedError
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.match_plan import InputColumn, MatchPlan
from sqlext.rewriter.match_windows.lower_window import VALUE, lower_window
from sqlext.rewriter.match_windows.parse_window import WindowClause
from sqlext.rewriter.match_windows.window_sql import COLUMN, PART, OuterQuery, fragment_of_call, rebased, through
from sqlext.rewriter.statements.parse_statement import ParsedStatement
from sqlext.rewriter.text.names import quoted, repeated, unquoted
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.rewriter.text.tokens import closing, is_at, split_at_commas
from sqlext.rewriter.tree.sources import check_repeatable
from sqlext.rewriter.tree.statement_tree import Tree

Moved = Sequence[tuple[list[InputColumn], Text, MatchPlan]]  # what `rebased` returns of each window


@dataclass(frozen=True)
class BaseQuery(PlannedPart):
    """The query that computes, in the scope of the user's query, all values that its rows alone determine."""

    text: Text
    columns: tuple[str, ...]
    has_effect: ClassVar[bool] = False
    stream_clauses: ClassVar[tuple[StreamClause, ...]] = ()

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame:
        return queries.run(self.text).toDF(*self.columns)


@dataclass(frozen=True, kw_only=True)
class MatchWindowPlanner:
    """Plans the windows of one statement. `strategy`: the strategy that the session names, or "auto"; `plan_window`:
    how a bound window is run."""

    spark: SparkSession
    statement: ParsedStatement
    queries: Queries
    strategy: str
    plan_window: PlanClause

    def plan(self, part: WindowClause, source: Source, prefix: Text) -> Planned:
        """The plan of a query. Its relations are the steps before the outer query; the edits replace the user's query
        by the outer query."""
        return _QueryPlanner(self, part, source, prefix).plan()


class _QueryPlanner:
    """Plans the windows of one query."""

    def __init__(self, planner: MatchWindowPlanner, part: WindowClause, source: Source, prefix: Text):
        self.planner, self.part, self.source = planner, part, source
        self.queries, self.tree, self.site = planner.queries, planner.statement.tree, part.site
        ctes = planner.statement.ctes(part.whole)
        piece = self.tree.fragment(part.site.query.from_, part.site.query.stop)
        check_repeatable(self.tree, ctes, [piece])
        self.prefix = prefix
        self.relation = self.text(*part.site.relation)
        self.settings = execution_settings(planner.spark)

    def text(self, lo: int, hi: int) -> Text:
        return self.source.of(self.tree.fragment(lo, hi))

    def plan(self) -> Planned:
        try:
            return self._plan()
        except BindError as e:
            raise self._explained(e) from None

    def _plan(self) -> Planned:
        self._check_group_by()
        inputs = self._inputs()
        self._check_no_aggregates(inputs)
        plans = [self._lower(number, inputs) for number in range(len(self.site.windows))]
        values = self._values()
        outer = OuterQuery(tree=self.tree, site=self.site, source=self.source, values=values, columns=inputs.names)
        edits = outer.item_edits()
        names = self._names(outer)
        edits += outer.tail_edits(names)
        moved = [rebased(plan, number) for number, plan in enumerate(plans)]
        base = self._base(outer, names, [c for columns, _, _ in moved for c in columns], [d for _, d, _ in moved])
        frame = base.frame(self.queries, self.planner.spark)
        rows = self.queries.name(frame)
        steps: dict[str, PlannedRelation] = {rows: base}
        sections = [Section(kind="Rows", name=rows, text=lambda: str(base.text))]
        shown = [f"{COLUMN}{i}" for i, name in enumerate(names) if not name.startswith("__mixed")]
        shown += [f"{PART}{i}" for i in range(len(outer.parts))]
        for number, (_, _, plan) in enumerate(moved):
            later = [c.name for columns, _, _ in moved[number + 1 :] for c in columns]
            whole = through(plan, rows, [*shown, *later])
            bound = BoundClause(
                plan=whole,
                prefix=Text(),
                rows=frame if number == 0 else None,
                written=self._written(outer, names, moved),
            )
            planned, rows = self.planner.plan_window(bound, self.queries)
            if planned is not None:
                steps[rows] = PlannedClause(planned)
                sections.append(explained_clause(planned))
            shown += [c.name for c in plan.shown]
        edits += outer.edits(rows, names)
        return Planned(edits=edits, relations=steps, sections=sections, needs_workers=True)

    def _written(self, outer: OuterQuery, names: list[str], moved: Moved) -> dict[str, str]:
        """The columns of the base query as the user wrote them: items of the select list by their names."""
        return {
            **{f"{COLUMN}{i}": name for i, name in enumerate(names)},
            **{f"{PART}{i}": str(text) for i, text in enumerate(outer.parts)},
            **{column.name: str(column.text) for columns, _, _ in moved for column in columns},
        }

    def _inputs(self) -> InputRelation:
        """The columns that windows may read: the columns of FROM or, in a query with GROUP BY, the columns of GROUP
        BY."""
        relations = self.text(self.site.relation[0], self.site.group)
        frame = self.queries.run(join(self.prefix, "SELECT * FROM ", relations))
        self._check_batch(frame)
        grouped = None
        if self.site.group < self.site.relation[1]:
            grouped = self._grouped()
        types = {f.name: f.dataType.simpleString() for f in frame.schema.fields}
        columns = tuple((n, t) for n, t in types.items() if grouped is None or n.lower() in grouped)
        return InputRelation(
            columns=columns,
            resolver=SparkTypeResolver(
                self.queries, self.prefix, self.relation, beside=self._items(), settings=self.settings
            ),
            is_aggregate=self.queries.is_aggregate,
            python_function=cache(partial(python_function, self.planner.spark)),
            shown=self._shown(columns),
            ambiguous=repeated(frame.columns),
            chars=lengths_of_chars(frame.schema),
            settings=self.settings,
            is_grouped=grouped is not None,
        )

    def _grouped(self) -> set[str]:
        """The columns, in lower case, that are items of GROUP BY, including items in ROLLUP, CUBE and GROUPING SETS."""
        tree, (_, stop) = self.tree, self.site.relation
        depth = tree.tokens[self.site.group].depth
        having = (i for i in range(self.site.group, stop) if tree.tokens[i].word == "HAVING")
        end = next((i for i in having if tree.tokens[i].depth == depth), stop)
        names: set[str] = set()
        for lo, hi in split_at_commas(tree.tokens, self.site.group + 2, end):
            if tree.tokens[lo].word in ("ROLLUP", "CUBE", "GROUPING"):
                names |= {tree.key(i) for i in range(lo, hi) if tree.tokens[i].is_name and _ends_item(tree, i)}
            elif all(t.is_name or t.text == "." for t in tree.tokens[lo:hi]):
                names.add(tree.key(hi - 1))
        return names

    def _items(self) -> Text | None:
        """The select list, which GROUP BY and HAVING may refer to; None in a query that does not group."""
        if self.site.group == self.site.relation[1]:
            return None
        return OuterQuery(tree=self.tree, site=self.site, source=self.source, values={}, columns=()).base_items()

    def _shown(self, columns: Sequence[tuple[str, str]]) -> frozenset[str]:
        """The columns that the select list or ORDER BY may name, in lower case."""
        outside = [
            *self.tree.tokens[self.site.select : self.site.query.from_],
            *self.tree.tokens[self.site.after : self.site.query.stop],
        ]
        has_star = any(True for _ in self.tree.stars(self.site.query))
        names = {unquoted(t.text).lower() for t in outside if t.is_name}
        return frozenset(name.lower() for name, _ in columns if has_star or name.lower() in names)

    def _check_group_by(self) -> None:
        """Raise UnsupportedError for GROUP BY ALL, which would also group by the columns that windows read."""
        if is_at(self.tree.tokens, self.site.group, "GROUP", "BY", "ALL"):
            place = self.tree.fragment(self.site.group, self.site.group + 3).place
            message = "GROUP BY ALL is not built in a query with a row pattern in a window"
            raise UnsupportedError(
                "GROUP_BY_ALL", message, place=place, hint="name the columns, or group in a subquery."
            )

    def _check_no_aggregates(self, inputs: InputRelation) -> None:
        """Raise BindError for an aggregate of a call, such as `max(count(*) OVER w)`."""
        tokens = self.tree.tokens
        for call in self.site.calls:
            for i in range(self.site.select + 1, call.start):
                name = self.tree.key(i - 1) if tokens[i].text == "(" and tokens[i - 1].is_name else None
                if (
                    name
                    and (closing(tokens, i) or 0) >= call.stop
                    and (name in AGGREGATES or inputs.is_aggregate(name))
                ):
                    place = self.tree.fragment(call.start, call.stop).place
                    message = f"an aggregate, {name}, cannot read a call over a window"
                    hint = "compute the call in a subquery, and the aggregate around it."
                    raise BindError("NESTED_WINDOW_CALL", message, place=place, hint=hint)

    def _check_batch(self, frame: DataFrame) -> None:
        if frame.isStreaming:
            raise UnsupportedError(
                "WINDOW_OVER_STREAM",
                "a window gives each row the match of the rows after it, so it cannot be computed over a stream",
                place=self.part.clauses[0].keyword.place,
                hint="write MATCH_RECOGNIZE, which emits a match when it is complete.",
            )

    def _lower(self, number: int, inputs: InputRelation) -> MatchPlan:
        window = self.site.windows[number]
        calls = [fragment_of_call(self.tree, c) for c in self.site.calls if c.window == window]
        return lower_window(self.part.clauses[number], calls, self.source, inputs, self.planner.strategy)

    def _values(self) -> dict[int, str]:
        """The column of each call, by its first token."""
        values: dict[int, str] = {}
        for number, window in enumerate(self.site.windows):
            calls = [c for c in self.site.calls if c.window == window]
            values |= {c.start: f"__w{number}_{VALUE.strip('_')}{i}" for i, c in enumerate(calls)}
        return values

    def _names(self, outer: OuterQuery) -> list[str]:
        """The names of the columns of the select list, including the columns that represent mixed items."""
        query = join(self.prefix, "SELECT ", outer.base_items(), " FROM ", self.relation, self._windows([]))
        return self.queries.run(query).schema.names

    def _explained(self, error: BindError) -> BindError:
        """The error, with a hint if it is about a column that is a measure or that GROUP BY leaves out."""
        if error.error_class == "SQLEXT_MISSING_AGGREGATION":
            hint = "a window over groups reads the columns of GROUP BY; compute the others in a subquery."
            return error.with_(place=self.part.clauses[0].keyword.place, hint=hint)
        if error.place is None:
            return error
        name = error.place.written.rpartition(".")[2]
        for window, clause in zip(self.site.windows, self.part.clauses):
            if any(measure.name.text.lower() == unquoted(name).lower() for measure in clause.measures):
                named = self.tree.tokens[window.keyword].text
                return with_outer_hint(error, f"a measure is read over its window: {name} OVER {named}.")
        return error

    def _windows(self, definitions: list[Text]) -> Text:
        """The WINDOW clause of the base query."""
        plain = [
            join(quoted(name), " AS (", self.text(lo, hi) if lo < hi else "", ")")
            for name, (lo, hi) in self.site.plain.items()
        ]
        windows = [*plain, *(d for d in definitions if d.pieces)]
        return join("\nWINDOW ", join(*windows, separator=", ")) if windows else Text()

    def _base(self, outer: OuterQuery, names: list[str], columns: list[InputColumn], windows: list[Text]) -> BaseQuery:
        extra = [InputColumn(f"{PART}{i}", text) for i, text in enumerate(outer.parts)] + columns
        texts = [join(c.text, f" AS {c.name}") for c in extra]
        items = join(outer.base_items(), *texts, separator=",\n       ")
        text = join(self.prefix, "SELECT ", items, "\nFROM ", self.relation, self._windows(windows))
        return BaseQuery(text, (*(f"{COLUMN}{i}" for i in range(len(names))), *(c.name for c in extra)))


def _ends_item(tree: Tree, i: int) -> bool:
    """Return True if an item of ROLLUP ( … ) that is a column ends with token i."""
    first = i
    while tree.tokens[first - 1].text == ".":
        first -= 2
    return tree.tokens[first - 1].text in ("(", ",") and tree.tokens[i + 1].text in (")", ",")
