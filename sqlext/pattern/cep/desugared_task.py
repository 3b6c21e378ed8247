"""The task of a plain program: SQL's own AFTER MATCH modes over matches whose rows are not neighbours.

| DEFINE, PATTERN and WITHIN | run by |
|---|---|
| row-local; no absence at the end with WITHIN, not BETWEEN ROWS | what `matcher` chooses: linear |
| conditions that `contiguity.path_conditions` can say of a path with gaps | threads |
| others | reference, with conditions asked of the path without its gaps |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from sqlext.pattern import conditions, strategy
from sqlext.pattern.batch import reference
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared import GAP, PlainProgram, plain_program
from sqlext.pattern.cep.formulas import evaluate, horizon, local_truth, own_limits, packed
from sqlext.pattern.cep.nfa import Final, Formula, Wait, takes
from sqlext.pattern.cep.path_conditions import NotExpressible, Rewriting
from sqlext.pattern.task import MatchTask, Output, Rows, Spans, Values


def outline(task: CepTask) -> MatchTask | None:
    """What can be said of the plain task without its rows; None where conditions cannot be said of a path with gaps."""
    plain = plain_program(task.nfa)
    try:
        made = tuple(Rewriting(task, plain, 0).condition(v) for v in plain.variants)
    except NotExpressible:
        return None
    is_within = task.is_within and not task.is_between
    bits = tuple(range(len(plain.variants)))
    return MatchTask(
        program=plain.program, bits=bits, conditions=made, skip=replace(task.skip, labels=()), is_within=is_within
    )


def plain_strategy(task: CepTask) -> str:
    """The strategy that runs the plain program of a task."""
    outlined = outline(task)
    return "reference" if outlined is None else strategy.choose(outlined)[0]


def plain_task(task: CepTask, rows: Rows) -> tuple[MatchTask, Rows, bool]:
    """The task that finds the matches with gaps, its rows, and whether its conditions say all (else ask `satisfier`).

    Its label l is variant l of `plain_program(task.nfa)`.
    """
    plain, truth = plain_program(task.nfa), local_truth(task, rows)
    variants = plain.variants
    held = [evaluate(local_part(task, v.formula), truth) for v in variants]
    rewriting = Rewriting(task, plain, len(rows.columns))
    try:
        made = tuple(rewriting.condition(v) for v in variants)
        is_complete = True
    except NotExpressible:
        made, is_complete = (None,) * len(variants), False
    for i, variant in enumerate(variants):
        if variant.final is not None and not rewriting.depends_on_start(variant.final):
            low, high = horizon(variant.final, truth, rows.bounds)
            limit = own_limits(task, rows)
            held[i] = held[i] & (low <= limit) & (limit <= high)
    columns = (*rows.columns, *(_column(name, task, rows, truth) for name in rewriting.columns))
    classifiers = None
    if rows.classifiers is not None:
        classifiers = np.array([rows.classifiers[max(v.origin, 0)] for v in variants], np.int64)
    targets = tuple(i for i, v in enumerate(variants) if v.origin != GAP and v.origin in task.skip.labels)
    made_task = MatchTask(
        program=plain.program,
        bits=tuple(range(len(variants))),
        conditions=made,
        skip=replace(task.skip, labels=targets),
        output=Output(),
        is_within=task.is_within and not task.is_between,
        strategy="auto" if is_complete else "reference",
    )
    whole = None if task.is_between else rows.limit
    return made_task, Rows(rows.bounds, packed(held, len(rows.mask)), whole, columns, classifiers), is_complete


def local_part(task: CepTask, formula: Formula) -> Formula:
    """The part of a formula that the row-local conditions decide, true wherever the formula may be."""
    dependent = {label for label, condition in enumerate(task.conditions) if condition is not None}
    return tuple(
        clause
        for clause in formula
        if all(label not in dependent for label, _ in clause) or (len(clause) == 1 and clause[0][1])
    )


def may_begin(task: CepTask, rows: Rows) -> np.ndarray:
    """`bool[n]`: may a match begin at the row, as far as the row alone says?"""
    truth, found = local_truth(task, rows), np.zeros(len(rows.mask), np.bool_)
    for wait in (*task.nfa.start, *task.nfa.partition_start):
        if isinstance(wait, Wait):
            found |= evaluate(local_part(task, takes(wait)), truth)
    return found


def _column(name: tuple, task: CepTask, rows: Rows, truth: np.ndarray) -> Values:
    """A column that rewritten conditions read: see Rewriting.columns."""
    if name[0] == "row":
        return Values(np.arange(len(rows.mask)))
    if name[0] == "limit":
        return Values(own_limits(task, rows))
    if name[0] in ("low", "high"):
        low, high = horizon(name[1], truth, rows.bounds)
        return Values(low if name[0] == "low" else high)
    return Values(truth[name[1]])


def satisfier(task: CepTask, rows: Rows, plain: PlainProgram) -> reference.Satisfies:
    """What the reference driver asks: may row `start + len(labels)` be mapped to variant `label` behind `labels`?

    `rows` and `task` are those with the user's labels.
    """
    truth, limit = local_truth(task, rows), own_limits(task, rows)

    def satisfies(start: int, number: int, labels: list[int], label: int) -> bool:
        row, variant = start + len(labels), plain.variants[label]
        origins = [plain.variants[x].origin for x in labels]
        mapped = [(start + j, origin) for j, origin in enumerate(origins) if origin != GAP]
        partition = int(np.searchsorted(rows.bounds, start, side="right")) - 1
        bounds = int(rows.bounds[partition]), int(rows.bounds[partition + 1])

        def holds(tested: int, at: int) -> bool:
            condition = task.conditions[tested]
            if condition is None or not truth[tested, at]:
                return bool(truth[tested, at])
            taken, path = (*(r for r, _ in mapped), at), (*(x for _, x in mapped), tested)
            asked = conditions.Path(rows, task.program.labels, bounds, taken[0], path, number, taken)
            return conditions.evaluate(condition, asked) is True

        if task.is_between and mapped and row >= limit[mapped[-1][0]]:
            return False
        if not all(any(holds(x, row) == wanted for x, wanted in clause) for clause in variant.formula):
            return False
        mapped.append((row, variant.origin))
        return variant.final is None or _ends(variant.final, row, int(limit[row if task.is_between else start]), holds)

    return satisfies


def _ends(final: Final, row: int, bound: int, holds: Callable[[int, int], bool]) -> bool:
    """May a match whose bound ends before row `bound` end with `row`? But for the partition's end."""
    if final.needs_next and (row + 1 >= bound or any(holds(label, row + 1) for label in final.not_next)):
        return False
    return not any(holds(label, later) for later in range(row + 1, bound) for label in final.absent)


def without_gaps(spans: Spans, plain: PlainProgram) -> Iterator[Spans]:
    """The matches with the rows that they map, in blocks in which no labels are shared."""
    from sqlext.pattern.cep import gap_kernels as kernels

    origin = np.array([v.origin for v in plain.variants] or [GAP], np.int16)
    row, kept, offset = kernels.mapped_rows(spans.start, spans.offset, spans.label, origin)
    label = origin[spans.label[kept]]
    is_hidden = None if spans.is_hidden is None else spans.is_hidden[kept]
    if spans.tails is None:
        yield replace(spans, offset=offset, label=label, is_hidden=is_hidden, row=row)
        return
    tail, at = spans.tails.match, np.searchsorted(kept, spans.tails.at)
    length = kernels.lengths(offset, tail, at)
    lo, m = 0, len(length)
    while lo < m:
        hi = lo + max(1, int(np.searchsorted(np.cumsum(length[lo:]), GROUP_ROWS, "right")))
        places, whole = kernels.whole_matches(lo, hi, length, offset, tail, at)
        yield Spans(
            start=spans.start[lo:hi],
            number=spans.number[lo:hi],
            offset=whole,
            label=label[places],
            is_hidden=None if is_hidden is None else is_hidden[places],
            unmatched=spans.unmatched[:0] if hi < m else spans.unmatched,
            failure=spans.failure if hi == m else None,
            row=row[places],
        )
        lo = hi


GROUP_ROWS = 1 << 20  # mapped rows that are listed at once
