"""Finds the names that are parameters of lambdas, as both x of `transform(xs, x -> x + 1)` are.

A parameter hides whatever else has its name, in any case of letters: a column, a relation, a pattern variable or a
SUBSET. Its scope begins after its arrow and ends with the argument that the lambda is. `tokenize` marks these names, so
that no reader of names has to know about lambdas.

Source: Spark, ResolveLambdaVariables, which looks up only the first part of a dotted name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

ARROW = "->"
_UNITS = frozenset({
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND",
})  # fmt: skip
_TAKES_UNIT = frozenset({
    "TIMESTAMPDIFF", "TIMESTAMPADD", "DATEDIFF", "DATE_DIFF", "DATEADD", "DATE_ADD", "TIMEDIFF",
})  # fmt: skip
# After these words is a field, a path, a type, an alias, a unit, a collation or a window; before these is a function or
# the name of an argument.
_BEFORE_OTHER_NAME = frozenset({".", ":", "::", "AS", "TO", "COLLATE", "OVER"})
_AFTER_OTHER_NAME = frozenset({"(", "=>"})


def parameters_of_lambdas(words: Sequence[str]) -> dict[int, int]:
    """The index of each word that is a parameter of a lambda → the index of the word that declares this parameter.

    `words`: the tokens as they are written.

    >>> parameters_of_lambdas("f ( a , ( x , Y ) -> x . a + y ( g ( a -> `A` . x ) ) ) + x".split())
    {5: 5, 7: 7, 10: 5, 18: 18, 20: 18}
    >>> parameters_of_lambdas("f ( d -> CAST ( d AS d ) + d '2026-01-01' + g ( d => 1 ) + x . d )".split())
    {2: 2, 6: 2}
    """
    declared_at: dict[int, int] = {}
    for arrow in (i for i, word in enumerate(words) if word == ARROW):
        declared = {_key(words[i]): i for i in _declarations(words, arrow)}
        for i in (*declared.values(), *range(arrow + 1, _end_of_argument(words, arrow + 1))):
            name = declared.get(_key(words[i]))
            if name is not None and (i < arrow or _is_use(words, i)):
                declared_at[i] = name  # of nested lambdas the inner one comes last
    return dict(sorted(declared_at.items()))


def _key(word: str) -> str:
    """A name as Spark compares it; other words are no names of parameters."""
    return (word[1:-1].replace(word[0] * 2, word[0]) if word[0] in '`"' else word).lower()


def _declarations(words: Sequence[str], arrow: int) -> Iterator[int]:
    """The parameters before an arrow: `x ->` or `(x, y) ->`."""
    i = arrow - 1
    if i >= 0 and words[i] == ")":
        while i > 0 and words[i - 1] != "(":
            i -= 1
        yield from (k for k in range(i, arrow - 1) if _may_name(words[k]))
    elif i >= 0 and _may_name(words[i]):
        yield i


def _may_name(word: str) -> bool:
    return word[0] in "`_" or word[0].isalpha()


def _end_of_argument(words: Sequence[str], i: int) -> int:
    """The index just past the argument in which word i is."""
    depth = 0
    while i < len(words):
        depth += words[i] in ("(", "[", "{")
        if depth == 0 and words[i] in (")", "]", "}", ",", ";"):
            return i
        depth -= words[i] in (")", "]", "}")
        i += 1
    return i


def _is_use(words: Sequence[str], i: int) -> bool:
    """Whether the word at i, which has the name of a parameter, reads it."""
    before, after = words[i - 1], words[i + 1] if i + 1 < len(words) else ""
    if before.upper() in _BEFORE_OTHER_NAME or after in _AFTER_OTHER_NAME:
        return False
    if words[i][0] == '"' and after != ".":  # a string
        return False
    is_of_literal = before[:1].isdigit() or before[:1] in ("'", '"') or after[:1] in ("'", '"')  # 5 day, date '…'
    return not is_of_literal and not _is_unit(words, i, after)


def _is_unit(words: Sequence[str], i: int, after: str) -> bool:
    """Whether the word at i is the unit of `EXTRACT(year FROM t)` or `dateadd(day, 1, t)`."""
    function = words[i - 2].upper() if i > 1 and words[i - 1] == "(" else ""
    is_first_of_three = function in _TAKES_UNIT and after == "," and words[i].upper() in _UNITS
    return is_first_of_three or (function == "EXTRACT" and after.upper() == "FROM")
