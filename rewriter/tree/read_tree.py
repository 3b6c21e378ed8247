"""Reads the structure of a statement from its tokens, once: where a clause begins, and to which relation it belongs.

Of Spark's own grammar, only the places where queries, relations, joins and CTEs begin and end are parsed. Each pair of
brackets is a level of its own, read from left to right, one token after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from sqlext.rewriter.text.names import name_at
from sqlext.rewriter.text.tokens import SYMBOL, Tokens, closing, is_at, tokenize
from sqlext.rewriter.tree.keywords import (
    TIME_JOINS,
    after_join,
    begins_query,
    ends_from,
    ends_operand,
    ends_query,
    ends_relations,
    first_word_of_join,
    is_surely_name,
    is_time_join,
)
from sqlext.rewriter.tree.read_names import BEFORE_RELATION, alias_of, ctes_of, table_of
from sqlext.rewriter.tree.statement_tree import Cte, Join, Query, Relation, Tree

# The part of a list of relations that a level is reading.
_RELATION, _PIVOT, _CRITERIA, _CONDITION = "relation", "PIVOT", "criteria", "condition"
_AFTER_RELATION = "after a relation"
_DISTANCE = "the distance after WITHIN"
# The kinds of lists of relations: a FROM, with joins on time; the one relation of USING or of a join after a pipe; the
# arguments of a table function; the relation after TABLE in such an argument.
_FROM, _SINGLE, _ARGUMENT, _DATA = "FROM", "single", "argument", "data"

_BEFORE_TABLE = frozenset({"", "(", ")", ",", "AS", "ALL", "FROM", "JOIN", "UNION", "EXCEPT", "INTERSECT", "MINUS"})


@lru_cache(maxsize=16)
def read_tree(text: str) -> Tree:
    """The structure of a statement. Raises ParseError (UNCLOSED_TEXT).

    >>> tree = read_tree("SELECT 1 FROM a JOIN (b ASOF JOIN c MATCH_CONDITION (b.t >= c.t)) x, d")
    >>> [tree.fragment(relation.start, relation.stop).text for relation in tree.relations]
    ['a', '(b ASOF JOIN c MATCH_CONDITION (b.t >= c.t)) x', 'b', 'c', 'd']
    >>> [tree.fragment(join.start, join.stop).text for join in tree.joins]
    ['b ASOF JOIN c MATCH_CONDITION (b.t >= c.t)']
    """
    tokens = tokenize(text)
    reader = _TreeReader(text=text, tokens=tokens)
    reader.read()
    relations = sorted((r for r in reader.relations if r.start < r.stop), key=lambda r: r.start)
    return Tree(
        text=text,
        tokens=tokens,
        relations=tuple(relation.frozen(tokens) for relation in relations),
        joins=tuple(join.frozen(tokens) for join in sorted(reader.joins, key=lambda join: join.keyword)),
        ctes=tuple(reader.ctes),
    )


@dataclass(eq=False, kw_only=True)
class _Query:
    """A `Query` that is being read; an end that is not known yet is -1."""

    select: int | None
    from_: int
    from_stop: int = -1
    where: tuple[int, int] | None = None
    stop: int = -1
    end: int = -1

    def frozen(self) -> Query:
        return Query(**vars(self))


@dataclass(eq=False, kw_only=True)
class _Relation:
    start: int
    query: _Query | None
    stop: int = -1
    clauses: list[int] = field(default_factory=list)

    def frozen(self, tokens: Tokens) -> Relation:
        return Relation(
            start=self.start,
            stop=self.stop,
            table=table_of(tokens, self.start, self.stop),
            aliases=tuple(alias_of(tokens, self.start, stop) for stop in (*self.clauses, self.stop)),
            clauses=tuple(self.clauses),
            query=self.query.frozen() if self.query else None,
        )


@dataclass(eq=False, kw_only=True)
class _Join:
    start: int
    first: int
    keyword: int
    query: _Query
    right: _Relation
    match_condition: tuple[int, int] | None = None
    within: tuple[int, int] | None = None
    on: tuple[int, int] | None = None
    using: tuple[int, int] | None = None
    aggregate: tuple[int, int] | None = None
    criteria: int = -1
    stop: int = -1

    def frozen(self, tokens: Tokens) -> Join:
        right = self.right.frozen(tokens) if self.right.start < self.right.stop else None
        return Join(**vars(self) | {"after": self.right.start, "query": self.query.frozen(), "right": right})


@dataclass(kw_only=True)
class _TreeReader:
    text: str
    tokens: Tokens
    relations: list[_Relation] = field(default_factory=list)
    joins: list[_Join] = field(default_factory=list)
    ctes: list[Cte] = field(default_factory=list)

    @cached_property
    def after_parentheses(self) -> list[int]:
        """For each token, the first token from there on that is no opening parenthesis."""
        after = [len(self.tokens)] * (len(self.tokens) + 1)
        for i in range(len(self.tokens) - 1, -1, -1):
            after[i] = after[i + 1] if self.tokens[i].text == "(" else i
        return after

    @cached_property
    def stops_of_with(self) -> dict[int, int]:
        """Each WITH → the first character after the scope of its CTEs, unless the scope ends with the text."""
        stops: dict[int, int] = {}
        open_: list[int] = []
        for i, token in enumerate(self.tokens):
            while open_ and token.depth - (token.text == ";") < self.tokens[open_[-1]].depth:
                stops[open_.pop()] = token.start
            if token.word == "WITH":
                open_.append(i)
        return stops

    def begins_query(self, i: int) -> bool:
        """The same as `keywords.begins_query`, but a run of parentheses is not read again for each of them."""
        return begins_query(self.tokens, self.after_parentheses[min(i, len(self.tokens))])

    def read(self) -> None:
        levels, i = [_Level(self, 0, len(self.tokens), is_query=True)], 0
        while levels:
            level = levels[-1]
            if i >= level.hi:
                levels.pop().end()
                i = level.hi + 1
            elif level.opens(i):
                levels.append(level.inner(i))
                i += 1
            else:
                i = level.step(i)


class _Level:
    """Tokens `lo` to `hi`, which are in the same brackets.

    `relations` is the kind of the list of relations that is being read, "" outside of one; `part` is the part of the
    list that is being read.
    """

    def __init__(
        self, reader: _TreeReader, lo: int, hi: int, *, is_query: bool, relations: str = "", outer: _Query | None = None
    ):
        self.reader, self.tokens, self.lo, self.hi, self.is_query = reader, reader.tokens, lo, hi, is_query
        self.queries: list[_Query] = []  # the queries of this level whose `end` is not known yet
        self.query: _Query | None = outer  # the query whose relations, or the clauses after them, are being read
        self.select: int | None = None
        self.statement = ""  # the last SELECT, MERGE or JOIN
        self.relations, self.part = relations, _AFTER_RELATION
        self.tree: int | None = None  # the start of the join tree that is being read, if joins on time can follow it
        self.relation = _Relation(start=lo, query=outer, stop=lo)
        self.join: _Join | None = None
        self.condition = -1
        self.is_in_values = False
        if relations:
            self._begin_tree(lo)

    def end(self) -> None:
        """End the level: all of it has been read."""
        self._end_query(self.hi)
        self._end_level(self.hi)

    def opens(self, i: int) -> bool:
        return self.tokens[i].kind == SYMBOL and any(c in "([{" for c in self.tokens[i].text)

    def inner(self, i: int) -> _Level:
        """The level inside the brackets that token i opens."""
        close = min(closing(self.tokens, i) or self.hi, self.hi)
        kind = self._relations_in(i)
        is_query = self.reader.begins_query(i + 1) or bool(kind)
        if kind and self.tokens[i + 1 : i + 2] and self.tokens[i + 1].word in ("SELECT", "WITH", "FROM", "TABLE"):
            kind = ""
        return _Level(self.reader, i + 1, close, is_query=is_query, relations=kind, outer=self.query if kind else None)

    def _relations_in(self, i: int) -> str:
        """The kind of the list of relations that may be in the parenthesis at token i, or ""."""
        if self.tokens[i].text != "(":
            return ""
        if self.relations and self.part == _RELATION:
            if i == self.relation.start:
                return _ARGUMENT if self.relations == _ARGUMENT else _FROM
            if all(t.word in BEFORE_RELATION for t in self.tokens[self.relation.start : i]):
                return _ARGUMENT
        return _ARGUMENT if i > self.lo and self._is_table(i - 1) else ""

    def _is_table(self, i: int) -> bool:
        """Whether token i is the TABLE of `TABLE t`, which reads a relation, and not the TABLE of CREATE TABLE."""
        return self.tokens[i].word == "TABLE" and (self.tokens[i - 1].word if i else "") in _BEFORE_TABLE

    def _is_data(self, i: int) -> bool:
        """Whether token i is the TABLE of an argument, as in `f(TABLE t, …)` and `f(x => TABLE t)`."""
        tokens, opening = self.tokens, self.lo - 1
        if tokens[i].word != "TABLE" or opening < 1 or i + 1 >= self.hi or tokens[opening].text != "(":
            return False
        is_call = tokens[opening - 1].is_name and tokens[opening - 1].word not in BEFORE_RELATION
        return is_call and tokens[i - 1].text in ("(", ",", "=>") and self.relations in ("", _DATA)

    def step(self, i: int) -> int:
        """Read token i and return the index after everything that was read."""
        tokens, word = self.tokens, self.tokens[i].word
        self.is_in_values &= not (word == "AS" or (tokens[i].is_name and i > 0 and tokens[i - 1].text == ")"))
        if word == "WITH":
            stop = self.reader.stops_of_with.get(i, len(self.reader.text))
            self.reader.ctes += ctes_of(self.reader.text, tokens, i, stop)
        if word in (";", ")", "]", "}"):  # a bracket that nothing opens
            self._end_query(i)
            self._end_level(i)
        elif word == "JOIN" or is_time_join(tokens, i):
            return self._join_at(i) if tokens[i - 1].text != "." else i + 1
        elif self._is_data(i):
            self._begin_relations(i, _DATA)
            self._begin_tree(i + 1)
        elif self.relations == _DATA and (
            word == "," or (is_at(tokens, i, "PARTITION", "BY") and i > self.relation.start)
        ):
            self._end_from(i)
        elif self._is_table(i) and not (self.relations and i == self.relation.start):
            self._read_table(i)
        elif self._is_missing_relation(i):
            self._in_relations(i, word)
        elif is_surely_name(tokens, i):
            pass
        elif word == "FROM" and self.is_query and (i == 0 or tokens[i - 1].word != "DISTINCT"):
            self._begin_from(i)
        elif word == "SELECT" or is_at(tokens, i, "MERGE", "INTO"):
            self._end_from(i)
            self.select = i if word == "SELECT" else self.select
            self.is_query = True
            self.statement = word
        elif word == "USING" and self.statement == "MERGE":
            self._begin_relations(i, _SINGLE)
            self._begin_tree(i + 1)
        elif ends_query(tokens, i):
            self._end_query(i)
        elif ends_from(tokens, i):
            self._end_from(i)
        elif self.relations:
            return self._in_relations(i, word)
        return i + 1

    # queries

    def _begin_from(self, i: int) -> None:
        self._begin_relations(i, _FROM)
        self._begin_tree(i + 1)

    def _begin_relations(self, i: int, kind: str) -> None:
        self._end_from(i)
        self.query = _Query(select=self.select if kind == _FROM else None, from_=i)
        self.queries.append(self.query)
        self.relations = kind

    def _end_from(self, i: int) -> None:
        """End the relations, or a clause after them, before token i."""
        self._end_part(i)
        self.relations, self.tree = "", None
        query = self.query
        if query is not None and self.queries and self.queries[-1] is query:  # and not the query around the level
            if query.where is not None and query.where[1] < 0:
                query.where = (query.where[0], i)
            elif query.from_stop < 0 and is_at(self.tokens, i, "WHERE"):
                query.where = (i + 1, -1)
            query.from_stop = i if query.from_stop < 0 else query.from_stop

    def _end_query(self, i: int) -> None:
        self._end_from(i)
        for query in reversed(self.queries):
            if query.stop >= 0:  # The earlier queries have ended too.
                break
            query.stop = i
        self.query, self.select, self.statement = None, None, ""

    def _end_level(self, i: int) -> None:
        """End all queries of this level at token i."""
        for query in self.queries:
            query.end = i
        self.queries = []

    # relations

    def _begin_tree(self, i: int) -> None:
        self.tree = i if self.relations == _FROM else None
        self.join = None
        self._begin_relation(i)

    def _begin_relation(self, i: int) -> None:
        self.relation = _Relation(start=i, query=self.query)
        self.reader.relations.append(self.relation)
        self.part = _RELATION
        self.is_in_values = is_at(self.tokens, i, "VALUES")

    def _read_table(self, i: int) -> None:
        name = name_at(self.tokens, i + 1)
        if name is not None:
            self.reader.relations.append(_Relation(start=i + 1, query=None, stop=i + 2 * len(name.parts)))

    def _end_part(self, i: int) -> None:
        """End the relation or the condition that is being read before token i."""
        if self.part == _RELATION:
            self.relation.stop = i
        if self.join is not None and self.part == _RELATION:
            self.join.criteria = self.join.stop = i
        elif self.join is not None and self.part == _DISTANCE:
            self.join.within = (self.condition, i)
            self.join.criteria = self.join.stop = i
        elif self.join is not None and self.part == _CONDITION:
            self.join.on, self.join.stop = (self.condition, i), i
        self.part = _AFTER_RELATION

    def _is_missing_relation(self, i: int) -> bool:
        """Whether token i, where a relation should begin, is a word that can only follow a relation."""
        if not self.relations or i != self.relation.start or self.join is None:
            return False
        return self.tokens[i].word in ("ON", "USING") or is_at(self.tokens, i, "MATCH_CONDITION", "(")

    def _in_relations(self, i: int, word: str) -> int:
        """Read token i of a list of relations and return the index after everything that was read."""
        tokens = self.tokens
        if word == ",":
            if self.relations != _SINGLE and not self.is_in_values:
                self._end_part(i)
                self._begin_tree(i + 1)
        elif word in ("MATCH_RECOGNIZE", "MATCH_RULES") and self._is_clause(i):
            self._take_clause(i)
        elif self.part == _RELATION and is_at(tokens, i, "MATCH_CONDITION", "("):
            return self._match_condition(i)
        elif self.part in (_RELATION, _CRITERIA, _DISTANCE) and word in ("ON", "USING"):
            return self._criteria(i)
        elif self.part == _CONDITION and word in ("AGGREGATE", "INCLUDING") and ends_operand(tokens, i - 1):
            return self._aggregate(i)
        elif ends_relations(tokens, i):
            is_pivot = self.part == _RELATION and word != "LATERAL"
            self._end_part(i)
            self.part, self.tree = (_PIVOT, self.tree) if is_pivot else (_AFTER_RELATION, None)
            self.relations = "" if word == "LATERAL" else self.relations
        elif self.part == _CRITERIA:
            self.part = _AFTER_RELATION
        return i + 1

    def _is_clause(self, i: int) -> bool:
        """Whether a MATCH_RECOGNIZE at token i can read the relation that is being read."""
        if self.part not in (_RELATION, _PIVOT) or self.relations == _ARGUMENT or i == self.relation.start:
            return False
        is_after_relation = ends_operand(self.tokens, i - 1) or is_surely_name(self.tokens, i - 1)
        return is_at(self.tokens, i + 1, "(") and is_after_relation and self.tokens[i - 1].word not in ("AS", "OF")

    def _take_clause(self, i: int) -> None:
        self.relation.clauses.append(i)
        if self.part == _PIVOT:
            self.part = _RELATION

    # joins

    def _join_at(self, keyword: int) -> int:
        """Read the keyword of a join and return the index after it."""
        first = first_word_of_join(self.tokens, keyword)
        right = after_join(self.tokens, keyword) or keyword + 1
        self.tree = None if self.part == _PIVOT else self.tree
        start, query = self.tree, self.query
        if not self.relations:
            self._begin_relations(first, _SINGLE)
        else:
            self._end_part(first)
        self.statement = "JOIN"
        self._begin_relation(right)
        self.join = None
        if start is not None and start < first and query is not None and ends_operand(self.tokens, first - 1):
            self.join = _Join(start=start, first=first, keyword=keyword, query=query, right=self.relation)
            if self.tokens[keyword].word in TIME_JOINS:
                self.reader.joins.append(self.join)
        return right

    def _match_condition(self, i: int) -> int:
        self._end_part(i)
        if self.join is None or self.tokens[self.join.keyword].word != "ASOF":
            return i + 1
        close = closing(self.tokens, i + 1)
        after = close + 1 if close else self.hi
        self.join.match_condition = (i, after)
        self.join.stop = self.join.criteria = after
        self.part = _CRITERIA
        if after < self.hi and is_at(self.tokens, after, "WITHIN"):
            self.part, self.condition = _DISTANCE, after + 1
        return i + 1

    def _criteria(self, i: int) -> int:
        self._end_part(i)
        if self.join is not None and self.join.criteria != i:
            return i + 1
        if self.tokens[i].word == "ON":
            self.part, self.condition = _CONDITION, i + 1
        elif is_at(self.tokens, i + 1, "(") and self.join is not None:
            close = closing(self.tokens, i + 1)
            self.join.using = (i + 2, self.hi if close is None else close)
            self.join.stop = self.join.using[1] + 1
        return i + 1

    def _aggregate(self, i: int) -> int:
        """Read AGGREGATE (…) INCLUDING PREVAILING after the condition of a join on time; no operand of a condition ends
        before such a word."""
        if self.join is None or self.tokens[self.join.keyword].word not in TIME_JOINS:
            return i + 1
        self._end_part(i)
        opening = i + (self.tokens[i].word == "AGGREGATE")
        close = closing(self.tokens, opening) if is_at(self.tokens, opening, "(") else None
        stop = opening if close is None else close + 1
        stop += is_at(self.tokens, stop, "INCLUDING")
        stop += is_at(self.tokens, stop, "PREVAILING") and self.tokens[stop - 1].word == "INCLUDING"
        self.join.aggregate, self.join.stop = (i, stop), stop
        return i + 1
