"""The rules for a clause that need no types, and what is not built, in one table, RULES.

Sources: ISO/IEC 9075-2 <row pattern recognition clause>, Syntax Rules; TR 19075-5 sections 4.4 to 4.16. The rules for
skipped rows, absence, UNTIL, NO SKIP and time-outs, which SQL:2016 does not have, are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches

from sqlext.errors import BindError, Place, SqlExtError, raise_all
from sqlext.pattern.cep.nfa_compile import first_variables
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import size_error
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.never_holds import never_holds
from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.names import QUOTED_HINT
from sqlext.rewriter.text.tokens import tokenize

Errors = Iterator[SqlExtError]


def check(clause: MatchClause) -> None:
    """Raise BindError and UnsupportedError for every rule that the clause breaks, all of them together."""
    raise_all([error for rule in RULES for error in rule(clause)])


def warnings(clause: MatchClause) -> list[str]:
    """Sentences that warn of what is allowed but rarely intended."""
    sentences = [f"MATCH_RECOGNIZE: {sentence}" for sentence in never_holds(clause)]
    if not clause.order_by:
        unordered = "reads the rows in an undefined order: results may differ between runs."
        sentences.append(f"MATCH_RECOGNIZE without ORDER BY {unordered}")
    return sentences


# names


def _partition_names_unique(clause: MatchClause) -> Errors:
    yield from _duplicates("PARTITION BY", [k.name for k in clause.partition_by if k.name], is_column=True)


def _measures_unique(clause: MatchClause) -> Errors:
    """An error for each duplicate name among measures and partition columns, which the result shows together."""
    partition = {_shown_name(k.name, k.expression).upper() for k in clause.partition_by}
    yield from _duplicates("MEASURES", [m.name for m in clause.measures], is_column=True)
    for measure in clause.measures:
        if measure.name.text.upper() in partition:
            message = f'the measure "{measure.name.text}" has the name of a PARTITION BY column'
            hint = "the result contains the partition columns anyway."
            yield BindError("DUPLICATE_NAME", message, place=measure.name.fragment.place, hint=hint)


def _shown_name(name: Name | None, expression: Fragment) -> str:
    """The name of a partition key in the result: its own name, or the name of the column that it reads."""
    text = name.text if name else expression.text.rpartition(".")[2]
    return text[1:-1].replace("``", "`") if name is None and text[:1] == text[-1:] == "`" else text


def _definitions_unique(clause: MatchClause) -> Errors:
    yield from _duplicates("DEFINE", [d.variable for d in clause.definitions])


def _subsets_unique(clause: MatchClause) -> Errors:
    yield from _duplicates("SUBSET", [s.name for s in clause.subsets])
    for subset in clause.subsets:
        yield from _duplicates(f"SUBSET {subset.name.text}", list(subset.members))


def _duplicates(clause_name: str, names: list[Name], *, is_column: bool = False) -> Errors:
    """An error for each name that occurred before. Columns compare without case even if quoted, as in Spark."""
    seen: set[str] = set()
    for name in names:
        key = name.text.upper() if is_column else name.key
        if key in seen:
            message = f'{clause_name} has "{name.text}" twice'
            yield BindError("DUPLICATE_NAME", message, place=name.fragment.place)
        seen.add(key)


def _definitions_used(clause: MatchClause) -> Errors:
    unions = {s.name.key for s in clause.subsets}
    for definition in clause.definitions:
        name = definition.variable
        if name.key in unions:
            message = f'DEFINE gives a condition to "{name.text}", which is a SUBSET'
            hint = "define the condition for each variable of the union instead."
            yield BindError("DEFINED_SUBSET", message, place=name.fragment.place, hint=hint)
        elif name.key not in _variables(clause):
            yield _unknown(name, "DEFINE names", _variables(clause))


def _subsets_of_variables(clause: MatchClause) -> Errors:
    for subset in clause.subsets:
        if subset.name.key in _variables(clause):
            message = f'the SUBSET "{subset.name.text}" has the name of a pattern variable'
            hint = "give the union another name."
            yield BindError("SUBSET_IS_VARIABLE", message, place=subset.name.fragment.place, hint=hint)
        for member in subset.members:
            if member.key not in _variables(clause):
                yield _unknown(member, f"SUBSET {subset.name.text} names", _variables(clause))


def _skip_target_known(clause: MatchClause) -> Errors:
    after = clause.after_match
    known = _variables(clause) | {s.name.key: s.name for s in clause.subsets}
    if after is not None and after.target is not None and after.target.key not in known:
        error = _unknown(after.target, f"AFTER MATCH {after.mode.text} names", known)
        yield error.with_(hint="did you mean SKIP TO NEXT ROW?") if after.target.key == "NEXT" else error


def _variables(clause: MatchClause) -> dict[str, Name]:
    return {name.key: name for name in clause.pattern_variables}


def _unknown(name: Name, who: str, known: dict[str, Name]) -> BindError:
    """The error that says, for example, `DEFINE names "Z", which PATTERN does not use`."""
    texts = [n.fragment.text for n in known.values()]
    close = get_close_matches(name.key, known, n=1)
    hint = f"did you mean {known[close[0]].fragment.text}?" if close else _listed(texts)
    if name.is_quoted and name.key.upper() in known:
        hint = f"quoted names keep their case: write {known[name.key.upper()].text} without quotes."
    return BindError(
        "UNKNOWN_PATTERN_VARIABLE",
        f'{who} "{name.text}", which PATTERN does not use',
        place=name.fragment.place,
        hint=hint,
    )


def _listed(names: list[str]) -> str:
    if not names:
        return "PATTERN uses no variables."
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"the pattern variables are {shown}."


# parts that exclude or need one another


def _exclusion_not_with_unmatched(clause: MatchClause) -> Errors:
    exclusion = next((n for n in ast.walk(clause.pattern) if isinstance(n, ast.Exclusion)), None)
    if exclusion is not None and clause.rows_per_match.empty == "UNMATCHED":
        message = "{- -} cannot be used with ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        hint = "write ALL ROWS PER MATCH, or leave out the braces."
        yield BindError("EXCLUSION_WITH_UNMATCHED_ROWS", message, place=_place(clause, exclusion), hint=hint)


def _within_has_order(clause: MatchClause) -> Errors:
    if clause.within is None:
        return
    if not clause.order_by:
        message = "WITHIN is measured on the first ORDER BY key, and there is no ORDER BY"
        yield BindError(
            "WITHIN_WITHOUT_ORDER",
            message,
            place=clause.within.bound.place,
            hint="write ORDER BY time before MEASURES.",
        )
    elif clause.order_by[0].is_descending:
        yield BindError(
            "WITHIN_DESCENDING",
            "WITHIN needs an ascending first ORDER BY key",
            place=clause.order_by[0].expression.place,
        )


def _order_reads_rows(clause: MatchClause) -> Errors:
    """An error for each sort key that is a constant: in Spark a number there is no position of a column."""
    for key in clause.order_by:
        tokens = tokenize(key.expression.text)
        if all(token.word in ("NULL", "TRUE", "FALSE") or not token.is_name for token in tokens):
            hint = QUOTED_HINT if tokens[0].text[0] == '"' else "write the column that orders the rows: ORDER BY time."
            yield BindError(
                "CONSTANT_ORDER",
                f"{key.expression.text} is a constant, which orders no rows",
                place=key.expression.place,
                hint=hint,
            )


def _time_outs_have_a_bound(clause: MatchClause) -> Errors:
    rows = clause.rows_per_match
    if rows.shows_timeouts and clause.within is None and rows.fragment is not None:
        message = "SHOW TIMEOUT MATCHES needs WITHIN: without a bound no partial match times out"
        yield BindError(
            "TIMEOUT_WITHOUT_WITHIN", message, place=rows.fragment.place, hint="write WITHIN INTERVAL … after PATTERN."
        )


def _pattern_fits(clause: MatchClause) -> Errors:
    """The error for a pattern that is too large.

    Its place is the innermost part that is nested too deep or unfolds to too many instructions.
    """
    refused = size_error(clause.pattern)
    if refused:
        error, node = refused
        yield error.with_(place=_place(clause, node))


# absence and UNTIL


def _absences_have_rows_before(clause: MatchClause) -> Errors:
    for absence in _leading(clause.pattern, has_row=False):
        written = absence.operator.replace(">", "> ") + absence.variable.name
        message = f"{written} is written where no row of the match can come before it"
        hint = f"an absence describes the rows after a mapped row: A {written}."
        yield BindError("ABSENCE_WITHOUT_ROW", message, place=_place(clause, absence), hint=hint)


def _absences_at_the_end_have_a_bound(clause: MatchClause) -> Errors:
    if clause.within is not None:
        return
    for absence in _trailing(clause.pattern, is_last=True):
        name = absence.variable.name
        message = f"!-> {name} at the end of a pattern needs WITHIN: without a bound, {name} may always come later"
        hint = f"write WITHIN INTERVAL … after PATTERN, or !{name} to test only the next row."
        yield BindError("ABSENCE_WITHOUT_WITHIN", message, place=_place(clause, absence), hint=hint)


def _unmapped_variables_not_read(clause: MatchClause) -> Errors:
    """An error for each use of a variable that maps no row: that of an absence, or the stop variable of UNTIL."""
    unmapped = unmapped_variables(clause.pattern)
    uses = [(m, f"SUBSET {s.name.text} names") for s in clause.subsets for m in s.members]
    if clause.after_match is not None and clause.after_match.target is not None:
        uses.append((clause.after_match.target, f"AFTER MATCH {clause.after_match.mode.text} names"))
    for name, who in uses:
        if name.key in unmapped:
            message = f'{who} "{name.text}", which maps no row'
            yield BindError("UNMAPPED_VARIABLE", message, place=name.fragment.place, hint=UNMAPPED_HINT)


UNMAPPED_HINT = "it may only follow !, !-> or UNTIL."


def unmapped_variables(pattern: ast.Pattern) -> frozenset[str]:
    """The names that are used only after `!`, `!->` and UNTIL.

    >>> sorted(unmapped_variables(ast.Concatenation((ast.Variable("A"), ast.Absence("!", ast.Variable("N"))))))
    ['N']
    """
    return ast.names(pattern) - ast.mapped_names(pattern)


def _trailing(node: ast.Pattern, *, is_last: bool) -> Iterator[ast.Absence]:
    """The absences !-> from which the end of the pattern can be reached without mapping a row.

    `is_last`: nothing after the node needs a row.
    """
    if isinstance(node, ast.Absence):
        if is_last and node.operator == "!->":
            yield node
    elif isinstance(node, ast.Concatenation):
        for item in reversed(node.items):
            yield from _trailing(item, is_last=is_last)
            is_last = is_last and first_variables(item)[1]
    else:
        for part in ast.mapped_parts(node):
            yield from _trailing(part, is_last=is_last)


def _leading(node: ast.Pattern, *, has_row: bool) -> Iterator[ast.Absence]:
    """The absences that no row of the match can precede. `has_row`: a row may precede the node."""
    if isinstance(node, ast.Absence):
        if not has_row:
            yield node
    elif isinstance(node, ast.Concatenation):
        for item in node.items:
            yield from _leading(item, has_row=has_row)
            has_row = has_row or bool(first_variables(item)[0])
    else:
        is_repeated = isinstance(node, ast.Quantified) and node.at_most != 1
        may_follow = is_repeated or isinstance(node, ast.Permutation)
        has_row = has_row or (may_follow and bool(first_variables(node)[0]))
        for part in ast.mapped_parts(node):
            yield from _leading(part, has_row=has_row)


def _place(clause: MatchClause, node: ast.Pattern) -> Place:
    return Place(clause.whole.source, *node.place)


RULES: tuple[Callable[[MatchClause], Errors], ...] = (
    _partition_names_unique,
    _measures_unique,
    _definitions_unique,
    _subsets_unique,
    _definitions_used,
    _subsets_of_variables,
    _skip_target_known,
    _exclusion_not_with_unmatched,
    _order_reads_rows,
    _within_has_order,
    _time_outs_have_a_bound,
    _pattern_fits,
    _absences_have_rows_before,
    _absences_at_the_end_have_a_bound,
    _unmapped_variables_not_read,
)
