"""Checks, without types, the rules for a window with a row pattern, which are in one table, RULES.

The rules for every clause apply too.

Source: ISO/IEC 9075-2 <window specification>, Syntax Rules; Trino, StatementAnalyzer and PatternRecognitionAnalyzer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError, raise_all
from sqlext.pattern.cep.nfa_compile import is_contiguous
from sqlext.pattern.program import ast
from sqlext.rewriter.match import check
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.text.lexemes import lexemes

_OF_A_RESULT = {
    "MATCH_NUMBER": "a window has one match for each row, which has no number",
    "MATCH_ROWTIME": "a window is computed over finished tables, so its matches have no row time",
    "MATCH_TIMED_OUT": "a window has no WITHIN, so no match times out",
}

Errors = Iterator[SqlExtError]


def check_window(clause: MatchClause) -> None:
    """Raise BindError and UnsupportedError for every rule that the window breaks, all of them together."""
    raise_all([error for rule in (*check.RULES, *RULES) for error in rule(clause)])


def _no_anchors(clause: MatchClause) -> Errors:
    for node in ast.walk(clause.pattern):
        if isinstance(node, (ast.PartitionStart, ast.PartitionEnd)):
            written = "^" if isinstance(node, ast.PartitionStart) else "$"
            message = f"{written} is not allowed in the pattern of a window, which is matched inside the frame of a row"
            hint = "test for the edge of the partition in DEFINE, by a column that a subquery computes."
            yield BindError("ANCHOR_IN_WINDOW", message, place=Place(clause.whole.source, *node.place), hint=hint)


def _only_neighbours(clause: MatchClause) -> Errors:
    if not is_contiguous(clause.pattern):
        message = "->, ->>, ! and UNTIL are not built in the pattern of a window"
        hint = "use MATCH_RECOGNIZE, or write the rows in between as a variable: A X*? B."
        yield UnsupportedError("CONTIGUITY_IN_WINDOW", message, place=clause.pattern_text.place, hint=hint)


def _no_every_match(clause: MatchClause) -> Errors:
    after = clause.after_match
    if after is not None and after.mode.lists_all:
        message = "a row of a window has one match, so AFTER MATCH NO SKIP is not allowed there"
        yield BindError("NO_SKIP_IN_WINDOW", message, place=after.fragment.place, hint="write SKIP TO NEXT ROW.")


def _no_within(clause: MatchClause) -> Errors:
    if clause.within is not None:
        message = "WITHIN is not allowed in a window, whose frame bounds the match"
        hint = "write ROWS BETWEEN CURRENT ROW AND n FOLLOWING, or compare with FIRST(time) in DEFINE."
        yield UnsupportedError("WITHIN_IN_WINDOW", message, place=clause.within.bound.place, hint=hint)


def _no_values_of_results(clause: MatchClause) -> Errors:
    for fragment in [*(m.expression for m in clause.measures), *(d.condition for d in clause.definitions)]:
        parts = lexemes(fragment)
        for part, following in pairwise(parts):
            if part.word in _OF_A_RESULT and following.raw == "(":
                message = f"{part.word}() is not allowed in a window: {_OF_A_RESULT[part.word]}"
                yield BindError(
                    "VALUE_IN_WINDOW",
                    message,
                    place=Place(fragment.source, part.start, part.stop),
                    hint="use MATCH_RECOGNIZE.",
                )


RULES: tuple[Callable[[MatchClause], Errors], ...] = (
    _no_anchors,
    _only_neighbours,
    _no_every_match,
    _no_within,
    _no_values_of_results,
)
