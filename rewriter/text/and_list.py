"""Splits a condition at its ANDs; no other module does so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import CLOSING, OPENING, QUERY_STARTS, tokenize, words_of


def top_level(words: Sequence[str]) -> Iterator[int]:
    """The indexes of the words outside all parentheses and CASE expressions; words after a dot are left out.

    >>> words = "F ( A ) = CASE B END AND T . OR".split()
    >>> [words[i] for i in top_level(words)]
    ['F', '(', ')', '=', 'AND', 'T', '.']
    """
    depth = cases = 0
    for i, word in enumerate(words):
        depth -= word[:1] in CLOSING
        if not depth and words[i - 1 : i] != ["."]:
            if word == "CASE":
                cases += 1
            elif word == "END" and cases:
                cases -= 1
            elif not cases:
                yield i
        depth += word[:1] in OPENING


def split_at_and(words: Sequence[str]) -> list[tuple[int, int]]:
    """The ranges of words between the ANDs at the top of a condition; one range if its top is OR.

    `words` are in upper case; a token that is neither a word nor a symbol is "". The AND of a BETWEEN splits nothing.
    A range is empty where AND lacks an operand.

    >>> split_at_and("A AND B BETWEEN 1 AND 2 AND ( C AND D )".split())
    [(0, 1), (2, 7), (8, 13)]
    >>> split_at_and("A AND B OR C".split())
    [(0, 5)]
    """
    ranges, start, open_betweens = [], 0, 0
    for i in top_level(words):
        if words[i] == "OR":
            return [(0, len(words))]
        if words[i] == "BETWEEN":
            open_betweens += 1
        elif words[i] == "AND" and open_betweens:
            open_betweens -= 1
        elif words[i] == "AND":
            ranges.append((start, i))
            start = i + 1
    return [*ranges, (start, len(words))]


def split_at_all_ands(words: Sequence[str]) -> list[tuple[int, int]]:
    """The ranges of words between the ANDs at the top of a condition and at the top of its members in parentheses. The
    parentheses belong to no range, but a member that is no list of ANDs keeps its own.

    >>> words = "( A AND ( B AND ( C OR D ) ) )".split()
    >>> [" ".join(words[lo:hi]) for lo, hi in split_at_all_ands(words)]
    ['A', 'B', '( C OR D )']
    """
    unread, members = [(0, len(words))], []
    while unread:
        member = unread.pop()
        lo, hi = _without_parentheses(words, *member)
        ranges = [(lo + first, lo + stop) for first, stop in split_at_and(words[lo:hi])]
        if len(ranges) == 1 or any(first == stop for first, stop in ranges):
            members.append(member)
        else:
            unread += reversed(ranges)
    return members


def and_list(condition: Fragment) -> tuple[Fragment, ...]:
    """The members of `a AND b AND …`, without parentheses around them; one member where the top is not AND.

    >>> text = "a AND (b BETWEEN 1 AND 2 AND (CASE WHEN c AND d THEN e END)) AND (f OR g)"
    >>> [c.text for c in and_list(Fragment(text, 0, len(text)))]
    ['a', 'b BETWEEN 1 AND 2', 'CASE WHEN c AND d THEN e END', 'f OR g']
    >>> [c.text for c in and_list(Fragment("a AND b OR c", 0, 12))]
    ['a AND b OR c']
    """
    tokens = tokenize(condition.text)
    words = words_of(tokens)
    members = (_without_parentheses(words, *member) for member in split_at_all_ands(words))
    return tuple(condition.part(tokens, lo, hi) if lo < hi else condition for lo, hi in members)


def without_parentheses(expression: Fragment) -> Fragment:
    """The expression without the parentheses around all of it, if there are any; a subquery keeps its parentheses.

    >>> without_parentheses(Fragment("((a) + b)", 0, 9)).text
    '(a) + b'
    """
    tokens = tokenize(expression.text)
    lo, hi = _without_parentheses(words_of(tokens), 0, len(tokens))
    return expression if hi - lo == len(tokens) else expression.part(tokens, lo, hi)


def _without_parentheses(words: Sequence[str], lo: int, hi: int) -> tuple[int, int]:
    while hi - lo > 2 and words[lo] == "(" and words[lo + 1] not in QUERY_STARTS:
        if next((i for i in top_level(words[lo:hi]) if i), None) != hi - lo - 1:
            break
        lo, hi = lo + 1, hi - 1
    return lo, hi


def same_words(a: Fragment, b: Fragment) -> bool:
    """Whether two expressions have the same words; the case of names and keywords is ignored."""
    return normal_words(a) == normal_words(b)


def normal_words(expression: Fragment) -> tuple[str, ...]:
    """The key by which expressions are compared: their tokens, with names and keywords in upper case."""
    tokens = tokenize(without_parentheses(expression).text)
    return tuple(t.word or t.text for t in tokens)
