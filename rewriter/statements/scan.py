"""Detects statements with parts of the extended language, such as clauses and joins."""

from __future__ import annotations

import re

from sqlext.rewriter.match.sites import holds_pattern, scan
from sqlext.rewriter.statements.kinds import KINDS
from sqlext.rewriter.text.nesting import check_depth, first_too_deep
from sqlext.rewriter.text.tokens import GAP, Tokens, is_at, tokenize

_STATEMENTS = (r"EXPLAIN \bMATCH\b", r"\bPATTERN \bRULES?\b")
_CANDIDATE = re.compile(
    "|".join([*(kind.words for kind in KINDS), *_STATEMENTS]).replace(" ", f"{GAP}*"), re.IGNORECASE | re.DOTALL
)


def might_be_extended(text: str) -> bool:
    """False if a statement is surely not extended, so that it need not be tokenized; True decides nothing.

    False for nearly all ordinary statements.

    >>> might_be_extended("SELECT 1"), might_be_extended("SELECT 'match_recognize'")
    (False, True)
    """
    return _CANDIDATE.search(text) is not None


def is_extended(text: str) -> bool:
    """Return True if a statement has parts of ours. Raises what `scan` raises, and UnsupportedError (TOO_DEEP)."""
    if not might_be_extended(text):
        return False
    tokens = tokenize(text)
    is_ours = any(kind.begins(tokens, i) for kind in KINDS if kind.begins is not None for i in range(len(tokens)))
    if first_too_deep(tokens) is None:
        return is_ours or bool(scan(text))
    if is_ours or any(_is_surely_clause(tokens, i) for i in range(len(tokens))):
        check_depth(text, tokens)
    return False


def _is_surely_clause(tokens: Tokens, i: int) -> bool:
    return is_at(tokens, i, "MATCH_RECOGNIZE", "(") and holds_pattern(tokens, i + 1)
