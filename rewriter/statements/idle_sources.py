"""Parses `relation WATERMARK time DELAY OF interval IDLE AFTER interval`, and keeps the place of each part."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import ParseError
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import NUMBER, STRING, Tokens, is_at
from sqlext.rewriter.tree.keywords import INTERVAL_UNITS
from sqlext.rewriter.tree.read_clauses import read_clauses
from sqlext.rewriter.tree.read_names import table_of
from sqlext.rewriter.tree.statement_tree import Tree

_BEFORE = frozenset({"FROM", "JOIN", ",", "TABLE", "USING", "LATERAL", "=>"})
_HINT = "write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS IDLE AFTER INTERVAL 5 MINUTES [AS alias]."


@dataclass(frozen=True, kw_only=True)
class IdleSource:
    """`relation` WATERMARK `time` [AS `name`] DELAY OF `delay` `clause`; `clause` is IDLE AFTER `idle`.

    `whole` ends before an alias. `own_name` is the name of the table if no alias follows, "" with an alias or for a
    subquery.
    """

    whole: Fragment
    relation: Fragment
    time: Fragment
    name: Fragment | None
    delay: Fragment
    clause: Fragment
    idle: Fragment
    own_name: str


def is_idle_after(tokens: Tokens, i: int) -> bool:
    """Whether token i begins the IDLE AFTER of a WATERMARK; everywhere else IDLE is a name.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> text = "FROM STREAM t WATERMARK ts DELAY OF INTERVAL 1 SECOND IDLE AFTER INTERVAL 1 DAY"
    >>> is_idle_after(tokenize(text), 10), is_idle_after(tokenize("SELECT idle after FROM t"), 1)
    (True, False)
    """
    return is_at(tokens, i, "IDLE", "AFTER") and _watermark(tokens, i) is not None


def _watermark(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """The tokens WATERMARK and DELAY of the clause that ends before token i, or None if there is no such clause."""
    depth, delay = tokens[i].depth, None
    for k in range(i - 1, 0, -1):
        if tokens[k].depth < depth or tokens[k].text == ";":
            return None
        if tokens[k].depth > depth:
            continue
        if delay is None and is_at(tokens, k, "DELAY", "OF"):
            delay = k
        elif tokens[k].word == "WATERMARK":
            return None if delay is None else (k, delay)
    return None


def parse_idle_sources(tree: Tree) -> tuple[IdleSource, ...]:
    """The idle sources of a statement; a source inside the relation of another comes before it. Raises ParseError.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT * FROM STREAM a.t WATERMARK ts DELAY OF INTERVAL 1 DAY IDLE AFTER INTERVAL 1 MINUTE 30 SECONDS"
    >>> (source,) = parse_idle_sources(read_tree(text))
    >>> source.relation.text, source.time.text, source.delay.text, source.idle.text, source.own_name
    ('STREAM a.t', 'ts', 'INTERVAL 1 DAY', 'INTERVAL 1 MINUTE 30 SECONDS', 't')
    >>> parameters = ("?", ":d", "INTERVAL :n MINUTES 3 SECONDS")
    >>> texts = (f"FROM STREAM t WATERMARK ts DELAY OF ? IDLE AFTER {parameter} AS s" for parameter in parameters)
    >>> [parse_idle_sources(read_tree(text))[0].idle.text for text in texts] == list(parameters)
    True
    """
    keywords = (i for i in range(len(tree.tokens)) if is_idle_after(tree.tokens, i))
    return read_clauses(keywords, lambda keyword: _source(tree, keyword))


def _source(tree: Tree, idle: int) -> IdleSource:
    tokens, bounds = tree.tokens, _watermark(tree.tokens, idle)
    assert bounds is not None
    watermark, delay = bounds
    start, stop = _start(tokens, watermark), _after_interval(tree, idle)
    if start == watermark or delay == watermark + 1:
        raise _error(tree, "MISPLACED_CLAUSE", "WATERMARK belongs after a relation, and needs a column", watermark)
    is_named = delay - watermark > 3 and tokens[delay - 2].word == "AS"
    table = table_of(tokens, start, watermark)
    return IdleSource(
        whole=tree.fragment(start, stop),
        relation=tree.fragment(start, watermark),
        time=tree.fragment(watermark + 1, delay - 2 if is_named else delay),
        name=tree.fragment(delay - 1, delay) if is_named else None,
        delay=tree.fragment(delay + 2, idle),
        clause=tree.fragment(idle, stop),
        idle=tree.fragment(idle + 2, stop),
        own_name="" if table is None or _has_alias(tree, start, stop) else table.parts[-1],
    )


def _error(tree: Tree, error_class: str, message: str, i: int) -> ParseError:
    return ParseError(error_class, message, place=tree.fragment(i, i + 1).place, hint=_HINT)


def _start(tokens: Tokens, watermark: int) -> int:
    """The first token of the relation before WATERMARK."""
    depth, start = tokens[watermark].depth, watermark
    while (
        start
        and tokens[start - 1].depth >= depth
        and not (tokens[start - 1].depth == depth and tokens[start - 1].word in _BEFORE)
    ):
        start -= 1
    return start


def _after_interval(tree: Tree, idle: int) -> int:
    """The index after the interval of IDLE AFTER, or after the parameter in its place."""
    tokens, is_parameter = tree.tokens, any(is_at(tree.tokens, idle + 2, marker) for marker in ("?", ":"))
    if not is_parameter and not is_at(tokens, idle + 2, "INTERVAL"):
        raise _error(tree, "IDLE_INTERVAL", "IDLE AFTER needs an interval", idle + 1)
    first = i = idle + 2 if is_parameter else idle + 3
    while i < len(tokens) and (tokens[i].kind in (NUMBER, STRING) or tokens[i].text in ("-", "+", "?", ":")):
        i += 1 + (tokens[i].text == ":")  # the name of a parameter
        if i < len(tokens) and tokens[i].word in INTERVAL_UNITS:
            i += 3 if is_at(tokens, i + 1, "TO") else 1
    if i == first or i > len(tokens):
        raise _error(tree, "IDLE_INTERVAL", "IDLE AFTER needs an interval", idle + 2)
    return i


def _has_alias(tree: Tree, start: int, stop: int) -> bool:
    """Whether an alias follows the relation at tokens `start` to `stop`."""
    around = [r for r in tree.relations if r.start <= start < r.stop and stop <= r.stop]
    relation = max(around, key=lambda r: r.start, default=None)
    alias = relation.aliases[0] if relation is not None else None
    return alias is not None and alias.name >= stop
