"""Detects statements that use the extended language; all other statements are left to Spark."""

from __future__ import annotations

import re

from sqlext.errors import ParseError, Place
from sqlext.rewriter.emit.emit_clause import is_emit
from sqlext.rewriter.emit.window_call import DURATIONS, is_ksql_window, is_window_call
from sqlext.rewriter.match.sites import KEYWORD, holds_pattern, scan
from sqlext.rewriter.rules.rules_clause import is_rules_clause
from sqlext.rewriter.statements.analyze_statement import parse_analyze
from sqlext.rewriter.statements.idle_sources import is_idle_after
from sqlext.rewriter.statements.why_statement import parse_why
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.nesting import first_too_deep, too_deep
from sqlext.rewriter.text.tokens import Tokens, tokenize
from sqlext.rewriter.tree.keywords import TYPE_WORDS, is_at, is_time_join
from sqlext.rewriter.tree.read_windows import pattern_windows

_BLANK = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_TYPES = "|".join(sorted(TYPE_WORDS))
_CANDIDATE = re.compile(
    rf"{KEYWORD}|\bMATCH_RULES\b|\bPATTERN{_BLANK}\(|\b(?:DEFINE|MEASURES)\b"
    rf"|(?:INTERVAL|ASOF){_BLANK}\b(?:{_TYPES}|JOIN)\b"
    rf"|EXPLAIN{_BLANK}\bMATCH\b|\bPATTERN{_BLANK}\bRULES?\b|\b(?:{'|'.join(DURATIONS)}){_BLANK}\(|\bEMIT\b"
    rf"|\bWINDOW{_BLANK}\b(?:TUMBL|HOPP)ING\b|\bIDLE{_BLANK}\bAFTER\b",
    re.IGNORECASE | re.DOTALL,
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
    end = len(tokens)
    while end and tokens[end - 1].text == ";":
        end -= 1
    return _fragment(text, tokens, 2, end)


def is_extended(text: str) -> bool:
    """Whether a statement uses the extended language. Raises what `scan` raises, and UnsupportedError (TOO_DEEP)."""
    if not might_be_extended(text):
        return False
    tokens = tokenize(text)
    is_ours = explained(text) is not None or any(pattern_windows(tokens)) or any(
        begins(tokens, i) for i in range(len(tokens)) for begins in _BEGINNINGS
    )  # fmt: skip
    deep = first_too_deep(tokens)
    if deep is None:
        return is_ours or bool(scan(text))
    if is_ours or any(_is_surely_clause(tokens, i) for i in range(len(tokens))):
        raise too_deep(text, tokens[deep])
    return False


_BEGINNINGS = (is_time_join, is_window_call, is_emit, is_ksql_window, is_idle_after, is_rules_clause)


def _is_surely_clause(tokens: Tokens, i: int) -> bool:
    return is_at(tokens, i, "MATCH_RECOGNIZE", "(") and holds_pattern(tokens, i + 1)


def _fragment(text: str, tokens: Tokens, lo: int, hi: int) -> Fragment | None:
    """Tokens `lo` to `hi` (exclusive); None if there are none."""
    return Fragment(text, tokens[lo].start, tokens[hi - 1].stop) if lo < hi else None
