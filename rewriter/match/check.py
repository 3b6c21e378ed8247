"""The rules of the standard that need no catalog, and what is legal but not built yet.

Source: ISO/IEC 9075-2 <row pattern recognition clause>, Syntax Rules; TR 19075-5 sections 4.4 to 4.16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches

from sqlext.errors import BindError, Place, SqlExtError, raise_all
from sqlext.pattern import ast
from sqlext.pattern.compile import size_error
from sqlext.rewriter.match import cep_rules
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text.fragments import Fragment, Name

Errors = Iterator[SqlExtError]


def check(clause: MatchClause) -> None:
    """Raise BindError and UnsupportedError for what breaks a rule; all of the clause together."""
    raise_all([error for rule in RULES for error in rule(clause)])


def warnings(clause: MatchClause) -> list[str]:
    """Sentences about what is allowed and rarely meant."""
    if clause.order_by:
        return []
    return ["MATCH_RECOGNIZE without ORDER BY sees the rows in no promised order: results may differ from run to run."]


# names


def _partition_names_unique(clause: MatchClause) -> Errors:
    yield from _duplicates("PARTITION BY", [k.name for k in clause.partition_by if k.name], is_column=True)


def _measures_unique(clause: MatchClause) -> Errors:
    """Partition columns and measures stand side by side in the result."""
    partition = {_shown_name(k.name, k.expression).upper() for k in clause.partition_by}
    yield from _duplicates("MEASURES", [m.name for m in clause.measures], is_column=True)
    for measure in clause.measures:
        if measure.name.text.upper() in partition:
            message = f'the measure "{measure.name.text}" has the name of a PARTITION BY column'
            hint = "partition columns are in the result anyway."
            yield BindError("DUPLICATE_NAME", message, place=measure.name.fragment.place, hint=hint)


def _shown_name(name: Name | None, expression: Fragment) -> str:
    """The name that a partition key has in the result: its own, or that of the column that it is."""
    text = name.text if name else expression.text.rpartition(".")[2]
    return text[1:-1].replace("``", "`") if name is None and text[:1] == text[-1:] == "`" else text


def _definitions_unique(clause: MatchClause) -> Errors:
    yield from _duplicates("DEFINE", [d.variable for d in clause.definitions])


def _subsets_unique(clause: MatchClause) -> Errors:
    yield from _duplicates("SUBSET", [s.name for s in clause.subsets])
    for subset in clause.subsets:
        yield from _duplicates(f"SUBSET {subset.name.text}", list(subset.members))


def _duplicates(clause_name: str, names: list[Name], is_column: bool = False) -> Errors:
    """Columns compare without case even if quoted, as Spark has it."""
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
            hint = "a condition belongs to each variable of the union."
            yield BindError("DEFINED_SUBSET", message, place=name.fragment.place, hint=hint)
        elif name.key not in _variables(clause):
            yield _unknown(name, "DEFINE names", clause, _variables(clause))


def _subsets_of_variables(clause: MatchClause) -> Errors:
    for subset in clause.subsets:
        if subset.name.key in _variables(clause):
            message = f'the SUBSET "{subset.name.text}" has the name of a pattern variable'
            hint = "give the union another name."
            yield BindError("SUBSET_IS_VARIABLE", message, place=subset.name.fragment.place, hint=hint)
        for member in subset.members:
            if member.key not in _variables(clause):
                yield _unknown(member, f"SUBSET {subset.name.text} names", clause, _variables(clause))


def _skip_target_known(clause: MatchClause) -> Errors:
    after = clause.after_match
    known = _variables(clause) | {s.name.key: s.name for s in clause.subsets}
    if after is not None and after.target is not None and after.target.key not in known:
        yield _unknown(after.target, f"AFTER MATCH SKIP {after.mode} names", clause, known)


def _variables(clause: MatchClause) -> dict[str, Name]:
    return {name.key: name for name in clause.pattern_variables}


def _unknown(name: Name, who: str, clause: MatchClause, known: dict[str, Name]) -> BindError:
    """`DEFINE names "Z", which PATTERN does not use`"""
    texts = [n.fragment.text for n in known.values()]
    close = get_close_matches(name.key, known, n=1)
    hint = f"did you mean {known[close[0]].fragment.text}?" if close else _listed(texts)
    if name.is_quoted and name.key.upper() in known:
        hint = f"quoted names keep their case: write {known[name.key.upper()].text} without quotes."
    return BindError("UNKNOWN_PATTERN_VARIABLE", f'{who} "{name.text}", which PATTERN does not use',
                     place=name.fragment.place, hint=hint)  # fmt: skip


def _listed(names: list[str]) -> str:
    if not names:
        return "PATTERN uses no variables."
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"pattern variables are {shown}."


# clauses that exclude one another


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
        yield BindError("WITHIN_WITHOUT_ORDER", "WITHIN measures the distance on the first ORDER BY key, there is none",
                        place=clause.within.bound.place, hint="write ORDER BY time before MEASURES.")  # fmt: skip
    elif clause.order_by[0].is_descending:
        yield BindError("WITHIN_DESCENDING", "WITHIN needs an ascending first ORDER BY key",
                        place=clause.order_by[0].expression.place)  # fmt: skip


# the size of the pattern


def _pattern_fits(clause: MatchClause) -> Errors:
    """The error is placed at the innermost part that is too deep or unfolds to too much."""
    refused = size_error(clause.pattern)
    if refused:
        error, node = refused
        yield type(error)(
            error.error_class.removeprefix("SQLEXT_"), error.message, place=_place(clause, node), hint=error.hint
        )


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
    _within_has_order,
    _pattern_fits,
    *cep_rules.RULES,
)
