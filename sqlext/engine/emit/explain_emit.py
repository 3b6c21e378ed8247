"""EXPLAIN MATCH of window functions: what computes the windows, when they fire, and what is kept of them."""

from __future__ import annotations

from sqlext.engine.emit.run_emit import kept_of_window, result_query, rows_query
from sqlext.engine.planning.planner import Section
from sqlext.operators.emit.aggregate_states import is_vectorised
from sqlext.operators.emit.parts import AGGREGATE, GLOBAL, FiringAggregate
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.lower_emit import EmitPlan
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.text.splice import Text


def explained_call(call: WindowTvf, how: str) -> Section:
    """The section of a window function without EMIT. `how`: how the windows are computed."""
    line = call.whole.place.line
    return Section(kind="Windows", title=f", line {line}", text=lambda: f"{_windows(call)}\ncomputed by {how}")


def explained_emit(plan: EmitPlan, prefix: Text, why_read: str, *, is_streaming: bool) -> Section:
    """The section of a query with EMIT. `prefix`: the WITH clause that its data needs; `why_read`: who reads its rows,
    and why, empty if it reads no table of files."""
    line = plan.clause.keyword.place.line

    def text() -> str:
        return _text(plan, prefix, why_read, is_streaming=is_streaming)

    return Section(kind="Windows", title=f", line {line}", text=text)


def _text(plan: EmitPlan, prefix: Text, why_read: str, *, is_streaming: bool) -> str:
    clause = plan.clause
    lines = [
        f"input {plan.relation}",
        *([f"read: {why_read}"] if why_read else []),
        _windows(clause.call),
        _keys(plan, is_streaming=is_streaming),
        _triggers(clause, is_streaming=is_streaming),
        _seen(clause),
        *(f"{AGGREGATE}{i}: {_aggregate(a)}" for i, a in enumerate(plan.aggregates)),
        f"kept of an open window: {kept_of_window(plan)[1]}",
    ]
    sections = {
        "SQL before the firings": str(rows_query(plan.columns, plan, prefix)),
        "SQL after the firings": str(result_query(plan, "firings")),
    }
    return "\n".join([*lines, *(f"== {title} ==\n{text}" for title, text in sections.items())])


def _windows(call: WindowTvf) -> str:
    time = "" if call.time is None else f", time {call.time.text}"
    durations = "".join(f", {name.lower()} {d.text}" for name, d in call.durations.items())
    return f"windows {call.kind}{time}{durations}"


def _keys(plan: EmitPlan, *, is_streaming: bool) -> str:
    keys = [str(text) for _, text in plan.columns[: plan.keys]]
    how = "in a stateful operator, a step in each micro-batch" if is_streaming else "at once, in one step"
    where = f"by keys {', '.join(keys)}" if keys else "without keys: one task computes all windows"
    return f"fires {where}, {how}"


def _triggers(clause: EmitClause, *, is_streaming: bool) -> str:
    own = [part.whole.text for part in clause.triggers if part.amount is not None]
    is_global = clause.call.kind == GLOBAL
    end = "the end of the input" if is_global else "the end of the window"
    ends = [] if is_global and is_streaming else [end]
    return f"triggers {', '.join([*own, *ends])}"


def _seen(clause: EmitClause) -> str:
    rows = "the rows since the last firing" if clause.is_discarding else "all rows of its window so far"
    chosen = "" if clause.evictor is None else f", of these {clause.evictor.whole.text}"
    late = "" if clause.lateness is None else f"; late rows are taken for {clause.lateness.text}"
    return f"a firing sees {rows}{chosen}{late}"


def _aggregate(aggregate: FiringAggregate) -> str:
    distinct = "DISTINCT " if aggregate.call.is_distinct else ""
    arguments = ", ".join(aggregate.columns) or "*"
    condition = f" FILTER {aggregate.filter}" if aggregate.filter else ""
    how = "all windows at once" if is_vectorised(aggregate) else "row by row"
    return f"{aggregate.call.function}({distinct}{arguments}){condition}, {how}"
