"""The names that Spark gives to the fields of `struct(a, f(b))`, `(a, f(b))` and `arrays_zip(a, f(b))`, for arguments
that are replaced.

Spark names a field after the column that it is, else by its number. A column that replaces an argument has a generated
name, so it gets the name of what it replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlext.rewriter.scalars.expression import holds_query
from sqlext.rewriter.scalars.references import Item, Reference, closing_item
from sqlext.rewriter.text.lexemes import BEFORE_ALL_COLUMNS, Lexeme
from sqlext.rewriter.text.names import only_column, quoted, unquoted
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.text.tokens import CLOSING, OPENING

# What is before a parenthesis around a row, `(a, b)`. After a name or IN it is around arguments.
_BEFORE_ROW = frozenset(["", *"([,=<>", "==", "<=", ">=", "<>", "!=", "<=>", "->", "=>",
                         "AND", "OR", "NOT", "WHEN", "THEN", "ELSE", "BETWEEN"])  # fmt: skip


def field_naming(items: Sequence[Item]) -> Callable[[Text, int, int, str | None], Text]:
    """A function that names a text as the field, if what it replaces among `items` is one of a struct.

    Its arguments are the text, the first character of what it replaces and the one after it, and the name of the column
    that this is; None if it is another expression.
    """
    words = ["" if isinstance(item, Reference) else item.raw for item in items]
    first = {item.start: i for i, item in enumerate(items)}
    after = {item.stop: i + 1 for i, item in enumerate(items)}
    return lambda text, start, stop, column: _named_field(text, words, first[start], after[stop], column)


def _named_field(text: Text, words: Sequence[str], lo: int, hi: int, column: str | None) -> Text:
    """`text`, which replaces words `lo` to `hi` of an expression, named as the field if they are one of a struct.

    `column`: the name of the column that these words are; None if they are another expression.

    >>> words = "struct ( A.v , LAST(v) ) IN ( ( B.v , 1 ) )".split()
    >>> [str(_named_field(join("s"), words, *at)) for at in ((2, 3, "v"), (4, 5, None), (9, 10, "v w"))]
    ['s AS `v`', 's AS `col2`', 's AS `v w`']
    >>> [str(_named_field(join("s"), f.split(), 2, 3, "v")) for f in ("f ( A.v , 1 )", "struct ( A.v + 1 )")]
    ['s', 's']
    >>> str(_named_field(join("s"), "arrays_zip ( A.v , LAST(v) )".split(), 4, 5, None))
    'struct(s AS `1`).`1`'
    """
    first = lo
    while _word(words, lo - 1) == "(" and _word(words, hi) == ")" and _word(words, lo - 2) in ("(", ","):
        lo, hi = lo - 1, hi + 1  # the parentheses of `struct((a), b)`
    before, after = _word(words, lo - 1), _word(words, hi)
    if before not in ("(", ",") or after not in (")", ","):
        return text
    opening, number = _opening(words, lo)
    function = unquoted(_word(words, opening - 1)).upper()
    is_row = function in _BEFORE_ROW and (number > 1 or after == ",")
    if _word(words, opening - 2) == "." or not (is_row or function in ("STRUCT", "ARRAYS_ZIP")):
        return text
    if column is not None and only_column(str(text)) == column:
        return text  # Spark names the field so itself
    unnamed = str(number - 1) if function == "ARRAYS_ZIP" else f"col{number}"
    name = quoted(unnamed if column is None else column)
    if function == "ARRAYS_ZIP" or lo < first:  # where no alias may be; Spark names a field after a field, too
        return join("struct(", text, f" AS {name}).{name}")
    return join(text, f" AS {name}")


def free_stars(items: Sequence[Item]) -> Iterator[Lexeme]:
    """The stars that mean all columns, outside of subqueries, navigations and aggregates."""
    i = 0
    while i < len(items):
        item, before = items[i], items[i - 1] if i else None
        if isinstance(item, Lexeme) and item.raw == "(" and holds_query(items[i : i + 2]):
            i = closing_item(items, i)
        elif (
            isinstance(item, Lexeme)
            and item.raw == "*"
            and isinstance(before, Lexeme)
            and before.word in BEFORE_ALL_COLUMNS
        ):
            yield item
        i += 1


def _word(words: Sequence[str], i: int) -> str:
    return words[i].upper() if 0 <= i < len(words) else ""


def _opening(words: Sequence[str], i: int) -> tuple[int, int]:
    """The index of the parenthesis around word i, -1 if there is none, and the number of the argument that it is in."""
    depth, number = 0, 1
    for k in range(i - 1, -1, -1):
        if words[k] in CLOSING:
            depth += 1
        elif words[k] in OPENING:
            if depth == 0:
                return k, number
            depth -= 1
        elif words[k] == "," and depth == 0:
            number += 1
    return -1, number
