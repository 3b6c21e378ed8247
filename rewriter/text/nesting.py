"""Limits how deep a statement with clauses of this package may nest.

Parts of the code that reads it are recursive, or read inner brackets again for each level around them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.text.tokens import Token

MAX_BRACKETS = 250  # around a token
MAX_NESTING = 100  # CASE and BEGIN around a token; operators and functions inside one another

T = TypeVar("T")


def first_too_deep(tokens: Sequence[Token]) -> int | None:
    """The first token inside more than MAX_BRACKETS brackets, or more than MAX_NESTING CASE and BEGIN, or None.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> first_too_deep(tokenize("(" * 250 + "a" + ")" * 250)), first_too_deep(tokenize("CASE " * 101))
    (None, 100)
    """
    blocks = 0
    for i, token in enumerate(tokens):
        before = tokens[i - 1].word if i else ""
        if token.word in ("CASE", "BEGIN") and before not in ("END", "."):
            blocks += 1
        elif token.word == "END" and blocks and before != ".":
            blocks -= 1
        if token.depth > MAX_BRACKETS or blocks > MAX_NESTING:
            return i
    return None


def check_depth(text: str, tokens: Sequence[Token]) -> None:
    """Raise UnsupportedError (TOO_DEEP) for a statement of ours that nests too deep."""
    deep = first_too_deep(tokens)
    if deep is not None:
        raise UnsupportedError(
            "TOO_DEEP",
            f"a statement with these clauses nests at most {MAX_BRACKETS} brackets and {MAX_NESTING} CASE or BEGIN",
            place=Place(text, tokens[deep].start, tokens[deep].stop),
            hint="give inner parts a name in WITH, or store them as views.",
        )


def balanced(operands: Sequence[T], combine: Callable[[T, T], T]) -> T:
    """The operands of an associative operator, in their order, combined in a tree of the least possible depth.

    >>> balanced("abcde", "({} {})".format)
    '(((a b) (c d)) e)'
    """
    level = list(operands)
    while len(level) > 1:
        pairs = [combine(a, b) for a, b in zip(level[::2], level[1::2])]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]
