"""Detects statements that use the extended language; all other statements are left to Spark."""

from __future__ import annotations

import re

from sqlext.errors import ParseError, Place
from sqlext.rewriter.match.sites import holds_pattern, scan
from sqlext.rewriter.statements.analyze_statement import parse_analyze
from sqlext.rewriter.statements.kinds import KINDS
from sqlext.rewriter.statements.why_statement import parse_why
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.nesting import first_too_deep, too_deep
from sqlext.rewriter.text.tokens import Tokens, is_at, tokenize, without_semicolons

_GAP = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_STATEMENTS = (r"EXPLAIN \bMATCH\b", r"\bPATTERN \bRULES?\b")
_CANDIDATE = re.compile(
    "|".join([*(kind.words for kind in KINDS), *_STATEMENTS]).replace(" ", _GAP), re.IGNORECASE | re.DOTALL
)


def might_be_extended(text: str) -> bool:
    """False if a statement is surely not extended, so that it need not be tokenized; True decides nothing.

    False for nearly all ordinary statements.

    >>> might_be_extended("SELECT 1"), might_be_extended("SELECT 'match_recognize'")
    (False, True)
    """
    return _CANDIDATE.search(text) is not None


def explained(text: str) -> Fragment | None:
    """The statement after EXPLAIN MATCH, or the query of EXPLAIN MATCH WHY or ANALYZE; None for all other text. Raises
    ParseError if EXPLAIN MATCH is repeated, and what `parse_why` and `parse_analyze` raise.

    >>> explained("EXPLAIN MATCH SELECT 1;").text
    'SELECT 1'
    """
    if not might_be_extended(text):
        return None
    tokens = tokenize(text)
    if [t.word for t in tokens[:2]] != ["EXPLAIN", "MATCH"]:
        return None
    if (analyze := parse_analyze(text)) is not None:
        return analyze.query
    if is_at(tokens, 2, "EXPLAIN", "MATCH"):
        place = Place(text, tokens[2].start, tokens[3].stop)
        raise ParseError(
            "UNEXPECTED_WORD", "EXPLAIN MATCH is written twice", place=place, hint="leave one of them out."
        )
    why = parse_why(text)
    if why is not None:
        return why.query
    end = len(without_semicolons(tokens))
    return Fragment.of_tokens(text, tokens, 2, end) if end > 2 else None


def is_extended(text: str) -> bool:
    """Whether a statement uses the extended language. Raises what `scan` raises, and UnsupportedError (TOO_DEEP)."""
    if not might_be_extended(text):
        return False
    tokens = tokenize(text)
    is_ours = explained(text) is not None or any(
        kind.begins(tokens, i) for kind in KINDS if kind.begins is not None for i in range(len(tokens))
    )
    deep = first_too_deep(tokens)
    if deep is None:
        return is_ours or bool(scan(text))
    if is_ours or any(_is_surely_clause(tokens, i) for i in range(len(tokens))):
        raise too_deep(text, tokens[deep])
    return False


def _is_surely_clause(tokens: Tokens, i: int) -> bool:
    return is_at(tokens, i, "MATCH_RECOGNIZE", "(") and holds_pattern(tokens, i + 1)
