"""A bound of a range as something plus constants: `a.t - INTERVAL '5' MINUTES` is `a.t`, 5 minutes before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.rewriter.text.and_list import normal_words, top_level, without_parentheses
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import lexemes
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.text.tokens import tokenize, words_of
from sqlext.rewriter.tree.keywords import ends_operand

_UNITS = frozenset(
    f"{unit}{s}"
    for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
    for s in ("", "S")
)
_CONSTANT_WORDS = _UNITS | {"INTERVAL", "TO", "MAKE_DT_INTERVAL", "MAKE_YM_INTERVAL"}


@dataclass(frozen=True)
class Term:
    sign: int
    expression: Fragment


@dataclass(frozen=True)
class Offset:
    """`others`: the terms that are not constant; `constants`: those that are."""

    others: tuple[Term, ...]
    constants: tuple[Term, ...]

    @property
    def base(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """What is not constant, to be compared with that of another bound."""
        return tuple((term.sign, normal_words(term.expression)) for term in self.others)


def offset(bound: Fragment, source: Source) -> Offset:
    """The bound as a sum; what `source` edits (bound parameters) is constant.

    >>> text = "5 + (a.t - INTERVAL 2 DAYS)"
    >>> found = offset(Fragment(text, 0, len(text)), Source(text))
    >>> found.base, [(t.sign, t.expression.text) for t in found.constants]
    (((1, ('A', '.', 'T')),), [(1, '5'), (-1, 'INTERVAL 2 DAYS')])
    """
    terms = list(_terms(bound, 1))
    others = tuple(t for t in terms if not _is_constant(t.expression, source))
    return Offset(others, tuple(t for t in terms if t not in others))


def _terms(sum_: Fragment, sign: int) -> Iterator[Term]:
    """The terms of sums and differences, also in parentheses."""
    sum_ = without_parentheses(sum_)
    tokens = tokenize(sum_.text)
    signs = (i for i in top_level(words_of(tokens)) if i and tokens[i].text in ("+", "-"))
    operators = [i for i in signs if ends_operand(tokens, i - 1)]
    if not operators:
        yield Term(sign, sum_)
        return
    at = [-1, *operators, len(tokens)]
    for lo, hi in zip(at, at[1:]):  # noqa: RUF007
        own = -sign if lo >= 0 and tokens[lo].text == "-" else sign
        yield from _terms(sum_.part(tokens, lo + 1, hi), own)


def _is_constant(expression: Fragment, source: Source) -> bool:
    return all(x.is_parameter or not x.is_name or x.word in _CONSTANT_WORDS for x in lexemes(expression, source))
