"""The structure of a statement as values: queries, relations, joins and CTEs over the indexes of its tokens.

All indexes are indexes of tokens; ends are exclusive. `read_tree` makes a tree; nothing else reads structure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.names import RelationName, unquoted
from sqlext.rewriter.text.tokens import QUERY_STARTS, Token, Tokens, closing, index_at
from sqlext.rewriter.tree.keywords import is_star


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query that reads relations.

    `select` is its SELECT, or None if it has none before FROM (`FROM t |> …`, `MERGE … USING t`, `|> JOIN t`); `from_`
    is its FROM, USING or JOIN. FROM ends at `from_stop`; `where` is the condition that follows WHERE. The query ends
    at `stop`, where a set operation or a pipe may follow; `end` is the closing parenthesis or semicolon after all of
    these.
    """

    select: int | None
    from_: int
    from_stop: int
    where: tuple[int, int] | None
    stop: int
    end: int


@dataclass(frozen=True)
class Alias:
    """The tokens of an alias: its name and the columns that it names."""

    name: int
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Relation:
    """One relation of a FROM, `[LATERAL | STREAM] relation [MATCH_RECOGNIZE (…)] [alias]`, at tokens `start` to `stop`.

    `table` is the name of the table that it reads, or None for a subquery, a function or VALUES. `aliases` has one
    entry for each MATCH_RECOGNIZE, the alias of its input, and a last one for the whole relation. `clauses` are the
    indexes of the words MATCH_RECOGNIZE. A PIVOT belongs to the relation only if a MATCH_RECOGNIZE reads it.
    """

    start: int
    stop: int
    table: RelationName | None
    aliases: tuple[Alias | None, ...]
    clauses: tuple[int, ...] = ()
    query: Query | None = None


@dataclass(frozen=True, kw_only=True)
class Join:
    """A join on time.

    `first` is the first word of its type, `keyword` is INTERVAL or ASOF, `after` is the first token after JOIN. The
    left operand, the whole join tree before the join, begins at `start` and ends at `first`. `right` is None if no
    relation follows. `match_condition` is the range of tokens of MATCH_CONDITION (…), `within` the range of the
    distance after its WITHIN, `on` the range of the condition after ON, `using` the range between the parentheses of
    USING, `aggregate` the range of AGGREGATE (…) INCLUDING PREVAILING. `criteria` is the first token after the
    relation, its MATCH_CONDITION and WITHIN; the join ends at `stop`.
    """

    start: int
    first: int
    keyword: int
    after: int
    right: Relation | None
    match_condition: tuple[int, int] | None
    within: tuple[int, int] | None
    on: tuple[int, int] | None
    using: tuple[int, int] | None
    aggregate: tuple[int, int] | None
    criteria: int
    stop: int
    query: Query


@dataclass(frozen=True, kw_only=True)
class Cte:
    """`definition` is `name [(columns)] [AS] (query)` as written; `query` is inside its parentheses.

    The CTE can be named before character `scope_stop` of the statement.
    """

    name: Name
    definition: Fragment
    query: Fragment
    is_recursive: bool
    scope_stop: int


@dataclass(frozen=True, kw_only=True)
class Site:
    """A clause `relation keyword ( body )`; `whole` is all of it.

    `opening` and `closing` are the indexes of the tokens of the parentheses.
    """

    keyword: Fragment
    relation: Fragment
    body: Fragment
    whole: Fragment
    depth: int
    opening: int
    closing: int


@dataclass(frozen=True, kw_only=True)
class MatchResult:
    """The result of a MATCH_RECOGNIZE as a relation of its SELECT: tokens `start` to `after`, alias included.

    `alias` is "" if there is none. `columns` are the names of columns in the alias. Both are in lower case.
    """

    query: Query
    select: int
    start: int
    after: int
    alias: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The structure of the statement `text`. Relations and joins are in the order of their first words."""

    text: str
    tokens: Tokens
    relations: tuple[Relation, ...]
    joins: tuple[Join, ...]
    ctes: tuple[Cte, ...]

    def fragment(self, lo: int, hi: int) -> Fragment:
        """Tokens `lo` to `hi`; the range has at least one token."""
        return Fragment.of_tokens(self.text, self.tokens, lo, hi)

    def join_at(self, keyword: int) -> Join | None:
        """The join whose keyword is token `keyword`; None if it joins no relations of a FROM."""
        return self._joins.get(keyword)

    def relation_of(self, keyword: int) -> Relation | None:
        """The relation that the MATCH_RECOGNIZE at token `keyword` reads or is a part of; None if there is none."""
        return self._relations.get(keyword)

    @cached_property
    def _joins(self) -> dict[int, Join]:
        return {join.keyword: join for join in self.joins}

    @cached_property
    def _relations(self) -> dict[int, Relation]:
        return {keyword: relation for relation in self.relations for keyword in relation.clauses}

    def relation_at(self, fragment: Fragment) -> Relation | None:
        """The relation that is exactly this piece of the statement, or None."""
        span = index_at(self.tokens, fragment.start), index_at(self.tokens, fragment.stop)
        return next((relation for relation in self.relations if (relation.start, relation.stop) == span), None)

    def name_of(self, relation: Relation) -> Token | None:
        """The token of the name that qualifies the columns of a whole relation: its alias, or the table's own name.

        None if the relation has neither.

        >>> from sqlext.rewriter.tree.read_tree import read_tree
        >>> def name(relation):
        ...     tree = read_tree(f"FROM {relation}")
        ...     token = tree.name_of(tree.relations[0])
        ...     return token and token.text
        >>> [name(r) for r in ("db.a", "db.a AS x", "(SELECT 1) x (c, d)", "a VERSION AS OF 3 x", "range(3)", "(a)")]
        ['a', 'x', 'x', 'x', None, None]
        >>> [name(r) for r in ("a TABLESAMPLE (5 ROWS)", "STREAM a WATERMARK t DELAY OF INTERVAL 5 SECONDS AS x")]
        ['a', 'x']
        """
        alias = relation.aliases[-1]
        if alias is not None:
            return self.tokens[alias.name]
        if relation.table is None or relation.clauses:
            return None
        return self.tokens[index_at(self.tokens, relation.table.stop) - 1]

    def tables(self) -> Iterator[RelationName]:
        """The names of tables, views and CTEs that the statement reads, in the order of the text."""
        return (relation.table for relation in self.relations if relation.table is not None)

    def is_bare(self, table: RelationName) -> bool:
        """Whether a relation is only this table's name, so that the name qualifies its columns."""
        relation = next(relation for relation in self.relations if relation.table == table)
        stop = [*relation.clauses, relation.stop][0]
        return self.tokens[stop - 1].stop == table.stop

    def around(self, query: Query, start: int) -> list[Relation]:
        """The relations of a query's FROM whose parentheses contain token `start`, the innermost first."""
        around = (r for r in self.relations if r.query == query and r.start < start < r.stop)
        return sorted((r for r in around if self.tokens[r.start].text == "("), key=lambda r: -r.start)

    def result(self, keyword: Fragment) -> MatchResult | None:
        """The result of a MATCH_RECOGNIZE as a relation of the SELECT around it.

        None unless the clause is in the FROM of a SELECT, outside of parentheses.

        >>> from sqlext.rewriter.tree.read_tree import read_tree
        >>> text = "SELECT 1 FROM t MATCH_RECOGNIZE (PATTERN (A)) AS m (a, b) WHERE x"
        >>> tree = read_tree(text)
        >>> result = tree.result(Fragment(text, 16, 31))
        >>> result.alias, result.columns, tree.tokens[result.after].text
        ('m', ('a', 'b'), 'WHERE')
        """
        i = index_at(self.tokens, keyword.start)
        relation = self.relation_of(i)
        query = relation.query if relation is not None else None
        if relation is None or query is None or query.select is None:
            return None
        depth = self.tokens[i].depth
        before = [t for t in self.tokens[query.select : query.from_] if t.depth == depth]
        if self.tokens[query.from_].depth != depth or any(t.word == "FROM" for t in before):
            return None
        number = relation.clauses.index(i) + 1
        close = closing(self.tokens, i + 1) or len(self.tokens)
        alias, after = relation.aliases[number], [*relation.clauses, relation.stop][number]
        if alias is None or alias.name - close > 1 + (self.tokens[close + 1].word == "AS"):  # a TABLESAMPLE before it
            alias, after = None, close + 1
        return MatchResult(
            query=query,
            select=query.select,
            start=relation.start,
            after=after,
            alias=self.key(alias.name) if alias else "",
            columns=tuple(map(self.key, alias.columns)) if alias else (),
        )

    def key(self, i: int) -> str:
        """A name without its quotes, in lower case."""
        return unquoted(self.tokens[i].text).lower()

    def stars(self, query: Query) -> Iterator[int]:
        """The stars of the query itself, without the stars in its FROM or in a subquery."""
        i = query.from_ if query.select is None else query.select
        while i < query.stop:
            if i == query.from_:
                i = query.from_stop
                continue
            if self.tokens[i].text == "(" and self.tokens[i + 1 : i + 2] and self.tokens[i + 1].word in QUERY_STARTS:
                i = closing(self.tokens, i) or query.stop
            elif is_star(self.tokens, i):
                yield i
            i += 1
