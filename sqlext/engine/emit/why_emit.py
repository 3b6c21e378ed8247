"""EXPLAIN MATCH WHY of a query with EMIT: the windows of rows, which firings see them, and why others do not.

Spark chooses the rows and returns the rows of their keys; `operators.emit.trace` finds what each firing sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.engine.emit.run_emit import firing_schema, result_query, rows_query, window_plan
from sqlext.engine.emit.why_row import EmitWords, FiringResult, row_lines, shown_points
from sqlext.engine.queries.queries import Queries
from sqlext.engine.reports.counts import all_true
from sqlext.engine.reports.row_json import row_json
from sqlext.engine.reports.shown_values import shown, typed_text
from sqlext.engine.streams.kept_rows import NUMBER, coming_rows
from sqlext.engine.why.chosen_rows import MAX_ROWS, more_rows, no_row
from sqlext.engine.why.failed_conjuncts import refused
from sqlext.engine.why.row_condition import RowCondition
from sqlext.operators.emit.operator import EmitOperator
from sqlext.operators.emit.parts import GLOBAL, SESSION
from sqlext.operators.emit.plan import EmitOperatorPlan
from sqlext.operators.stateful.key_state import Coming
from sqlext.operators.stateful.operator import ROWS, Clock, first_state
from sqlext.pattern.task.event_time import BEGINNING, NEVER
from sqlext.rewriter.emit.lower_emit import TIME, EmitPlan
from sqlext.rewriter.scalars.expression import compared_parts
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.quiet_probes import quiet_probes

MAX_READ = 20_000  # rows of their keys
_CHOSEN, _KEPT, _ROW, _HOLDS, _NEAR = "__chosen", "__kept", "__row", "__holds", "__near"


def explain_emit(plan: EmitPlan, prefix: Text, queries: Queries, spark: SparkSession, condition: RowCondition) -> str:
    """Which firings see the rows of the data that the condition chooses. `prefix`: the WITH clause that the data needs.

    Raises BindError if Spark refuses the condition.
    """
    windows = window_plan(plan, queries.run(rows_query(plan.columns, plan, prefix)).schema)
    asked = condition.over(queries, prefix, plan.data)

    def read(*, in_turn: bool) -> pa.Table:
        query = _query(plan, windows, prefix, condition.sql.unplaced, in_turn=in_turn)
        return asked.run(lambda: queries.run(query).toArrow())

    in_turn = False
    try:
        with quiet_probes():
            table = read(in_turn=False)
    except PySparkException:  # a condition of WHERE that cannot be computed on rows which those before it drop
        table, in_turn = read(in_turn=True), True
    return "\n\n".join(_answers(plan, windows, table, queries, spark, condition.written.text, in_turn=in_turn))


def _answers(
    plan: EmitPlan,
    windows: EmitOperatorPlan,
    table: pa.Table,
    queries: Queries,
    spark: SparkSession,
    written: str,
    *,
    in_turn: bool,
) -> Iterator[str]:
    are_chosen, are_kept = (table.column(name).to_pylist() for name in (_CHOSEN, _KEPT))
    chosen = [i for i, is_chosen in enumerate(are_chosen) if is_chosen]
    numbers = {i: number for number, i in enumerate(i for i, is_kept in enumerate(are_kept) if is_kept)}
    kept = table.filter(table.column(_KEPT)).select(windows.schema.names).cast(windows.schema)
    about = _About(plan, windows, kept, queries, spark)
    about.show_results([numbers[i] for i in chosen[:MAX_ROWS] if i in numbers])
    for i in chosen[:MAX_ROWS]:
        lines = about.lines(numbers[i]) if i in numbers else [_dropped(plan, table, i, in_turn=in_turn)]
        cut = [f"{MAX_READ:,} rows were read, and the keys have more."] if table.num_rows == MAX_READ else []
        yield "\n".join([f"Row {table.column(_ROW)[i].as_py()}", *lines, *cut])
    if not chosen:
        yield no_row(written)
    if len(chosen) > MAX_ROWS:
        yield more_rows(written)


def _query(plan: EmitPlan, windows: EmitOperatorPlan, prefix: Text, condition: Text, *, in_turn: bool) -> Text:
    """The rows of the keys that have a chosen row, as far as they can be in its windows, chosen rows first.

    `__kept`: whether WHERE keeps the row; the other columns of the plan are NULL where it does not. w0, w1, …: the
    members of WHERE, and o0_0, o0_1, …: what they compare, of chosen rows. `in_turn`: only of rows on which the members
    before them hold.
    """
    where = all_true([text for _, text in plan.where])
    chosen = join("coalesce((", condition, "), FALSE)")
    columns = [join("CASE WHEN ", where, " THEN (", text, f") END AS {name}") for name, text in plan.columns]
    columns += [join(chosen, f" AS {_CHOSEN}"), join("coalesce(", where, f", FALSE) AS {_KEPT}")]
    columns.append(join("CASE WHEN ", chosen, " THEN ", row_json("struct(*)"), f" END AS {_ROW}"))
    for i, (_, text) in enumerate(plan.where):
        before = [join("(", other, ")") for _, other in plan.where[:i]] if in_turn else []
        case = join("CASE WHEN ", join(chosen, *before, separator=" AND "), " THEN ")
        columns.append(join(case, "(", text, f") END AS w{i}"))
        columns += [
            join(typed_text(join(case, "(", operand, ") END")), f" AS o{i}_{k}")
            for k, operand in enumerate(_operands(text))
        ]
    rows = join("SELECT ", join(*columns, separator=", "), " FROM ", plan.data)
    near = join(f"SELECT *, {_near(windows)} AS {_NEAR} FROM (", rows, ")")
    return join(
        prefix,
        f"SELECT * EXCEPT ({_NEAR}) FROM (", near, f") WHERE {_CHOSEN} OR ({_KEPT} AND {_NEAR}) ",
        f"ORDER BY {_CHOSEN} DESC, {', '.join([*windows.keys, TIME])} LIMIT {MAX_READ}",
    )  # fmt: skip


def _near(windows: EmitOperatorPlan) -> str:
    """SQL for whether a row may be in a window of a chosen row."""
    over = f"OVER (PARTITION BY {', '.join(windows.keys)})" if windows.keys else "OVER ()"
    chosen = f"IF({_CHOSEN} AND {_KEPT}, {TIME}, NULL)"
    if windows.assigner.kind in (SESSION, GLOBAL):
        return f"max({chosen}) {over} IS NOT NULL"
    size = f"INTERVAL '{windows.assigner.size // 1_000_000}.{windows.assigner.size % 1_000_000:06}' SECOND"
    first, last = f"try_subtract(min({chosen}) {over}, {size})", f"try_add(max({chosen}) {over}, {size})"
    return f"coalesce({TIME} BETWEEN {first} AND {last}, max({chosen}) {over} IS NOT NULL)"


def _operands(text: Text) -> list[Text]:
    """The values that a condition compares."""
    whole = str(text)
    return [text.part(part.start, part.stop) for part in compared_parts(Fragment(whole, 0, len(whole)))]


def _dropped(plan: EmitPlan, table: pa.Table, i: int, *, in_turn: bool) -> str:
    """The reason why WHERE drops a row: all members that do not hold or, `in_turn`, the first one."""

    def value(column: str) -> Any:
        return table.column(column)[i].as_py()

    reasons = []
    for number, (written, text) in enumerate(plan.where):
        verdict = value(f"w{number}")
        if verdict:
            continue
        operands = [str(operand) for operand in _operands(text)]
        values = [value(f"o{number}_{k}") for k in range(len(operands))]
        reasons.append(refused(written, operands, values, is_null=verdict is None))
        if in_turn:
            break
    return f"It is in no window: of WHERE, {'; '.join(reasons)}."


class _About:
    """Answers about rows of a table that WHERE keeps."""

    def __init__(
        self, plan: EmitPlan, windows: EmitOperatorPlan, table: pa.Table, queries: Queries, spark: SparkSession
    ):
        from sqlext.operators.emit.trace import trace  # loads Numba, which the driver does not need before

        self.plan, self.windows, self.queries, self.spark = plan, windows, queries, spark
        self.trace = trace(table, windows)
        self.times = table.column(windows.time).combine_chunks().view(pa.int64()).to_pylist()
        operator = EmitOperator(windows=windows)
        step = operator.advance(
            first_state(operator.tables, BEGINNING), {ROWS: _timed(table, windows)}, Clock(NEVER, BEGINNING)
        )
        self.fired = [Coming(int(time), batch, i) for times, batch in step.results for i, time in enumerate(times)]
        clause, kind = plan.clause, "timestamp" if windows.schema.field(windows.time).type.tz else "timestamp_ntz"
        self.words = EmitWords(
            window=clause.call.kind,
            time="" if clause.call.time is None else clause.call.time.text,
            evictor="" if clause.evictor is None else clause.evictor.whole.in_line,
            having="" if clause.having is None else clause.having.in_line,
            show=cache(lambda us: shown(us, kind, plan.settings)),
            time_of=lambda row: self.times[row],
            result=lambda point: self.results[point],
        )
        self.results: dict[int, FiringResult] = {}

    def lines(self, row: int) -> list[str]:
        return list(row_lines(self.trace, row, self.words))

    def show_results(self, rows: list[int]) -> None:
        """Let Spark compute the result rows that the text about these rows shows."""
        points = sorted({point for row in rows for point in shown_points(self.trace, row)})
        if not points:
            return
        fired = [self.fired[point]._replace(time=0) for point in points]
        firings = self.queries.name(coming_rows(self.spark, fired, (), firing_schema(self.windows)))
        having = self.plan.having
        extra = ((NUMBER, join(NUMBER)), (_HOLDS, join("TRUE") if having is None else having))
        shown_rows = result_query(replace(self.plan, having=None, shown=(*self.plan.shown, *extra)), firings)
        row = row_json(f"struct(* EXCEPT ({NUMBER}, {_HOLDS}))")
        texts = join(f"SELECT {NUMBER}, ", row, f", {_HOLDS} FROM (", shown_rows, ")")
        for number, text, holds in self.queries.run(texts).collect():
            self.results[points[number]] = FiringResult(text, holds)


def _timed(table: pa.Table, windows: EmitOperatorPlan) -> pa.Table:
    return table.filter(table.column(windows.time).is_valid())
