"""Conditions between two relations: which of them can compute an expression, and what a comparison compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlext.rewriter.text.and_list import top_level
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import tokenize, words_of

LEFT, RIGHT, BOTH, NEITHER = "left", "right", "both", "neither"
SideOf = Callable[[Fragment], str]  # which relation alone can compute it: BOTH for constants, NEITHER if it needs both

_EQUAL = frozenset({"=", "=="})
_NULL_SAFE = ("IS", "NOT", "DISTINCT", "FROM")
_ORDERED = frozenset({">=", ">", "<=", "<"})
# An expression with one of these at its top is more than a comparison.
_LOOSER = frozenset({"AND", "OR", "NOT", "IS", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "ESCAPE",
                     "<>", "!=", "!", "|>"})  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """`operator` is `=`, `<=>`, `>=`, `>`, `<=` or `<`."""

    left: Fragment
    operator: str
    right: Fragment


def compared(condition: Fragment) -> Comparison | None:
    """The comparison that a condition is; None if it is anything else.

    >>> def shown(text):
    ...     found = compared(Fragment(text, 0, len(text)))
    ...     return found and (found.left.text, found.operator, found.right.text)
    >>> shown("a.x + 1 == (b.y = 2)"), shown("a.x IS NOT DISTINCT FROM b.y"), shown("NOT a = b"), shown("a = b = c")
    (('a.x + 1', '=', '(b.y = 2)'), ('a.x', '<=>', 'b.y'), None, None)
    """
    tokens = tokenize(condition.text)
    top = list(top_level(words_of(tokens)))
    words = [tokens[i].word for i in top]
    starts = [k for k, word in enumerate(words) if word in _EQUAL | _ORDERED | {"<=>"}]
    length, operator = 1, ""
    for k in range(len(words) - 3):
        if tuple(words[k : k + 4]) == _NULL_SAFE:
            starts.append(k)
            length, operator = 4, "<=>"
    if len(starts) != 1 or any(w in _LOOSER for k, w in enumerate(words) if not starts[0] <= k < starts[0] + length):
        return None
    first, last = top[starts[0]], top[starts[0] + length - 1]
    if first == 0 or last + 1 == len(tokens):
        return None
    word = words[starts[0]]
    return Comparison(
        condition.part(tokens, 0, first),
        operator or ("=" if word in _EQUAL else word),
        condition.part(tokens, last + 1, len(tokens)),
    )
