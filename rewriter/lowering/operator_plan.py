"""The plans of operators for one clause: the parts of its MatchPlan that executors need."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlext.operators.match.plan import MASK_BITS, MatchOperatorPlan, Slot, mask_names
from sqlext.operators.match.stream_plan import StreamMatchPlan, stream_facts
from sqlext.operators.rows.columns import ROW_TIME, SORT_ONLY, WITHIN_KEY, SortKey
from sqlext.pattern.strategy import choose_on_stream
from sqlext.rewriter.lowering import stream_checks
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.text.splice import Text, join

if TYPE_CHECKING:
    import pyarrow as pa

_SUFFIXES = {8: "Y", 16: "S", 32: "", 64: "L"}  # of integer literals, by the bits of their types


def worker_plan(plan: MatchPlan) -> MatchOperatorPlan:
    """The part of the plan that workers need."""
    neighbours = ((b, mask.neighbours) for b, mask in enumerate(plan.masks) if mask.neighbours)
    return MatchOperatorPlan(
        task=plan.task,
        masks=tuple(name for name, _ in mask_columns(plan)),
        neighbours=() if plan.needs_window else tuple(neighbours),
        operands=plan.operands,
        carried=plan.carried,
        partition_by=plan.carried[: len(plan.partition_by)],
        slots=plan.slots,
        bounds=plan.bounds,
        frame_end=plan.frame_end,
        settings=plan.settings,
    )


def mask_columns(plan: MatchPlan) -> list[tuple[str, Text]]:
    """(name, text) of the integer columns that hold one condition in each bit, as narrow as possible.

    There are no such columns if all conditions are TRUE. Then only neighbours decide, and each column would cost eight
    bytes of every row in the shuffle.
    """
    columns = []
    for name, bits, group in mask_conditions(plan):
        suffix = _SUFFIXES[bits]
        parts = [join("IF(", text, f", {_bit(b, bits, suffix)}, 0{suffix})") for b, text in enumerate(group)]
        columns.append((name, join(*parts, separator=" | ")))
    return columns


def mask_conditions(plan: MatchPlan) -> list[tuple[str, int, list[Text]]]:
    """(name, width in bits, the condition of each bit) of the columns of `mask_columns`."""
    masks = [mask.text if plan.needs_window else mask.rest for mask in plan.masks]
    if all(str(mask) == "TRUE" for mask in masks):
        return []
    groups = [(name, masks[i * MASK_BITS : (i + 1) * MASK_BITS]) for i, name in enumerate(mask_names(len(masks)))]
    return [(name, next(bits for bits in _SUFFIXES if len(group) <= bits), group) for name, group in groups]


def stream_plan(plan: MatchPlan, kept: pa.Schema) -> StreamMatchPlan:
    """The plan of a step; `kept`: the columns of a row that the state keeps."""
    worker = worker_plan(plan)
    worker = replace(worker, slots=tuple(slot for slot in plan.slots if not is_time(slot)))
    return StreamMatchPlan(
        worker=worker,
        schema=kept,
        time=WITHIN_KEY if plan.clause.within else ROW_TIME,
        sort=sort_of(plan)[1:],
        back=stream_checks.rows_read_back(plan),
        counts_matches=stream_checks.counts_matches(plan),
        keeps_all_keys=plan.task.program.has_start_anchor,
        needs_times=_shows_times(plan),
        matcher=stream_matcher(plan)[0],
    )


def stream_matcher(plan: MatchPlan) -> tuple[str, str]:
    """The name of the matcher that decides the matches, and the reason."""
    facts = stream_facts(
        plan.task, (mask.neighbours for mask in plan.masks), plan.slots, needs_times=_shows_times(plan)
    )
    name, why = choose_on_stream(plan.task, facts)
    return (
        name,
        f"the input is a stream: a match is emitted as soon as no later row can change it. {why[0].upper()}{why[1:]}",
    )


def sort_keys(plan: MatchPlan) -> list[tuple[str, Text, str]]:
    """(column, its text, direction) of each ORDER BY key; for a key that workers read, the column is the one that they
    read."""
    read = {column_of(c.text): c.name for c in reversed(plan.columns)}
    return [(read.get(column_of(text), f"{SORT_ONLY}{i}"), text, way) for i, (text, way) in enumerate(plan.order_by)]


def sort_of(plan: MatchPlan) -> tuple[SortKey, ...]:
    """The ORDER BY keys of a plan, as workers read them."""
    return tuple(SortKey(name, is_descending(way), are_nulls_last(way)) for name, _, way in sort_keys(plan))


def is_descending(direction: str) -> bool:
    """Return True if a direction of `sort_keys` is descending."""
    return direction.startswith(" DESC")


def are_nulls_last(direction: str) -> bool:
    """Return True if a direction of `sort_keys` puts NULLs last, by its words or by default.

    >>> [are_nulls_last(direction) for direction in ("", " DESC", " NULLS LAST", " DESC NULLS FIRST")]
    [False, True, True, False]
    """
    return direction.endswith(" LAST") or direction == " DESC"


def is_time(slot: Slot) -> bool:
    """Whether a slot holds MATCH_ROWTIME(), which the operator returns beside the rows."""
    return slot.kind == "rowtime"


def _shows_times(plan: MatchPlan) -> bool:
    return any(map(is_time, plan.slots))


def column_of(text: Text) -> str:
    """The text; if it is one quoted name, without the backticks."""
    return re.sub(r"^`(\w+)`$", r"\1", str(text))


def _bit(b: int, bits: int, suffix: str) -> str:
    """The integer literal in which only bit b is set; the highest bit is the sign."""
    if b < bits - 1:
        return f"{1 << b}{suffix}"
    return f"(-{(1 << b) - 1}{suffix} - 1{suffix})"  # the smallest integer has no literal of its own
