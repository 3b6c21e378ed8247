"""Applies conditions of the outer WHERE on partition columns before the match, as they hold for whole partitions.

    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym …) AS m WHERE m.sym = 'a' AND m.n > 2

reads `ticks WHERE (sym) = 'a'`. Spark's optimiser cannot move a condition past Python workers. The outer WHERE is left
unchanged, so any part of it may be copied. Only conjuncts that are clearly conditions on keys are copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlext.errors import SqlExtError
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, MAX_DIGITS, TIME_TYPES, decimal_of, has_plain_equality
from sqlext.rewriter.conditions.condition_parts import TypeResolver
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.scalars.expression import COMPARISONS
from sqlext.rewriter.text.and_list import split_at_and
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.rewriter.text.tokens import Token, Tokens, words_of
from sqlext.rewriter.tree.statement_tree import MatchResult, Tree

_AFTER_RELATION = frozenset({"WHERE", "JOIN", "INNER", "CROSS", "LEFT", ","})
# With these words in the FROM clause, rows of the result may be missing from the join, padded, or changed.
_OPAQUE = frozenset({"ASOF", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "LATERAL", "PIVOT", "UNPIVOT", "FROM"})
_FUNCTIONS_WITHOUT_CALL = re.compile("USER|SESSION_USER|LOCALTIME|CURRENT_.*")
_NUMBER = re.compile(r"-? ?(\d{1,18}|\d{1,9}\.\d{1,9})(L|S|Y|BD)?", re.IGNORECASE)
_STRING = re.compile(r"'([^'\\]|\\.|'')*'", re.DOTALL)
_TYPED = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ) ?'[^'\\]*'", re.IGNORECASE)
_TIME = re.compile(r"'(\d{4}-\d\d-\d\d)( \d\d:\d\d:\d\d(\.(\d{3}|\d{6}))?)?'")


@dataclass(frozen=True)
class Filter:
    """A condition on partition key number `key`. `text` reads the input's columns.

    `literals` are the kinds of the literals that the key is compared with: "number", "string", "date string",
    "time string", "date", "time", "boolean", "null" or "pattern".
    """

    key: int
    text: Text
    literals: tuple[str, ...]

    def suits(self, spark_type: str) -> bool:
        """True if the condition certainly raises no error for any key of this type.

        Without pushdown, the outer WHERE might never read a key that causes an error, if its partition has no match.
        """
        return has_plain_equality(spark_type) and compares_without_error(spark_type, self.literals)


def compares_without_error(spark_type: str, literals: Iterable[str]) -> bool:
    """True if comparing a value of this type with literals of these kinds certainly raises no error.

    >>> compares_without_error("timestamp", ["time string"]), compares_without_error("int", ["string"])
    (True, False)
    """
    if spark_type == "string":
        allowed = {"string", "date string", "time string", "pattern"}
    elif spark_type in TIME_TYPES:
        allowed = {"date", "time", "date string"} | ({"time string"} if spark_type != "date" else set())
    elif spark_type == "boolean":
        allowed = {"boolean"}
    else:
        digits = decimal_of(spark_type)
        is_number = spark_type in (*INTEGER_BITS, *FLOATS) or (digits and digits[0] <= MAX_DIGITS)
        allowed = {"number"} if is_number else set()
    return set(literals) <= allowed | {"null"}


def pushed_down(plan: MatchPlan, tree: Tree, source: Source, resolver: TypeResolver) -> MatchPlan:
    """The plan with the conditions of the outer WHERE that can be applied before the match."""
    candidates = filters(plan.clause, tree, source, [shown.name for shown in plan.shown])
    if not candidates:
        return plan
    keys = [source.of(key.expression) for key in plan.clause.partition_by]
    types = resolver.types(keys)
    texts = [f.text for f in candidates if f.suits(types[f.key]) and are_repeatable([keys[f.key]], resolver)]
    return replace(plan, filters=(*plan.filters, *texts))


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
    conditions = []
    tokens = tree.tokens[slice(*where)]
    for lo, hi in split_at_and(words_of(tokens)):
        if lo == hi:
            continue
        conjunct = Fragment.of_tokens(tree.text, tokens, lo, hi)
        condition = _condition(conjunct, source, scope)
        if condition is not None:
            key = clause.partition_by[condition.key].expression
            start, stop = condition.column
            text = join(
                source.slice(conjunct.start, start),
                "(",
                source.of(key),
                ")",
                source.slice(stop, conjunct.stop),
            )
            conditions.append(Filter(condition.key, text, condition.literals))
    return tuple(conditions)


# the WHERE after a clause


def _where(tokens: Tokens, result: MatchResult) -> tuple[int, int] | None:
    """The tokens of the WHERE whose conditions may be applied before the joins; None if there is no such WHERE."""
    if result.query.where is None or tokens[result.after].word not in _AFTER_RELATION:
        return None
    words = set(_words_of_from(tokens, result))
    if words & _OPAQUE or "LEFT" in words_of(_at(tokens, result.query.from_, result.start)):
        return None
    return result.query.where


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


@dataclass(frozen=True)
class _Condition:
    """A condition on key number `key`. `column`: the start and end offset of the key's name in the user's text."""

    key: int
    column: tuple[int, int]
    literals: tuple[str, ...]


def _condition(conjunct: Fragment, source: Source, keys: _Keys) -> _Condition | None:
    """The condition of a conjunct, or None if the conjunct has none of these shapes:

    `key op literal`, `literal op key`, `key [NOT] BETWEEN … AND …`, `key [NOT] IN (…)`, `key IS [NOT] NULL`,
    `key [NOT] LIKE '…'`
    """
    parts = lexemes(conjunct, source)
    column = _column(parts, keys)
    if column is not None:
        length, key = column
        literals = _compared_with(parts[length:])
        place = parts[0].start, parts[length - 1].stop
        return None if literals is None else _Condition(key, place, literals)
    for i, part in enumerate(parts):
        column = _column(parts[i + 1 :], keys)
        if part.raw in COMPARISONS and column is not None and len(parts) == i + 1 + column[0]:
            kind = literal_kind(parts[:i])
            place = parts[i + 1].start, parts[-1].stop
            return _Condition(column[1], place, (kind,)) if kind else None
    return None


def _column(parts: list[Lexeme], keys: _Keys) -> tuple[int, int] | None:
    """The pair (number of lexemes, key) if the lexemes begin with the name of a key; otherwise None."""
    if not parts or not parts[0].is_name:
        return None
    if len(parts) > 2 and parts[1].raw == "." and parts[2].is_name:
        is_ours = keys.alias and unquoted(parts[0].raw).lower() == keys.alias
        key = keys.number.get(unquoted(parts[2].raw).lower()) if is_ours else None
        return None if key is None else (3, key)
    if not keys.is_alone or _FUNCTIONS_WITHOUT_CALL.fullmatch(parts[0].word):
        return None
    key = keys.number.get(unquoted(parts[0].raw).lower())
    return None if key is None else (1, key)


def _compared_with(parts: list[Lexeme]) -> tuple[str, ...] | None:
    """The kinds of the literals after the name of a key; None if the shape is not known."""
    words = [part.word for part in parts]
    if words in (["IS", "NULL"], ["IS", "NOT", "NULL"]):
        return ()
    if words and words[0] in COMPARISONS:
        return _all_literals([parts[1:]])
    if words[:1] == ["NOT"]:
        words, parts = words[1:], parts[1:]
    if words[:2] == ["IN", "("] and words[-1] == ")":
        return _all_literals(_split(parts[2:-1], ","))
    if words[:1] == ["BETWEEN"]:
        bounds = _split(parts[1:], "AND")
        return _all_literals(bounds) if len(bounds) == 2 else None
    if words[:1] == ["LIKE"] and literal_kind(parts[1:]) in ("string", "date string", "time string"):
        return None if "\\" in parts[-1].raw else ("pattern",)  # a wrong escape is an error
    return None


def _split(parts: list[Lexeme], word: str) -> list[list[Lexeme]]:
    groups: list[list[Lexeme]] = [[]]
    for part in parts:
        if part.word == word:
            groups.append([])
        else:
            groups[-1].append(part)
    return groups


def _all_literals(groups: Sequence[list[Lexeme]]) -> tuple[str, ...] | None:
    kinds = [literal_kind(group) for group in groups]
    return None if None in kinds else tuple(k for k in kinds if k)


def literal_kind(parts: Sequence[Lexeme]) -> str | None:
    """The kind of a literal; None if the lexemes are not a literal."""
    text = " ".join(part.raw.strip() for part in parts)  # a bound parameter may have spaces around it
    if typed := _TYPED.fullmatch(text):
        return "date" if typed[1].upper() == "DATE" else "time"
    if _STRING.fullmatch(text):
        return _time(text) or "string"
    if _NUMBER.fullmatch(text):
        return "number"
    return {"TRUE": "boolean", "FALSE": "boolean", "NULL": "null"}.get(text.upper())


def _time(string: str) -> str | None:
    """The kind of a string in quotes: "date string" or "time string" if Spark reads it without an error, else None."""
    match = _TIME.fullmatch(string)
    if match is None:
        return None
    try:
        datetime.fromisoformat(string[1:-1])
    except ValueError:
        return None
    return "time string" if match[2] else "date string"
