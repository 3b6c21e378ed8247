"""Whether only usable rows decide the matches of a task: rows that satisfy the row-local part of some variable.

Any other row may be left out of the input. No path maps it, no absence, UNTIL or possessive loop is ended by it, and a
path that waits with `->` or `->>` skips it. It changes a result only where its mere presence counts: between rows that
must be neighbours, as the first or last row of a partition, as the start of an empty match, as a row of the result, or
under PREV and NEXT. Bounds of WITHIN compare times and not numbers of rows, so they do not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.nfa import Final, Nfa, Wait, skips
from sqlext.pattern.conditions.condition_reads import operands
from sqlext.pattern.program import ast
from sqlext.pattern.task.task import Condition, InterpretedAggregate, Navigation, Task


def why_all_rows_matter(task: Task) -> str:
    """The reason why a row that satisfies no variable may still change a match, or "" if it changes nothing.

    Conditions on neighbouring rows that are part of masks, and measures, are not in the task; the caller checks them.

    >>> from sqlext.pattern.cep.nfa_compile import compile_nfa, skeleton
    >>> from sqlext.pattern.program.ast import Concatenation, Relaxed, Variable
    >>> from sqlext.pattern.program.compile import compile_pattern
    >>> def task(*items):
    ...     pattern, labels = Concatenation(items), ("A", "B")
    ...     program, nfa = compile_pattern(skeleton(pattern), labels), compile_nfa(pattern, labels)
    ...     return CepTask(program=program, bits=(0, 1), conditions=(None, None), nfa=nfa)
    >>> why_all_rows_matter(task(Variable("A"), Relaxed("->", Variable("B"))))
    ''
    >>> why_all_rows_matter(task(Variable("A"), Variable("B")))
    'B must be the very next row'
    """
    if task.frame is not None:
        return "each row has a result"
    if task.output.shows_unmatched:
        return "unmatched rows are shown"
    if not isinstance(task, CepTask):
        return "the rows of a match are neighbours"
    free = [label for label, bit in zip(task.nfa.labels, task.bits) if bit is None]
    if free:
        return f"{free[0]} has no condition that a row alone decides"
    if any(_reads_physical_rows(condition) for condition in task.conditions if condition is not None):
        return "DEFINE reads PREV or NEXT"
    return _why_neighbours_matter(task.nfa, lists_empty=not task.skip.mode.lists_all)


def _why_neighbours_matter(nfa: Nfa, *, lists_empty: bool) -> str:
    """The reason that the states of the pattern give. `lists_empty`: empty matches are matches."""
    for node in ast.walk(nfa.pattern):  # `A $ -> B` has no match but partial matches, so its states lack the `$`
        if isinstance(node, ast.PartitionStart):
            return "^ tests for the first row of the partition"
        if isinstance(node, ast.PartitionEnd):
            return "$ tests for the last row of the partition"
    if lists_empty and any(isinstance(target, Final) for target in nfa.start):
        return "a match may be empty"
    for target in (target for targets in nfa.after for target in targets):
        if isinstance(target, Final):
            if target.needs_next:
                return "an absence tests the very next row"
        elif not _skips_other_rows(target):
            label, verb = (target.not_next[0], "must not") if target.not_next else (target.label, "must")
            return f"{nfa.labels[label]} {verb} be the very next row"
    return ""


def _skips_other_rows(wait: Wait) -> bool:
    """Return True if the state skips a row that satisfies no label, and then waits for the same as before."""
    return any(
        left == wait and all(any(not is_satisfied for _, is_satisfied in clause) for clause in formula)
        for formula, left in skips(wait)
    )


def _reads_physical_rows(condition: Condition) -> bool:
    """Return True if the condition reads a row by its distance from another row."""
    return any(navigation.step for navigation in _navigations(condition))


def _navigations(condition: Condition) -> Iterator[Navigation]:
    """All navigations of a condition, also those inside of aggregates and of other navigations."""
    for operand in operands(condition):
        if isinstance(operand.source, Navigation):
            yield operand.source
            if operand.source.expression is not None:
                yield from _navigations(operand.source.expression)
        elif isinstance(operand.source, InterpretedAggregate):
            for part in (*operand.source.arguments, operand.source.filter):
                if part is not None:
                    yield from _navigations(part)
