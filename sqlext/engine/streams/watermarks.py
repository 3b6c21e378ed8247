"""Refuses streams whose watermarks Spark would refuse only in the running query, or would use for rows of others.

- A stream has one watermark. Spark ends a query that has a WATERMARK above another one, however far apart they are.
- In a UNION, the columns have the watermarks of its first branch. Rows of a branch without a watermark there are late
  by the watermark of the others, and never hold it back.

Only the analysed plan shows both through views, CTEs and DataFrames; EXPLAIN has it as text, also over Connect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import is_on, temporary_settings
from sqlext.engine.queries.spark_errors import word_at
from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.text.splice import join
from sqlext.rewriter.text.tokens import Tokens, tokenize

_WATERMARK, _UNION, _VIEW = "EventTimeWatermark", "Union", "View"
_DEFINITION, _REFERENCE = "CTERelationDef", "CTERelationRef"
_READS_TIME = re.compile(r"Aggregate|Distinct|Deduplicate|TransformWithState|FlatMapGroups")
_SAME_COLUMNS = frozenset({"SubqueryAlias", "Filter", "CollectMetrics", _WATERMARK, _UNION, _DEFINITION, "Distinct"})
_ALL_COLUMNS = {"spark.sql.debug.maxToStringFields": "1000000"}
_ONE_WATERMARK = "spark.sql.streaming.statefulOperator.allowMultiple"  # if it is false, Spark takes several watermarks
_HELPER = "`_pyspark_"  # the view of a DataFrame in a text


@dataclass
class Node:
    """A node of Spark's analysed plan: its name, what EXPLAIN prints of it, and its children in their order."""

    name: str
    text: str
    children: list[Node] = field(default_factory=list)

    def nodes(self) -> Iterator[Node]:
        """This node and all below it, children first: the words of a text that made them have this order."""
        for child in self.children:
            yield from child.nodes()
        yield self


def check_watermarks(queries: Queries, spark: SparkSession, stream: DataFrame, text: str) -> None:
    """Raise UnsupportedError (WATERMARK) for a watermark over another one, and for a UNION of which only some branches
    have one, if something above it uses the time. `text`: the user's statement, for the place."""
    if not stream.isStreaming:
        return
    root = _analysed_plan(queries, spark, stream)
    plan = _Plan(root, {_number(node): node for node in root.nodes() if node.name == _DEFINITION})
    if is_on(spark, _ONE_WATERMARK, default="true"):
        plan.check_nested(text)
    plan.check_unions(text)


def watermark_count(spark: SparkSession, stream: DataFrame) -> int:
    """The number of watermarks of a stream, of which the least one counts."""
    root = _analysed_plan(Queries(spark.sql, {}, ""), spark, stream)
    return sum(node.name == _WATERMARK for node in root.nodes())


def _analysed_plan(queries: Queries, spark: SparkSession, stream: DataFrame) -> Node:
    with temporary_settings(spark, _ALL_COLUMNS):
        explained = queries.run(join("EXPLAIN EXTENDED SELECT * FROM ", queries.name(stream))).collect()[0][0]
    return plan_of(explained)


def plan_of(explained: str) -> Node:
    r"""The analysed plan in what EXPLAIN EXTENDED returns.

    >>> tree = "k: int\n~Filter (k#1 > 0)\n+- ~Union false, false\n   :- Range\n   +- ~Project [k#1]\n      +- One\n"
    >>> root = plan_of(f"== Parsed Logical Plan ==\n…\n\n== Analyzed Logical Plan ==\n{tree}\n== Optimized …")
    >>> [node.name for node in root.nodes()]
    ['Range', 'One', 'Project', 'Union', 'Filter']
    """
    tree = explained.partition("== Analyzed Logical Plan ==\n")[2].partition("\n== Optimized")[0]
    above: list[Node] = []
    for line in tree.split("\n")[1:]:
        edge, _, text = line.partition("- ") if re.match(r"[ :]*[:+]- ", line) else ("", "", line)
        depth = (len(edge) + 2) // 3
        if depth > len(above) or (above and not depth):
            continue  # a further line of a text in an expression
        node = Node(re.sub(r"\W.*", "", text.lstrip("~!'"), flags=re.DOTALL), text)
        if depth:
            above[depth - 1].children.append(node)
        above[depth:] = [node]
    return above[0] if above else Node("", "")


@dataclass
class _Plan:
    """A plan, and the queries of its CTEs by their numbers."""

    root: Node
    ctes: Mapping[str, Node]

    def below(self, node: Node) -> Sequence[Node]:
        """The children of a node; for a name of a CTE its query."""
        cte = self.ctes.get(_number(node)) if node.name == _REFERENCE else None
        return node.children if cte is None else [cte]

    def has_watermark(self, node: Node) -> bool:
        return node.name == _WATERMARK or any(map(self.has_watermark, self.below(node)))

    def check_nested(self, text: str) -> None:
        for node in self.root.nodes():
            if node.name == _WATERMARK and any(map(self.has_watermark, self.below(node))):
                raise UnsupportedError(
                    "WATERMARK",
                    "the stream has a watermark already, and it can have one only",
                    place=self._place(node, text, "WATERMARK"),
                    hint="leave this WATERMARK out, or the one below it. MATCH_ROWTIME() AS at and window_rowtime are "
                    "event times without a WATERMARK.",
                )

    def check_unions(self, text: str) -> None:
        for node in self._read_by_time(self.root, is_read=False):
            if node.name == _UNION and self._differs(node):
                raise UnsupportedError(
                    "WATERMARK",
                    "a stream of this UNION has no watermark in a column where another one has, which would make its "
                    "rows late",
                    place=self._place(node, text, "UNION"),
                    hint="give each stream of the UNION its WATERMARK on that column, or none of them, and write one "
                    "after the UNION: FROM (… UNION ALL …) WATERMARK ts DELAY OF INTERVAL 10 SECONDS.",
                )

    def _read_by_time(self, node: Node, *, is_read: bool) -> Iterator[Node]:
        """The nodes above which something uses the event time, children first."""
        below = self.below(node)
        is_join = node.name == "Join" and all(map(self.has_watermark, below))
        for child in below:
            yield from self._read_by_time(child, is_read=is_read or is_join or bool(_READS_TIME.match(node.name)))
        if is_read:
            yield node

    def _differs(self, union: Node) -> bool:
        """Return True if some branches have a watermark, and no column has one in all of them."""
        columns = [self.columns(child) for child in union.children]
        if any(c is None or len(c) != len(columns[0] or ()) for c in columns):
            return False  # EXPLAIN does not print them
        times = [{i for i, column in enumerate(c or ()) if _is_event_time(column)} for c in columns]
        return any(times) and not set.intersection(*times)

    def columns(self, node: Node) -> list[str] | None:
        """The columns of a node as EXPLAIN prints them, with their watermarks; None if it does not print them."""
        if node.name == "Join":
            sides = [self.columns(child) for child in node.children]
            return None if None in sides else [column for side in sides for column in side or ()]
        if node.name not in _SAME_COLUMNS:
            return _last_list(node.text)
        columns = self.columns(node.children[0]) if node.children else None
        if node.name != _WATERMARK or columns is None:
            return columns
        time = re.findall(r"#\d+", node.text)[:1]
        return [f"{c}-T0ms" if re.findall(r"#\d+", c)[-1:] == time and not _is_event_time(c) else c for c in columns]

    def _place(self, node: Node, text: str, word: str) -> Place:
        """The place of the word that made a node, or of the last one if views have made others of them."""
        tokens = tokenize(text)
        places = [i for i, token in enumerate(tokens) if token.word == word and _is_clause(tokens, i)]
        made = list(_in_text(self.root, node.name))
        at = next((i for i, other in enumerate(made) if other is node), -1)
        if not places:
            return word_at(text, tokens[0].start if tokens else 0)
        token = tokens[places[at if len(made) == len(places) else -1]]
        return Place(text, token.start, token.stop)


def _in_text(node: Node, name: str) -> Iterator[Node]:
    """The nodes of a name that the text has made, in its order: not those of views."""
    if node.name == _VIEW and _HELPER not in node.text:
        return
    before, after = (node.children[:1], node.children[1:]) if name == _UNION else (node.children, [])
    for child in before:
        yield from _in_text(child, name)
    if node.name == name:
        yield node
    for child in after:
        yield from _in_text(child, name)


def _is_clause(tokens: Tokens, i: int) -> bool:
    """Return True if the word WATERMARK or UNION at token i is not the name of something."""
    return tokens[i].word != "WATERMARK" or any(token.word == "DELAY" for token in tokens[i + 1 :])


def _is_event_time(column: str) -> bool:
    return re.search(r"#\d+L?-T\d+ms$", column) is not None


def _number(node: Node) -> str:
    return node.text.partition(" ")[2].partition(",")[0]


def _last_list(text: str) -> list[str] | None:
    """The items of the last list in brackets; None if there is none.

    >>> _last_list("Project [a#1, f(b#2, [c#3]) AS d#4-T10ms]"), _last_list("View (`v`, [k#1, ts#2])"), _last_list("x")
    (['a#1', 'f(b#2, [c#3]) AS d#4-T10ms'], ['k#1', 'ts#2'], None)
    """
    items, starts, last = [0], [], None
    for i, character in enumerate(text):
        if character in "([":
            starts.append(i)
            items = [i + 1] if character == "[" and "[" not in [text[s] for s in starts[:-1]] else items
        elif character in ")]" and starts:
            starts.pop()
            if character == "]" and "[" not in [text[s] for s in starts]:
                last = [text[a:b].strip(" ,") for a, b in zip(items, [*items[1:], i])]
        elif character == "," and starts and text[starts[-1]] == "[" and "[" not in [text[s] for s in starts[:-1]]:
            items.append(i + 1)
    return last
