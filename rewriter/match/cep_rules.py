"""The rules of what SQL:2016 has not: skipped rows, absence, UNTIL, NO SKIP, time-outs; and whose states they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError
from sqlext.pattern import ast
from sqlext.pattern.cep.nfa import Nfa
from sqlext.pattern.cep.nfa_compile import compile_nfa, first_variables, is_contiguous
from sqlext.pattern.stream import cep_decisions
from sqlext.pattern.task import Condition, MatchTask
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.references import Item, Reference
from sqlext.rewriter.text.fragments import Name
from sqlext.rewriter.text.lexemes import names_in

Errors = Iterator[SqlExtError]


def needs_states(clause: MatchClause) -> bool:
    """Is more asked for than the preferred match whose rows are neighbours?"""
    return (
        not is_contiguous(clause.pattern)
        or (clause.after_match is not None and clause.after_match.mode == "NO SKIP")
        or (clause.within is not None and clause.within.between_rows)
        or clause.rows_per_match.shows_timeouts
    )


def states(clause: MatchClause, labels: tuple[str, ...]) -> Nfa | None:
    """The states of the clause's pattern where they are needed. Raises UnsupportedError: its size."""
    return compile_nfa(clause.pattern, labels) if needs_states(clause) else None


# rules


def absences_have_rows_before(clause: MatchClause) -> Errors:
    for absence in _leading(clause.pattern, False):
        written = absence.operator.replace(">", "> ") + absence.variable.name
        message = f"{written} stands where no row of the match can come before it"
        hint = f"an absence speaks of the rows behind one that is mapped: A {written}."
        yield BindError("ABSENCE_WITHOUT_ROW", message, place=_place(clause, absence), hint=hint)


def absences_at_the_end_have_a_bound(clause: MatchClause) -> Errors:
    if clause.within is not None:
        return
    for absence in _trailing(clause.pattern, True):
        name = absence.variable.name
        message = f"!-> {name} at the end of a pattern needs WITHIN: without a bound {name} could always still come"
        yield BindError("ABSENCE_WITHOUT_WITHIN", message, place=_place(clause, absence),
                        hint=f"write WITHIN INTERVAL … behind PATTERN, or !{name} for the next row alone.")  # fmt: skip


def time_outs_have_a_bound(clause: MatchClause) -> Errors:
    rows = clause.rows_per_match
    if rows.shows_timeouts and clause.within is None and rows.fragment is not None:
        yield BindError("TIMEOUT_WITHOUT_WITHIN", "SHOW TIMEOUT MATCHES needs WITHIN: else no partial match ends",
                        place=rows.fragment.place, hint="write WITHIN INTERVAL … behind PATTERN.")  # fmt: skip


def unmapped_variables_are_not_asked_for(clause: MatchClause) -> Errors:
    """N of an absence and S of UNTIL map no rows."""
    unmapped = unmapped_variables(clause.pattern)
    asked = [(m, f"SUBSET {s.name.text} names") for s in clause.subsets for m in s.members]
    if clause.after_match is not None and clause.after_match.target is not None:
        asked.append((clause.after_match.target, f"AFTER MATCH SKIP {clause.after_match.mode} names"))
    for name, who in asked:
        if name.key in unmapped:
            yield _maps_no_row(name, who)


def _maps_no_row(name: Name, who: str) -> BindError:
    return BindError("UNMAPPED_VARIABLE", f'{who} "{name.text}", which maps no row', place=name.fragment.place,
                     hint="it stands behind !, !-> or UNTIL only.")  # fmt: skip


def unmapped_variables(pattern: ast.Pattern) -> frozenset[str]:
    """The names that stand behind `!`, `!->` and UNTIL only.

    >>> sorted(unmapped_variables(ast.Concatenation((ast.Variable("A"), ast.Absence("!", ast.Variable("N"))))))
    ['N']
    """
    mapped, named = set(), set()
    stack = [pattern]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Variable):
            mapped.add(node.name)
        if isinstance(node, (ast.Absence, ast.Until)):
            named.add(node.variable.name)
        stack += [child for child in ast.children(node) if child is not getattr(node, "variable", None)]
    return frozenset(named - mapped)


def check_mapped(items: Sequence[Item], clause: MatchClause) -> None:
    """Raise BindError for a measure that reads rows of a variable that maps none."""
    unmapped = unmapped_variables(clause.pattern)
    for item in items:
        if isinstance(item, Reference) and item.variable in unmapped:
            message = f'"{item.variable}" maps no row, a measure cannot read it'
            hint = "it stands behind !, !-> or UNTIL only."
            raise BindError("UNMAPPED_VARIABLE", message, place=item.place, hint=hint)


def check_numbers(items: Sequence[Item], clause: MatchClause) -> None:
    """Raise UnsupportedError for MATCH_NUMBER() in DEFINE where matches are numbered when they are decided."""
    if clause.after_match is None or clause.after_match.mode != "NO SKIP":
        return
    for item in items:
        if isinstance(item, Reference) and item.kind == "match number":
            message = "with AFTER MATCH NO SKIP a match gets its number when it is decided, DEFINE cannot read it"
            raise UnsupportedError("NUMBER_IN_DEFINE", message, place=item.place)


def check_times(clause: MatchClause, task: MatchTask, neighbours: Sequence[Condition | None]) -> None:
    """Raise UnsupportedError for MATCH_ROWTIME() where it is not known when a match is decided; `neighbours`: what
    masks hold besides bits."""
    what = cep_decisions.objection(task, neighbours) if task.nfa is not None else None
    for measure in clause.measures:
        if what is not None and "match_rowtime" in names_in(measure.expression):
            message, hint = f"MATCH_ROWTIME() is not built with {what}", "the time of the last row is LAST(ts)."
            raise UnsupportedError("NOT_BUILT", message, place=measure.expression.place, hint=hint)


# where absences stand


def _trailing(node: ast.Pattern, is_last: bool) -> Iterator[ast.Absence]:
    """The absences !-> behind which a way to the end of the pattern maps no row; `is_last`: may the node be last?"""
    if isinstance(node, ast.Absence):
        if is_last and node.operator == "!->":
            yield node
    elif isinstance(node, ast.Concatenation):
        for item in reversed(node.items):
            yield from _trailing(item, is_last)
            is_last = is_last and first_variables(item)[1]
    else:
        for child in ast.children(node):
            if child is not getattr(node, "variable", None):
                yield from _trailing(child, is_last)


def _leading(node: ast.Pattern, has_row: bool) -> Iterator[ast.Absence]:
    """The absences before which no way through the pattern maps a row; `has_row`: may one come before the node?"""
    if isinstance(node, ast.Absence):
        if not has_row:
            yield node
    elif isinstance(node, ast.Concatenation):
        for item in node.items:
            yield from _leading(item, has_row)
            has_row = has_row or bool(first_variables(item)[0])
    else:
        is_repeated = isinstance(node, ast.Quantified) and node.at_most != 1
        may_follow = is_repeated or isinstance(node, ast.Permutation)
        has_row = has_row or (may_follow and bool(first_variables(node)[0]))
        for child in ast.children(node):
            if child is not getattr(node, "variable", None):
                yield from _leading(child, has_row)


def _place(clause: MatchClause, node: ast.Pattern) -> Place:
    return Place(clause.whole.source, *node.place)


RULES = (
    absences_have_rows_before,
    absences_at_the_end_have_a_bound,
    time_outs_have_a_bound,
    unmapped_variables_are_not_asked_for,
)
