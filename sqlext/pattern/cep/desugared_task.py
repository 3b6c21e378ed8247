"""CepTask → the contiguous task of its desugared program, for SQL's own AFTER MATCH modes.

| DEFINE, PATTERN and WITHIN | the inner task is run by |
|---|---|
| row-local; no absence at the end with WITHIN, not BETWEEN ROWS | `two_pass`, `lazy_dfa` or `bounded` |
| conditions that `path_conditions.Rewriting` can express | `threads` |
| others | `reference`, which evaluates conditions on the path without its gaps (`path_satisfier`) |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sqlext.pattern.cep.cep_task import CepTask, as_mask, bound_ends, evaluate, local_part, local_truth
from sqlext.pattern.cep.desugared_program import GAP, Variant, desugared_program
from sqlext.pattern.cep.ends import horizon, may_end
from sqlext.pattern.cep.path_conditions import NotExpressible, PathEvaluator, Rewriting, without_gaps
from sqlext.pattern.task.event_time import StreamFacts
from sqlext.pattern.task.task import Condition, MatchTask, Rows, Values


def inner_task(task: CepTask) -> MatchTask:
    """The contiguous task that finds the matches with their gaps, as far as it does not depend on the rows.

    Its label l is variant l of the desugared program. Its strategy is "auto", or "reference" where conditions cannot be
    expressed over a path with gaps: then it has no conditions, and `path_satisfier` evaluates them.
    """
    return _inner_task(task, Rewriting(task=task, program=desugared_program(task.nfa), n_columns=0))


def _inner_task(task: CepTask, rewriting: Rewriting) -> MatchTask:
    variants, strategy = rewriting.program.variants, "auto"
    conditions: tuple[Condition | None, ...] = (None,) * len(variants)
    try:
        conditions = tuple(rewriting.condition(v) for v in variants)
    except NotExpressible:
        strategy = "reference"
    targets = tuple(i for i, v in enumerate(variants) if v.origin != GAP and v.origin in task.skip.labels)
    return MatchTask(
        program=rewriting.program.program,
        bits=tuple(range(len(variants))),
        conditions=conditions,
        skip=replace(task.skip, labels=targets),
        is_within=task.is_within and not task.is_between,
        strategy=strategy,
    )


def desugared_task(task: CepTask, rows: Rows) -> tuple[MatchTask, Rows]:
    """The inner task of a task, and its rows."""
    program, truth = desugared_program(task.nfa), local_truth(task, rows)
    variants = program.variants
    rewriting = Rewriting(task=task, program=program, n_columns=len(rows.columns))
    inner = _inner_task(task, rewriting)
    satisfied = [evaluate(local_part(task, v.formula), truth) for v in variants]
    for i, variant in enumerate(variants):
        if variant.final is not None and not rewriting.depends_on_start(variant.final):
            (low, high), limit = horizon(variant.final, truth, rows.bounds), bound_ends(rows)
            satisfied[i] = satisfied[i] & (low <= limit) & (limit <= high)
    classifiers = None
    if rows.classifiers is not None:
        classifiers = np.array([rows.classifiers[max(v.origin, 0)] for v in variants], np.int64)
    inner_rows = Rows(
        bounds=rows.bounds,
        mask=as_mask(satisfied, len(rows.mask)),
        limit=None if task.is_between else rows.limit,
        columns=(*rows.columns, *(_column(name, rows, truth) for name in rewriting.columns)),
        classifiers=classifiers,
    )
    return inner, inner_rows


def undecidable(task: CepTask) -> str | None:
    """The reason why the inner task alone cannot decide every match on a stream, as a sentence, or None."""
    if task.is_between:
        return "the bound begins anew with each row of a match."
    if any(end.waits_for_bound or (end.needs_next and task.is_within) for end in task.nfa.ends):
        return "rows after a match, up to the end of WITHIN, decide it."
    return None if inner_task(task).strategy == "auto" else "a condition cannot be expressed over a path with gaps."


def inner_facts(task: CepTask, facts: StreamFacts) -> StreamFacts:
    """The facts of the inner task, which waits for the row after a match that ends with `!N`."""
    waits = any(variant.final is not None for variant in desugared_program(task.nfa).variants)
    return StreamFacts(
        needs_times=facts.needs_times, reads_ahead=facts.reads_ahead or waits, needs_failed=needs_failed(task)
    )


def needs_failed(task: CepTask) -> bool:
    """True if results on a stream depend on the start rows that gave no match."""
    return task.output.shows_unmatched or task.output.shows_timeouts


def lasting_task(task: CepTask, *, lasts: bool = True) -> MatchTask:
    """The inner task, as it is used to determine whether a stream can decide it.

    A variant without a condition needs no mask bit. A gap that only its own variable ends takes every row if `lasts`;
    otherwise it ends at some time.
    """
    variants = desugared_program(task.nfa).variants
    bits = tuple(None if _takes_all(task, v, lasts=lasts) else i for i, v in enumerate(variants))
    return replace(inner_task(task), bits=bits, conditions=(None,) * len(bits), is_within=task.is_within)


def _takes_all(task: CepTask, variant: Variant, *, lasts: bool) -> bool:
    if variant.origin == GAP:
        return lasts and len(variant.formula) <= 1
    is_simple = len(variant.formula) <= 1 and variant.final is None and task.conditions[variant.origin] is None
    return is_simple and task.bits[variant.origin] is None


def _column(name: tuple, rows: Rows, truth: np.ndarray) -> Values:
    """A column that rewritten conditions read: see Rewriting.columns."""
    if name[0] == "row":
        return Values(np.arange(len(rows.mask)))
    if name[0] == "limit":
        return Values(bound_ends(rows))
    if name[0] in ("low", "high"):
        low, high = horizon(name[1], truth, rows.bounds)
        return Values(low if name[0] == "low" else high)
    return Values(truth[name[1]])


def path_satisfier(task: CepTask, rows: Rows) -> Callable[[int, int, list[int], int], bool]:
    """The conditions of the inner task as `batch.reference` evaluates them, on the path without its gaps.

    `satisfies(start, number, labels, label)` returns whether row `start + len(labels)` may be mapped to variant `label`
    after `labels`. `rows` are the rows of `task`.
    """
    program, evaluator, limit = desugared_program(task.nfa), PathEvaluator(task, rows), bound_ends(rows)

    def satisfies(start: int, number: int, labels: list[int], label: int) -> bool:
        row, variant = start + len(labels), program.variants[label]
        p = int(np.searchsorted(rows.bounds, start, side="right")) - 1
        path = without_gaps(program, start, labels, (int(rows.bounds[p]), int(rows.bounds[p + 1])), number)
        if task.is_between and path.rows and row >= limit[path.rows[-1]]:
            return False
        if not all(any(evaluator.holds(path, x, row) == wanted for x, wanted in clause) for clause in variant.formula):
            return False
        if variant.final is None:
            return True
        longer = path.extended(row, variant.origin)
        bound = int(limit[row if task.is_between else start])
        return may_end(variant.final, row, bound, lambda tested, later: evaluator.holds(longer, tested, later))

    return satisfies
