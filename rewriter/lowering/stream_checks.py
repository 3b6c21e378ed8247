"""Checks what MATCH_RECOGNIZE cannot do on a stream, and warns of state that it keeps for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlext.aggregates.registry import COMPUTED
from sqlext.errors import Place, SqlExtError, UnsupportedError, raise_all
from sqlext.operators.match.plan import Slot
from sqlext.pattern.batch.parts import may_fail
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared_task import lasting_task
from sqlext.pattern.conditions.condition_reads import reads_ahead, reads_number, rows_back
from sqlext.pattern.program.position_automaton import (
    DONE,
    has_more_targets,
    position_automaton,
    targets_after,
    targets_from,
)
from sqlext.pattern.program.program import MatchEnd
from sqlext.pattern.strategy import stream_refusal
from sqlext.pattern.task.task import Condition, Task
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text import lexemes
from sqlext.rewriter.text.splice import Text

MAX_WAYS = 1 << 18  # ways from one row to the next: pairs of positions of a pattern
PROCTIME_VALUE = "current_timestamp()"  # Spark computes it for PROCTIME(), once for each micro-batch


def is_processing_time(clause: MatchClause) -> bool:
    """True if the first ORDER BY key is PROCTIME(). Rows are then ordered by arrival, and matches end by the clock."""
    is_call = re.compile(r"\s*PROCTIME\s*\(\s*\)\s*", re.IGNORECASE).fullmatch
    return bool(clause.order_by) and is_call(clause.order_by[0].expression.text) is not None


def check_plan(plan: MatchPlan) -> None:
    """Raise UnsupportedError for what cannot be computed on a stream, with all reasons of the clause at once."""
    raise_all(list(_too_many_ways(plan)))
    raise_all(
        [
            error
            for rule in (_skipped_rows, _end_of_input, _undecidable, _failing_skip, _aggregates)
            for error in rule(plan)
        ]
    )


def _too_many_ways(plan: MatchPlan) -> Iterator[SqlExtError]:
    """The error for a pattern so large that the other rules, and each task of a stream, would take too long."""
    tables = position_automaton(plan.task.program, plan.task.bits)
    if has_more_targets(tables.graph, MAX_WAYS):
        yield UnsupportedError(
            "PATTERN_TOO_LARGE",
            f"PATTERN has more than {MAX_WAYS:,} ways from one row to the next, too many for a stream",
            place=_pattern_place(plan),
            hint="n optional elements after each other have n * n / 2 ways: use fewer of them, or a repetition.",
        )


def check_row_times(plan: MatchPlan) -> None:
    """Raise UnsupportedError for a measure with MATCH_ROWTIME() whose time no stream can decide, also in batch queries.

    The row time of a match is the time at which a stream decides the match.
    """
    what = _undecided_option(plan)
    for measure in plan.clause.measures:
        if what is not None and "match_rowtime" in lexemes.names_in(measure.expression):
            message, hint = f"MATCH_ROWTIME() is not built with {what}", "the time of the last row is LAST(ts)."
            raise UnsupportedError("NOT_BUILT", message, place=measure.expression.place, hint=hint)


def _undecided_option(plan: MatchPlan) -> str | None:
    """The option that no stream can decide, in a pattern that skips rows or with NO SKIP; None if there is none."""
    return stream_refusal(plan.task, reads_ahead=reads_ahead(plan.task, (mask.neighbours for mask in plan.masks)))


def _skipped_rows(plan: MatchPlan) -> Iterator[SqlExtError]:
    what = _undecided_option(plan)
    if what is not None:
        yield UnsupportedError(
            "STREAM_OPERATOR",
            f"on streams {what} is not built",
            place=_pattern_place(plan),
            hint="use another AFTER MATCH mode.",
        )


def _pattern_place(plan: MatchPlan) -> Place:
    return plan.clause.pattern_text.place


def _end_of_input(plan: MatchPlan) -> Iterator[SqlExtError]:
    if any(isinstance(x, MatchEnd) for x in plan.task.program.instructions):
        yield UnsupportedError(
            "STREAM_HAS_NO_END",
            "$ means the last row of a partition, and a stream has no last row",
            place=_pattern_place(plan),
            hint="remove $; WITHIN ends a match by time.",
        )


def _undecidable(plan: MatchPlan) -> Iterator[SqlExtError]:
    task = lasting_task(plan.task, lasts=False) if isinstance(plan.task, CepTask) else plan.task
    if not plan.task.is_within and not plan.task.skip.mode.lists_all and not can_be_decided(task):
        yield UnsupportedError(
            "STREAM_NEVER_DECIDED",
            "a later row could always extend every match, so no match would ever be decided",
            place=_pattern_place(plan),
            hint="add WITHIN, give the repeated variable a condition, or make its quantifier reluctant.",
        )


def can_be_decided(task: Task) -> bool:
    """True if the end of the pattern can be reached without a preferred alternative that takes rows for ever.

    A variable without a condition takes every row.

    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program, Split
    >>> from sqlext.pattern.task.task import MatchTask
    >>> loop = Program((MatchLabel(0), Split(0, 2), Done()), ("A",))
    >>> task = MatchTask(program=loop, bits=(0,), conditions=(None,))
    >>> can_be_decided(task), can_be_decided(MatchTask(program=loop, bits=(None,), conditions=(None,)))
    (True, False)
    """
    tables = position_automaton(task.program, task.bits)
    targets = targets_after(tables.graph)
    takes_all = [task.bits[label] is None and task.conditions[label] is None for label in tables.label.tolist()]
    endless = _endless(targets, takes_all)
    reached, stack = set(), [targets_from(tables.graph, 0, at_start=True)]
    while stack:
        for target in stack.pop():
            if target == DONE:
                return True
            if target in endless:
                break  # what follows is less preferred than a path that never ends
            if target not in reached:
                reached.add(target)
                stack.append(targets[target])
    return False


def _endless(targets: list[list[int]], takes_all: list[bool]) -> set[int]:
    """The positions from which a path may take any rows for ever before it reaches an end."""
    endless = {p for p, takes in enumerate(takes_all) if takes}
    while True:
        left = {p for p in endless if any(t in endless for t in targets[p][: _first_done(targets[p])])}
        if left == endless:
            return endless
        endless = left


def _first_done(targets: list[int]) -> int:
    return targets.index(DONE) if DONE in targets else len(targets)


def _failing_skip(plan: MatchPlan) -> Iterator[SqlExtError]:
    after = plan.clause.after_match
    if after is not None and may_fail(plan.task):
        yield UnsupportedError(
            "STREAM_SKIP_MAY_FAIL",
            f"AFTER MATCH {after.mode.text} may find no row to resume at, and the error would stop the stream for ever",
            place=after.fragment.place,
            hint="write ELSE NEXT ROW after it.",
        )


def _aggregates(plan: MatchPlan) -> Iterator[SqlExtError]:
    """The errors for aggregates that only Spark computes, over all rows of a match."""
    for slot in plan.slots:
        if slot.kind == "members":
            name = slot.aggregate.function
            if name in COMPUTED:
                message = f"on streams {name} cannot read MATCH_NUMBER(), or a type that Python workers do not have"
                hint = "take array_agg of the columns, and write array functions around it."
            else:
                message, hint = f"{name} is not built for streams", f"the aggregates are {', '.join(COMPUTED)}."
            yield UnsupportedError("STREAM_AGGREGATE", message, place=_place_of_call(slot, plan), hint=hint)


def _place_of_call(slot: Slot, plan: MatchPlan) -> Place:
    text, keyword = next((part for part in slot.call if isinstance(part, Text)), None), plan.clause.keyword
    origin = text.origin(0) if text is not None and str(text) else None
    if origin is None:
        return keyword.place
    return Place(keyword.source, origin, origin + len(slot.aggregate.function))


def warnings(plan: MatchPlan) -> list[str]:
    """Sentences that warn of state that is kept for ever."""
    sentences = []
    if not plan.task.is_within:
        loops = _repeated(plan)
        what = f", with all rows that it maps to {loops}," if loops else ""
        sentences.append(f"without WITHIN a key keeps the rows of a partial match{what} until later rows end it.")
    if awaited := _awaited(plan.task):
        sentences.append(
            f"while {awaited} could still come, a less preferred match and all later matches of its key are not "
            "emitted, which may last for ever; add WITHIN or UNTIL."
        )
    if plan.task.program.has_start_anchor:
        sentences.append("^ makes the stream keep every key for ever.")
    if counts_matches(plan):
        sentences.append("MATCH_NUMBER() makes the stream keep every key that had a match for ever.")
    if back := rows_read_back(plan):
        rows = f"{back} row{'s' * (back > 1)}"
        sentences.append(f"PREV before the start row makes the stream keep {rows} of every key for ever.")
    return [f"MATCH_RECOGNIZE on a stream: {sentence}" for sentence in sentences]


def counts_matches(plan: MatchPlan) -> bool:
    """True if a measure or a condition reads MATCH_NUMBER()."""
    reads = any(map(reads_number, _conditions(plan)))
    return reads or any(slot.kind == "match number" for slot in plan.slots)


def rows_read_back(plan: MatchPlan) -> int:
    """The number of rows before the start row of a match that are read."""
    slots = (-slot.navigation.step for slot in plan.slots if slot.kind == "value")
    return max([0, *slots, *map(rows_back, _conditions(plan))])


def _conditions(plan: MatchPlan) -> list[Condition]:
    return [c for c in (*plan.task.conditions, *(mask.neighbours for mask in plan.masks)) if c is not None]


def _awaited(task: Task) -> str:
    """The variables for whose rows a path may wait for ever, while less preferred matches cannot be decided.

    >>> from sqlext.pattern.program.ast import Concatenation, Quantified, Relaxed, Variable
    >>> from sqlext.pattern.cep.nfa_compile import compile_nfa, skeleton
    >>> from sqlext.pattern.program.compile import compile_pattern
    >>> tail = Concatenation((Variable("A"), Quantified(item=Relaxed("->", Variable("B")), at_least=0, at_most=None)))
    >>> program, nfa = compile_pattern(skeleton(tail), ("A", "B")), compile_nfa(tail, ("A", "B"))
    >>> _awaited(CepTask(program=program, bits=(0, 1), conditions=(None, None), nfa=nfa))
    'B'
    """
    if not isinstance(task, CepTask) or task.is_within or task.skip.mode.lists_all:
        return ""
    lasting = lasting_task(task)
    tables = position_automaton(lasting.program, lasting.bits)
    targets = targets_after(tables.graph)
    labels = tables.label.tolist()
    endless = _endless(targets, [lasting.bits[label] is None for label in labels])
    begins = targets_from(tables.graph, 0, at_start=True)
    ahead = [t for ts in targets for t in ts[:-1] if t in endless]
    ahead += [e for t in begins[:-1] for e in _reachable(targets, [t]) if e in endless]
    waited_for = [next((t for t in targets[p] if t not in endless), p) for p in ahead]
    return " or ".join(dict.fromkeys(lasting.program.labels[labels[p]] for p in waited_for if p != DONE))


def _repeated(plan: MatchPlan) -> str:
    """The variables in loops without an upper bound."""
    tables = position_automaton(plan.task.program, plan.task.bits)
    targets = targets_after(tables.graph)
    loops = [p for p in range(tables.size) if p in _reachable(targets, targets[p])]
    return ", ".join(dict.fromkeys(plan.task.program.labels[tables.label[p]] for p in loops))


def _reachable(targets: list[list[int]], starts: list[int]) -> set[int]:
    """The positions of `starts`, and all positions that a path may take after one of them."""
    reached, stack = set(), list(starts)
    while stack:
        position = stack.pop()
        if position != DONE and position not in reached:
            reached.add(position)
            stack += targets[position]
    return reached
