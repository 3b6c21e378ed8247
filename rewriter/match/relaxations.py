"""The single changes of a clause that let more rows match, each as edits of the user's text.

| kind | change |
|---|---|
| "condition" | one conjunct of DEFINE is left out |
| "within" | WITHIN is left out, or its bound is larger |
| "quantifier" | an element may repeat more often, or less often |
| "gap" | rows may lie before an element: `->` in place of a space |
| "absence" | the variable of an absence, or of UNTIL, never holds |
| "anchor" | a match may begin, or end, in the middle of the partition |
| "preference" | another alternative comes first, or a loop prefers other numbers of rounds |
| "ties" | rows that are equal on ORDER BY come in another order |
| "direction" | ORDER BY without DESC |

A relaxation is only a proposal: the caller compiles and runs the changed text. What it shows (`sql`) replaces the part
of the clause that begins with the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlext.pattern.program import ast
from sqlext.rewriter.match.match_clause import Definition, MatchClause
from sqlext.rewriter.scalars.references import QUOTES
from sqlext.rewriter.text.and_list import split_at_all_ands
from sqlext.rewriter.text.lexemes import lexemes
from sqlext.rewriter.text.names import quoted_if_needed
from sqlext.rewriter.text.splice import Edit
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.keywords import ORDER_WORDS

CONDITION, WITHIN, QUANTIFIER, TIES = "condition", "within", "quantifier", "ties"
GAP, ABSENCE, ANCHOR, PREFERENCE, DIRECTION = "gap", "absence", "anchor", "preference", "direction"
QUANTIFIER_TEXT = re.compile(r"([*+?]|\{[^{}]*\})([?+]?)$")


@dataclass(frozen=True, kw_only=True)
class Relaxation:
    """`edits` change the user's text. `what`: the change in words; `sql`: the changed part of the clause; `place`: the
    offset in the user's text that it is about. `group`: the relaxations of one quantifier, of which the first one that
    is enough changes the least."""

    kind: str
    what: str
    sql: str
    edits: tuple[Edit, ...]
    place: int
    group: str = ""


def edited(text: str, edits: tuple[Edit, ...]) -> str:
    """The text with all edits made.

    >>> edited("A B", (Edit(2, 2, "-> "),))
    'A -> B'
    """
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + str(edit.replacement) + text[edit.stop :]
    return text


def relaxations(clause: MatchClause) -> Iterator[Relaxation]:
    """The relaxations that the text alone determines: all kinds except larger bounds of WITHIN and other
    orders of the rows.

    >>> from sqlext.rewriter.match.parse_match import parse_match
    >>> from sqlext.rewriter.match.sites import scan
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B{2}) DEFINE B AS v > 1 AND v < 9)"
    >>> clause = parse_match(text, tokenize(text), scan(text)[0])
    >>> [r.sql for r in relaxations(clause)][:4]
    ['B AS v < 9', 'B AS v > 1', 'PATTERN (A+ B{2})', 'PATTERN (A? B{2})']
    """
    for definition in clause.definitions:
        yield from _without_conjuncts(definition)
    if clause.within is not None:
        yield _without_within(clause)
    yield from _quantifiers(clause)
    yield from _gaps(clause)
    yield from _without_absences(clause)
    yield from _without_anchors(clause)
    yield from _other_preferences(clause)


# DEFINE


def _without_conjuncts(definition: Definition) -> Iterator[Relaxation]:
    condition = definition.condition
    parts = lexemes(condition)
    ranges = [(lo, hi) for lo, hi in split_at_all_ands([part.word for part in parts]) if lo < hi]
    texts = [condition.source[parts[lo].start : parts[hi - 1].stop] for lo, hi in ranges]
    for i, (lo, _) in enumerate(ranges):
        rest = " AND ".join(texts[:i] + texts[i + 1 :]) or "TRUE"
        yield Relaxation(
            kind=CONDITION,
            what=f"without the condition {_in_line(texts[i])} of {definition.variable.text}",
            sql=f"{definition.variable.fragment.text} AS {_in_line(rest)}",
            edits=(Edit(condition.start, condition.stop, rest),),
            place=parts[lo].start,
        )


# WITHIN


def _without_within(clause: MatchClause) -> Relaxation:
    assert clause.within is not None
    return Relaxation(
        kind=WITHIN,
        what=f"without WITHIN {_in_line(clause.within.bound.text)}",
        sql=f"PATTERN ({_in_line(clause.pattern_text.text)})",
        edits=(Edit(*_whole_within(clause), ""),),
        place=clause.within.bound.start,
    )


def with_bound(clause: MatchClause, bound: str) -> Relaxation:
    """WITHIN with this bound, inclusive."""
    assert clause.within is not None
    between = " BETWEEN ROWS" if clause.within.between_rows else ""
    start, stop = _whole_within(clause)
    return Relaxation(
        kind=WITHIN,
        what=f"with WITHIN INCLUSIVE {bound} in place of {_in_line(clause.within.bound.text)}",
        sql=f"WITHIN INCLUSIVE {bound}{between}",
        edits=(Edit(start, stop, f"WITHIN INCLUSIVE {bound}{between}"),),
        place=clause.within.bound.start,
    )


def _whole_within(clause: MatchClause) -> tuple[int, int]:
    """The characters from WITHIN to the end of its part."""
    assert clause.within is not None
    text, bound = clause.whole.source, clause.within.bound
    tokens = tokenize(text)
    before = [t for t in tokens if t.start < bound.start and t.word == "WITHIN"]
    after = [t for t in tokens if t.start >= bound.stop][: 2 * clause.within.between_rows]
    return before[-1].start, max([bound.stop, *(t.stop for t in after)])


# PATTERN


def _pattern(clause: MatchClause, what: str, kind: str, edits: tuple[Edit, ...], group: str = "") -> Relaxation:
    part = clause.pattern_text
    moved = tuple(replace(edit, start=edit.start - part.start, stop=edit.stop - part.start) for edit in edits)
    sql = f"PATTERN ({_in_line(edited(part.text, moved)).strip()})"
    return Relaxation(kind=kind, what=what, sql=sql, edits=edits, place=edits[0].start, group=group)


def _quantifiers(clause: MatchClause) -> Iterator[Relaxation]:
    """Other bounds of each quantifier and of each element without one; the least changes first."""
    source = clause.whole.source
    for node, is_bare in _repeatable(clause.pattern, is_bare=True):
        start, stop = node.place
        if isinstance(node, ast.Quantified):
            written = QUANTIFIER_TEXT.search(source[start:stop])
            if written is None:
                continue
            at, suffix = start + written.start(), written[2]
            element = _in_line(source[start:at])
            for least, most, group in _other_bounds(node.at_least, node.at_most):
                new = _written_bounds(least, most) + suffix
                what = f"with {element}{new} in place of {element}{written[0]}"
                yield _pattern(clause, what, QUANTIFIER, (Edit(at, stop, new),), f"{start} {group}")
        elif is_bare:
            element = _in_line(source[start:stop])
            for new in ("+", "?"):
                what = f"with {element}{new} in place of {element}"
                yield _pattern(clause, what, QUANTIFIER, (Edit(stop, stop, new),), f"{start} {new}")


def _repeatable(node: ast.Pattern, *, is_bare: bool) -> Iterator[tuple[ast.Pattern, bool]]:
    """The quantified parts, and the variables that map one row (`is_bare`)."""
    if isinstance(node, (ast.Quantified, ast.Variable)):
        yield node, is_bare
    for part in ast.mapped_parts(node):
        yield from _repeatable(part, is_bare=not isinstance(node, ast.Quantified))


def _other_bounds(least: int, most: int | None) -> Iterator[tuple[int, int | None, str]]:
    """Bounds that admit more, from the least change to the largest: of fewer rounds, and of more rounds."""
    for fewer in dict.fromkeys((least - 1, least - 2, least - 3, least // 2, 1, 0)):
        if 0 <= fewer < least:
            yield fewer, most, "fewer"
    if most is not None:
        for more in (most + 1, most + 2, most + 3, 2 * most):
            yield least, more, "more"
        yield least, None, "more"


def _written_bounds(least: int, most: int | None) -> str:
    """
    >>> [_written_bounds(*bounds) for bounds in ((0, None), (1, None), (0, 1), (2, 2), (2, None), (0, 3))]
    ['*', '+', '?', '{2}', '{2,}', '{0,3}']
    """
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if short is not None:
        return short
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


def _gaps(clause: MatchClause) -> Iterator[Relaxation]:
    source = clause.whole.source
    for node in ast.walk(clause.pattern):
        for item in node.items[1:] if isinstance(node, ast.Concatenation) else ():
            if not isinstance(item, (ast.Relaxed, ast.Absence, ast.PartitionStart, ast.PartitionEnd, ast.Empty)):
                element = _in_line(source[slice(*item.place)])
                what = f"with other rows before {element}"
                yield _pattern(clause, what, GAP, (Edit(item.place[0], item.place[0], "-> "),))


def _without_absences(clause: MatchClause) -> Iterator[Relaxation]:
    """For each absence and UNTIL: a condition of its variable that never holds."""
    conditions = {definition.variable.key: definition for definition in clause.definitions}
    for node in ast.walk(clause.pattern):
        if isinstance(node, (ast.Absence, ast.Until)) and node.variable.name in conditions:
            definition = conditions[node.variable.name]
            name, condition = definition.variable.fragment.text, definition.condition
            what = f"without {node.operator} {name}" if isinstance(node, ast.Absence) else f"without UNTIL {name}"
            yield Relaxation(
                kind=ABSENCE,
                what=what,
                sql=f"{name} AS FALSE",
                edits=(Edit(condition.start, condition.stop, "FALSE"),),
                place=condition.start,
            )


def _without_anchors(clause: MatchClause) -> Iterator[Relaxation]:
    for node in ast.walk(clause.pattern):
        if isinstance(node, (ast.PartitionStart, ast.PartitionEnd)):
            anchor = clause.whole.source[slice(*node.place)]
            yield _pattern(clause, f"without {anchor}", ANCHOR, (Edit(*node.place, ""),))


def _other_preferences(clause: MatchClause) -> Iterator[Relaxation]:
    """The patterns of the same rows that prefer other matches, and those whose possessive loops give rows back."""
    source = clause.whole.source
    for node in ast.walk(clause.pattern):
        if isinstance(node, ast.Alternation):
            texts = [source[slice(*item.place)] for item in node.items]
            for i in range(1, len(texts)):
                new = " | ".join([texts[i], *texts[:i], *texts[i + 1 :]])
                start, stop = node.items[0].place[0], node.items[-1].place[1]
                what = f"with {_in_line(texts[i])} preferred to {_in_line(texts[0])}"
                yield _pattern(clause, what, PREFERENCE, (Edit(start, stop, new),))
        elif isinstance(node, ast.Quantified):
            start, stop = node.place
            written = QUANTIFIER_TEXT.search(source[start:stop])
            if written is not None:
                suffix = "?" if node.mode == ast.GREEDY else ""
                new, old = source[start : start + written.start(2)] + suffix, source[start:stop]
                what = f"with {_in_line(new)} in place of {_in_line(old)}"
                yield _pattern(clause, what, PREFERENCE, (Edit(start, stop, new),))


# ORDER BY


def without_descending(clause: MatchClause) -> Relaxation | None:
    """ORDER BY with each key that is DESC in ascending order; None if there is none."""
    edits = []
    for key in clause.order_by:
        tokens = [token for token in tokenize(clause.whole.source) if token.start >= key.expression.stop][:1]
        edits += [Edit(token.start, token.stop, "ASC") for token in tokens if token.word == "DESC"]
    if not edits:
        return None
    start, stop = clause.order_by[0].expression.start, _end_of_order(clause)
    moved = tuple(replace(edit, start=edit.start - start, stop=edit.stop - start) for edit in edits)
    return Relaxation(
        kind=DIRECTION,
        what="with the rows in ascending order",
        sql=f"ORDER BY {_in_line(edited(clause.whole.source[start:stop], moved))}",
        edits=tuple(edits),
        place=start,
    )


def _end_of_order(clause: MatchClause) -> int:
    """The offset just past the last key of ORDER BY and its direction."""
    stop = clause.order_by[-1].expression.stop
    for token in tokenize(clause.whole.source):
        if token.start >= stop:
            if token.word not in ORDER_WORDS:
                break
            stop = token.stop
    return stop


def with_tie_order(clause: MatchClause, column: str, *, is_descending: bool) -> Relaxation:
    """ORDER BY with one more key, which orders the rows that are equal on the others."""
    text, stop = clause.whole.source, _end_of_order(clause)
    key = f", {quoted_if_needed(column)}{' DESC' if is_descending else ''}"
    written = text[clause.order_by[0].expression.start : stop]
    return Relaxation(
        kind=TIES,
        what=f"with the rows that tie ordered by {column}{' descending' if is_descending else ''}",
        sql=f"ORDER BY {_in_line(written)}{key}",
        edits=(Edit(stop, stop, key),),
        place=stop,
    )


def _in_line(text: str) -> str:
    """The text with its blanks outside of strings as single spaces.

    >>> _in_line("v >\\n  ' a  b '")
    "v > ' a  b '"
    """
    parts = re.split(r"""('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*")""", text.strip())
    return "".join(part if part[:1] in QUOTES and part else re.sub(r"\s+", " ", part) for part in parts)
