"""Filters of ours in a form that keeps every row on which their condition holds.

Spark 4.2 and 4.3 lose rows if a comparison of a FLOAT or DOUBLE column is pushed into the scan of a Parquet file: -0.0
in a page with a dictionary under `x >= 0`, and NaN under `x > 5` in files whose writer leaves NaN out of the
statistics. A WHERE of a user's own means what Spark answers, but a filter that we add may never change the rows. So
Spark receives it as `hash(condition) = hash(TRUE)`, which it can only evaluate on rows, and beside it those parts of
the condition that read only columns whose values are pushed without loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from sqlext.rewriter.scalars.expression import Node, parse
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import BEFORE_ALL_COLUMNS, Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Text, TextLike, join
from sqlext.rewriter.text.tokens import tokenize

_FLOATING = re.compile(r"\b(float|double)\b")


@dataclass(frozen=True)
class RowFilter:
    """A filter on the rows of a relation: its `condition`, as EXPLAIN shows it, and the `sql` that Spark receives."""

    condition: Text
    sql: Text

    @staticmethod
    def of(sql: Text) -> RowFilter:
        """The filter that Spark receives as it is, because no scan can evaluate it."""
        return RowFilter(sql, sql)


@dataclass(frozen=True)
class Pushable:
    """The columns of a relation, in lower case, and those of them whose filters may be pushed into a scan."""

    columns: frozenset[str]
    safe: frozenset[str] = frozenset()

    def filter(self, condition: Text) -> Text:
        """The condition as a filter that loses no row.

        >>> columns = Pushable(frozenset({"v", "x"}), frozenset({"v"}))
        >>> print(columns.filter(join("v = 0 OR v = 1")))
        v = 0 OR v = 1
        >>> print(columns.filter(join("(v = 0 AND x > 5) OR v = 1")))
        (((v = 0)) OR (v = 1)) AND hash((v = 0 AND x > 5) OR v = 1) = hash(TRUE)
        >>> print(columns.filter(join("x > 5 OR v = 1")))
        hash(x > 5 OR v = 1) = hash(TRUE)
        """
        items = lexemes(Fragment(str(condition), 0, len(str(condition))))
        part = self._part(parse(items, 0, len(items)), items, condition)
        if part is None:
            return evaluated(condition)
        is_whole = str(part) == str(condition)
        return condition if is_whole else join("(", part, ") AND ", evaluated(condition))

    def are_safe(self, conditions: Iterable[Text]) -> bool:
        """Whether all conditions read only columns by which a scan may filter."""
        return all(str(self.filter(condition)) == str(condition) for condition in conditions)

    def names(self, condition: TextLike) -> frozenset[str]:
        """The columns that a condition may read, in lower case."""
        words = {unquoted(token.text).strip('"').lower() for token in tokenize(str(condition)) if token.may_name}
        return self.columns & words

    def _part(self, node: Node, items: list[Lexeme], condition: Text) -> Text | None:
        """A condition that holds wherever the node holds, and which may be pushed; None if there is none."""
        text = condition.part(items[node.start].start, items[node.stop - 1].stop) if node.start < node.stop else join()
        if self._is_safe(items[node.start : node.stop]):
            return text
        parts = [self._part(child, items, condition) for child in node.children if node.kind in ("AND", "OR")]
        kept = [join("(", part, ")") for part in parts if part is not None]
        if not kept or (node.kind == "OR" and len(kept) < len(parts)):
            return None
        return kept[0] if len(kept) == 1 else join(*kept, separator=f" {node.kind} ")

    def _is_safe(self, items: list[Lexeme]) -> bool:
        words = {item.raw.upper() for item in items}
        has_star = any(a.raw in BEFORE_ALL_COLUMNS and b.raw == "*" for a, b in pairwise(items))
        return not has_star and "SELECT" not in words and self.names(" ".join(x.raw for x in items)) <= self.safe


def evaluated(condition: TextLike) -> Text:
    """The condition in a form that Spark evaluates on each row: no scan and no optimizer understands it."""
    return join("hash(", condition, ") = hash(TRUE)")


def is_floating(spark_type: str) -> bool:
    """Whether values of a type are, or contain, a FLOAT or a DOUBLE.

    >>> is_floating("array<struct<x:double>>"), is_floating("struct<x:int>")
    (True, False)
    """
    return bool(_FLOATING.search(spark_type))
