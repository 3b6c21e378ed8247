"""Parses `AGGREGATE (call AS name, …) [INCLUDING PREVAILING]` after the condition of an INTERVAL JOIN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.errors import ParseError, Place, SqlExtError, raise_all
from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.names import name_of, unquoted
from sqlext.rewriter.text.tokens import closed, closing, is_at, split_at_commas
from sqlext.rewriter.tree.keywords import begins_join, ends_from, ends_relations
from sqlext.rewriter.tree.statement_tree import Join, Tree

_EXAMPLE = "write AGGREGATE (sum(b.v) AS total, count(*) AS n)"
_BEFORE_PARENTHESIS = (("FILTER",), ("WITHIN", "GROUP"))
_NULLS = ("IGNORE", "RESPECT")


@dataclass(frozen=True, kw_only=True)
class RangeAggregate:
    """`call AS name`: `call` is an aggregate with its FILTER, `function` its name in lower case."""

    call: Fragment
    function: str
    name: Name


@dataclass(frozen=True, kw_only=True)
class AggregateClause:
    """`whole` is the clause with INCLUDING PREVAILING, if `is_prevailing`; `keyword` is AGGREGATE; `inside` is what is
    between its parentheses."""

    whole: Fragment
    keyword: Fragment
    inside: Fragment
    aggregates: tuple[RangeAggregate, ...]
    is_prevailing: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the aggregates, as written without quotes."""
        return tuple(aggregate.name.text for aggregate in self.aggregates)


def parse_aggregates(tree: Tree, join: Join) -> AggregateClause | None:
    """The clause of a join; None if it has none. Raises ParseError (JOIN_AGGREGATE), all of the clause together.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "FROM a INTERVAL JOIN b ON a.t = b.t AGGREGATE (sum(v) FILTER (WHERE v > 0) AS s, count(*) AS n) WHERE 1"
    >>> tree = read_tree(text)
    >>> clause = parse_aggregates(tree, tree.join_at(2))
    >>> [(a.call.text, a.name.text) for a in clause.aggregates]
    [('sum(v) FILTER (WHERE v > 0)', 's'), ('count(*)', 'n')]
    """
    if join.aggregate is None:
        return None
    lo, hi = join.aggregate
    tokens = tree.tokens
    opening = lo + 1
    if tokens[lo].word == "INCLUDING":
        raise _error(tree, lo, hi, "INCLUDING PREVAILING follows AGGREGATE (…)", f"{_EXAMPLE} INCLUDING PREVAILING.")
    if not is_at(tokens, opening, "("):
        raise _error(tree, lo, lo + 1, "the parentheses of AGGREGATE are missing", f"{_EXAMPLE}.")
    close = closed(tree.text, tokens, opening)
    errors: list[SqlExtError] = []
    aggregates = []
    for bounds in split_at_commas(tokens, opening + 1, close):
        try:
            aggregates.append(_aggregate(tree, *bounds))
        except ParseError as error:
            errors.append(error)
    errors += _repeated_names(aggregates)
    errors += _after(tree, close + 1, hi)
    raise_all(errors)
    return AggregateClause(
        whole=tree.fragment(lo, hi),
        keyword=tree.fragment(lo, lo + 1),
        inside=tree.fragment(opening + 1, close),
        aggregates=tuple(aggregates),
        is_prevailing=close + 1 < hi,
    )


def _aggregate(tree: Tree, lo: int, hi: int) -> RangeAggregate:
    tokens = tree.tokens
    if lo == hi:
        raise _error(tree, lo - 1, lo, "an aggregate is missing here", f"{_EXAMPLE}.")
    if hi - lo < 3 or tokens[hi - 2].word != "AS" or not tokens[hi - 1].is_name:
        written = tree.fragment(lo, hi).in_line
        raise _error(tree, lo, hi, "each aggregate needs a name after AS", f"write {written} AS name.")
    call = tree.fragment(lo, hi - 2)
    if not tokens[lo].is_name or not is_at(tokens, lo + 1, "(") or _end_of_call(tree, lo + 1) != hi - 2:
        raise _error(
            tree, lo, hi - 2, f"{call.in_line} is not one call of an aggregate",
            "give each aggregate a name here, and compute with the names in SELECT.",
        )  # fmt: skip
    function = unquoted(tokens[lo].text).lower()
    return RangeAggregate(call=call, function=function, name=name_of(tree.text, tokens[hi - 1]))


def _end_of_call(tree: Tree, opening: int) -> int:
    """The token after a call whose parentheses begin at `opening`, with WITHIN GROUP, IGNORE NULLS and FILTER."""
    tokens, i = tree.tokens, opening
    while True:
        i = (closing(tokens, i) or len(tokens)) + 1
        while tokens[i : i + 1] and tokens[i].word in _NULLS and is_at(tokens, i + 1, "NULLS"):
            i += 2
        words = next((w for w in _BEFORE_PARENTHESIS if is_at(tokens, i, *w, "(")), None)
        if words is None:
            return i
        i += len(words)


def _repeated_names(aggregates: list[RangeAggregate]) -> Iterator[ParseError]:
    counts = Counter(aggregate.name.text.lower() for aggregate in aggregates)
    seen: set[str] = set()
    for aggregate in aggregates:
        name = aggregate.name.text.lower()
        if counts[name] > 1 and name in seen:
            place = aggregate.name.fragment.place
            yield ParseError("JOIN_AGGREGATE", f"two aggregates have the name {name}", place=place, hint="rename one.")
        seen.add(name)


def _after(tree: Tree, after: int, stop: int) -> Iterator[ParseError]:
    """The error for words after the parentheses that are not INCLUDING PREVAILING, or that no clause begins with."""
    tokens = tree.tokens
    if after < stop and not is_at(tokens, after, "INCLUDING", "PREVAILING"):
        yield _error(tree, after, stop, "PREVAILING does not follow INCLUDING", "write INCLUDING PREVAILING.")
    elif stop < len(tokens) and not _ends(tree, stop):
        yield _error(
            tree, stop, stop + 1, f"{tokens[stop].text} cannot follow AGGREGATE (…)",
            "write further conditions into ON, and to name the result a subquery: FROM (SELECT * FROM …) AS name.",
        )  # fmt: skip


def _ends(tree: Tree, i: int) -> bool:
    tokens = tree.tokens
    ends = ends_from(tokens, i) or begins_join(tokens, i) or ends_relations(tokens, i)
    return ends or tokens[i].text in (")", ",") or tokens[i].word in ("LATERAL", "ON", "USING", "WHEN")


def _error(tree: Tree, lo: int, hi: int, message: str, hint: str) -> ParseError:
    first, last = tree.tokens[lo], tree.tokens[hi - 1]
    return ParseError("JOIN_AGGREGATE", message, place=Place(tree.text, first.start, last.stop), hint=hint)
