"""The names that Spark gives to the fields of `struct(a, f(b))` and `(a, f(b))`, for arguments that are replaced.

Spark names a field after the column that it is, else by its number. A column that replaces an argument has a generated
name, so it gets the name of what it replaces.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.rewriter.text.names import quoted, unquoted

_OPENING, _CLOSING = "([{", ")]}"
# What is before a parenthesis around a row, `(a, b)`. After a name or IN it is around arguments.
_BEFORE_ROW = frozenset(["", *"([,=<>", "==", "<=", ">=", "<>", "!=", "<=>", "->", "=>",
                         "AND", "OR", "NOT", "WHEN", "THEN", "ELSE", "BETWEEN"])  # fmt: skip


def field_alias(words: Sequence[str], lo: int, hi: int, column: str | None) -> str:
    """` AS name` if words `lo` to `hi` of an expression are a field of a struct, otherwise nothing.

    `column`: the name of the column that these words are, as written; None if they are another expression.

    >>> words = "struct ( A.v , LAST(v) ) IN ( ( B.v , 1 ) )".split()
    >>> field_alias(words, 2, 3, "v"), field_alias(words, 4, 5, None), field_alias(words, 9, 10, "`v w`")
    (' AS `v`', ' AS col2', ' AS `v w`')
    >>> field_alias("f ( A.v , 1 )".split(), 2, 3, "v"), field_alias("struct ( A.v + 1 )".split(), 2, 3, "v")
    ('', '')
    """
    before, after = _word(words, lo - 1), _word(words, hi)
    if before not in ("(", ",") or after not in (")", ","):
        return ""
    opening, number = _opening(words, lo)
    is_row = _word(words, opening - 1) in _BEFORE_ROW and (number > 1 or after == ",")
    is_struct = unquoted(_word(words, opening - 1)).upper() == "STRUCT" and _word(words, opening - 2) != "."
    if not (is_row or is_struct):
        return ""
    return f" AS {f'col{number}' if column is None else quoted(unquoted(column))}"


def is_all_columns(before: str) -> bool:
    """Whether `*` after the word `before` means all columns. It multiplies after an operand.

    >>> is_all_columns("("), is_all_columns("v")
    (True, False)
    """
    return before in ("(", ",", ".")


def _word(words: Sequence[str], i: int) -> str:
    return words[i].upper() if 0 <= i < len(words) else ""


def _opening(words: Sequence[str], i: int) -> tuple[int, int]:
    """The index of the parenthesis around word i, -1 if there is none, and the number of the argument that it is in."""
    depth, number = 0, 1
    for k in range(i - 1, -1, -1):
        if words[k] and words[k] in _CLOSING:
            depth += 1
        elif words[k] and words[k] in _OPENING:
            if depth == 0:
                return k, number
            depth -= 1
        elif words[k] == "," and depth == 0:
            number += 1
    return -1, number
