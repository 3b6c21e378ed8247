"""Applies conditions of the outer WHERE on partition columns before the match, as they hold for whole partitions.

    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym …) AS m WHERE m.sym = 'a' AND m.n > 2

reads `ticks WHERE (sym) = 'a'`. Spark's optimiser cannot move a condition past Python workers. The outer WHERE is left
unchanged, so any part of it may be copied. Only conjuncts that are clearly conditions on keys are copied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlext.errors import SqlExtError
from sqlext.expressions.spark_types import has_plain_equality
from sqlext.rewriter.conditions.condition_parts import TypeResolver
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.plain_conditions import compared_with_literals, compares_without_error
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.scalars.expression import Node, all_conjuncts, own_items, parse
from sqlext.rewriter.scalars.row_filter import Pushable, RowFilter
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.rewriter.text.tokens import Token, Tokens, words_of
from sqlext.rewriter.tree.statement_tree import MatchResult, Tree

_AFTER_RELATION = frozenset({"WHERE", "JOIN", "INNER", "CROSS", "LEFT", ","})
# With these words in the FROM clause, rows of the result may be missing from the join, padded, or changed.
_OPAQUE = frozenset({"ASOF", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "LATERAL", "PIVOT", "UNPIVOT", "FROM"})
_FUNCTIONS_WITHOUT_CALL = re.compile("USER|SESSION_USER|LOCALTIME|CURRENT_.*")


@dataclass(frozen=True)
class Filter:
    """A condition on partition key number `key`. `text` reads the input's columns; `literals` are the kinds of the
    literals that the key is compared with, as `compared_with_literals` returns them."""

    key: int
    text: Text
    literals: tuple[str, ...]

    def suits(self, spark_type: str) -> bool:
        """True if the condition certainly raises no error for any key of this type.

        Without pushdown, the outer WHERE might never read a key that causes an error, if its partition has no match.
        """
        return has_plain_equality(spark_type) and compares_without_error(spark_type, self.literals)


def pushed_down(
    plan: MatchPlan, tree: Tree, source: Source, resolver: TypeResolver, pushable: Callable[[Sequence[Text]], Pushable]
) -> MatchPlan:
    """The plan with the conditions of the outer WHERE that can be applied before the match. `pushable`: what a scan may
    filter by, for the conditions that read it."""
    candidates = filters(plan.clause, tree, source, [shown.name for shown in plan.shown])
    if not candidates:
        return plan
    keys = [source.of(key.expression) for key in plan.clause.partition_by]
    types = resolver.types(keys)
    texts = [f.text for f in candidates if f.suits(types[f.key]) and are_repeatable([keys[f.key]], resolver)]
    if not texts:
        return plan
    columns = pushable(texts)
    return replace(plan, filters=tuple(RowFilter(text, columns.filter(text)) for text in texts), pushable=columns)


def are_repeatable(expressions: Sequence[Text], resolver: TypeResolver) -> bool:
    """True if the expressions always have the same value for the same row.

    Spark allows only such expressions in an aggregate.
    """
    try:
        resolver.types([join("any_value(", expression, ")") for expression in expressions])
    except SqlExtError:
        return False
    return True


def filters(clause: MatchClause, tree: Tree, source: Source, names: Sequence[str]) -> tuple[Filter, ...]:
    """The conjuncts of the outer WHERE that read only one partition key and literals.

    `names`: the columns of the clause's result, beginning with its keys.

    >>> from sqlext.rewriter.match.parse_match import parse_match
    >>> from sqlext.rewriter.statements.scan import scan
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> clause = "MATCH_RECOGNIZE (PARTITION BY f(k) AS j PATTERN (A) DEFINE A AS a)"
    >>> text = f"SELECT * FROM t {clause} m WHERE m.j IN (1, 2) AND x > 1"
    >>> (site,) = scan(text)
    >>> tree = read_tree(text)
    >>> [str(f.text) for f in filters(parse_match(text, tree.tokens, site), tree, Source(text), ["j"])]
    ['(f(k)) IN (1, 2)']
    """
    result = tree.result(clause.keyword)
    where = _where(tree.tokens, result) if result else None
    if result is None or where is None:
        return ()
    shown = [name.lower() for name in (*result.columns, *names[len(result.columns) :])]
    keys = {n: i for i, n in enumerate(shown[: len(clause.partition_by)]) if shown.count(n) == 1}
    is_alone = not {"JOIN", ","} & set(_words_of_from(tree.tokens, result))
    scope = _Keys(result.alias, is_alone, keys)
    texts = [source.of(key.expression) for key in clause.partition_by]
    parts = lexemes(tree.fragment(*where), source)
    ranges = all_conjuncts(parts, 0, len(parts))
    conditions = (_filter(parts, lo, hi, source, scope, texts) for lo, hi in ranges)
    return tuple(condition for condition in conditions if condition is not None)


# the WHERE after a clause


def _where(tokens: Tokens, result: MatchResult) -> tuple[int, int] | None:
    """The tokens of the WHERE whose conditions may be applied before the joins; None if there is no such WHERE."""
    where = result.query.where
    if where is None or where[0] == where[1] or tokens[result.after].word not in _AFTER_RELATION:
        return None
    words = set(_words_of_from(tokens, result))
    if words & _OPAQUE or "LEFT" in words_of(_at(tokens, result.query.from_, result.start)):
        return None
    return where


def _words_of_from(tokens: Tokens, result: MatchResult) -> Iterator[str]:
    """The words of FROM outside of the clause, without words inside parentheses."""
    for lo, hi in ((result.query.from_ + 1, result.start), (result.after, result.query.from_stop)):
        yield from words_of(_at(tokens, lo, hi))


def _at(tokens: Tokens, lo: int, hi: int) -> list[Token]:
    return [t for t in tokens[lo:hi] if t.depth == tokens[lo].depth]


# one condition


@dataclass(frozen=True)
class _Keys:
    """The `number` of each key, by the key's lower-case name in the result.

    `alias` is the alias of the result, or "" if it has none.
    A key without a qualifier counts only if the result `is_alone` in FROM.
    """

    alias: str
    is_alone: bool
    number: dict[str, int]

    def key(self, node: Node, parts: Sequence[Lexeme]) -> int | None:
        """The number of the key whose name the node is; None for other nodes."""
        *qualifier, name = own_items(node, parts)
        if not qualifier:
            is_ours = self.is_alone and not _FUNCTIONS_WITHOUT_CALL.fullmatch(name.word)
        else:
            is_ours = len(qualifier) == 2 and unquoted(qualifier[0].raw).lower() == self.alias
        return self.number.get(unquoted(name.raw).lower()) if is_ours and node.kind in ("column", "field") else None


def _filter(
    parts: Sequence[Lexeme], lo: int, hi: int, source: Source, keys: _Keys, texts: Sequence[Text]
) -> Filter | None:
    """The filter that lexemes `lo` to `hi` are, if they compare one key with literals or test it for NULL; `texts` are
    the expressions of the keys."""
    node = parse(parts, lo, hi)
    node = node.children[0] if node.kind == "NOT" else node
    is_test = node.kind == "IS NULL"
    columns, literals = (node.children, []) if is_test else compared_with_literals(node, parts) or ([], [])
    key = keys.key(columns[0], parts) if len(columns) == 1 else None
    if key is None:
        return None
    column = columns[0]
    before = source.slice(parts[lo].start, parts[column.start].start)
    after = source.slice(parts[column.stop - 1].stop, parts[hi - 1].stop)
    return Filter(key, join(before, "(", texts[key], ")", after), tuple(literals))
