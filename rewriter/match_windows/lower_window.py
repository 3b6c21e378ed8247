"""Lowers a parsed window with a row pattern, its frame and SEEK to its plan.

It is lowered like MATCH_RECOGNIZE with ONE ROW PER MATCH, with two differences: the frame instead of WITHIN bounds the
match, and for each row of the input the result has a column for every call `… OVER w` instead of the measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlext.errors import BindError, all_of
from sqlext.expressions.spark_types import INTEGER_BITS
from sqlext.operators.match.plan import Bound, FrameEnd
from sqlext.pattern.program.mapped_variables import rows_before
from sqlext.pattern.program.program import Program
from sqlext.pattern.task.task import Frame as TaskFrame
from sqlext.pattern.task.task import MatchTask, Output
from sqlext.rewriter.lowering.input_query import (
    Context,
    InputRelation,
    carried,
    check_keys,
    keys_need_window,
)
from sqlext.rewriter.lowering.lower_bounds import start_bounds
from sqlext.rewriter.lowering.lower_clause import ask_ahead, plan_of, program_of, skip_of
from sqlext.rewriter.lowering.lower_define import Defined, DefineLowering
from sqlext.rewriter.lowering.lower_measures import Measures
from sqlext.rewriter.lowering.match_plan import MatchPlan, ShownColumn
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match_windows.lower_calls import Calls
from sqlext.rewriter.scalars.references import Reference
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, Text, join

VALUE = "__value"  # the columns of calls: __value0, …


def lower_window(
    clause: MatchClause, calls: Sequence[Fragment], source: Source, relation: InputRelation, strategy: str = "auto"
) -> MatchPlan:
    """The plan of one window. `calls` are the texts before OVER; call i becomes column `__value{i}` of the plan.

    Raises BindError and UnsupportedError: all errors of DEFINE together, or of MEASURES, or of the calls.
    """
    labels, program = clause.labels, program_of(clause)
    context = Context(
        clause=clause,
        source=source,
        relation=relation,
        leaves_frame=_Reach(clause, program).leaves_frame,
    )
    check_keys(context)
    frame_end = _frame_end(context)
    conditions, measures = DefineLowering(context), Measures(context)
    defined = conditions.definitions()
    ask_ahead(context, conditions, defined, measures)
    conditions.needs_window = keys_need_window(context)
    assert clause.frame is not None
    is_bounded = not clause.frame.is_unbounded or clause.frame.seeks
    is_seen = _is_frame_seen(context, labels, defined)
    bounds: list[Bound] = []
    if not is_bounded and not is_seen:
        bounds, conditions.dropped = start_bounds(context, program, labels, defined)
    bits, dependent = conditions.lower(labels, defined)
    values = _values(context, measures, calls)
    names, _ = carried(context)
    task = MatchTask(
        program=program,
        bits=bits,
        conditions=dependent,
        skip=skip_of(context),
        output=Output(is_window=True),
        is_within=is_bounded or bool(bounds),
        frame=TaskFrame(seeks=clause.frame.seeks, is_seen=is_seen),
        strategy=strategy,
    )
    shown = tuple(ShownColumn(f"{VALUE}{i}", text) for i, text in enumerate(values))
    plan = plan_of(context, conditions, measures, task, names)
    return replace(plan, shown=shown, bounds=tuple(bounds), frame_end=frame_end)


@dataclass(frozen=True)
class _Reach:
    """Determines how far PREV and NEXT reach in the conditions of a window.

    The frame begins at the current row, so PREV is NULL if it would read a row before a match that begins there. This
    cannot happen in a pattern whose first rows need no PREV.
    """

    clause: MatchClause
    program: Program

    def leaves_frame(self, reference: Reference, label: int) -> bool:
        """Whether a reference in the condition of a label can reach a row outside the frame."""
        frame = self.clause.frame
        assert frame is not None
        if reference.kind != "navigation" or not reference.step:
            return False
        if reference.step > 0:
            return not frame.is_unbounded
        starts_here = reference.variable in (None, self.program.labels[label])
        is_current = starts_here and not reference.from_first and reference.offset == 0
        return not is_current or rows_before(self.program)[label] < -reference.step


def _is_frame_seen(context: Context, labels: tuple[str, ...], defined: Defined) -> bool:
    """Whether a condition can reach a row outside the frame."""
    return any(
        isinstance(item, Reference) and context.leaves_frame(item, labels.index(variable))
        for variable, items in defined.items()
        for item in items
    )


def _values(context: Context, measures: Measures, calls: Sequence[Fragment]) -> list[Text]:
    """Spark's expression over slots for each call. Raises the errors of all calls together."""
    return all_of(calls, Calls(context, measures, dict(measures.of_matches(measures.lower()))).value)


def _frame_end(context: Context) -> FrameEnd:
    """The end of the frame; an expression that is not a literal number becomes a column of the input query."""
    frame = context.clause.frame
    assert frame is not None
    if frame.rows is None:
        return FrameEnd() if frame.is_unbounded else FrameEnd(rows=0)
    text = context.source.of(frame.rows)
    if str(text).isdigit() and len(str(text)) < 18:
        return FrameEnd(rows=int(str(text)))
    (kind,) = context.relation.resolver.types([text])
    if kind not in INTEGER_BITS:
        message = f"the number of rows in a frame must be a whole number, not {kind}"
        raise BindError("FRAME_OFFSET", message, place=frame.rows.place, hint="CAST it AS INT.")
    return FrameEnd(column=context.input_column("f", join("CAST(", text, " AS BIGINT)")))
