"""`sqlext.match_recognize`: rows of a DataFrame that match a row pattern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlext.frames.arguments import Amount, Texts, amount_of, entries, names_of, sql_items, sql_of
from sqlext.rewriter.text.composed import Argument, Composed, Part, joined
from sqlext.sessions.composed_frames import input_name, run_composed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def match_recognize(
    df: DataFrame,
    *,
    pattern: str,
    define: Mapping[str, str],
    partition_by: Texts = (),
    order_by: Texts = (),
    measures: Mapping[str, str] | None = None,
    rows_per_match: str = "ONE ROW PER MATCH",
    after_match: str = "SKIP PAST LAST ROW",
    within: Amount | None = None,
    subset: Mapping[str, Texts] | None = None,
) -> DataFrame:
    """The matches of a row pattern, as MATCH_RECOGNIZE over `df` returns them: lazy, in batch and on a stream.

    Each argument is the text of its part of the clause. `pattern` is what PATTERN has in its parentheses; `define` has
    the condition of each variable, and a variable without one is true on every row; `partition_by` and `order_by` are
    lists of expressions, or one text; `measures` has the expression of each result column; `rows_per_match` is such as
    `"ALL ROWS PER MATCH WITH UNMATCHED ROWS"`, `after_match` such as `"SKIP TO NEXT ROW"`; `within` is an interval or a
    number, as text such as `"INTERVAL 1 HOUR"` or `"INCLUSIVE INTERVAL 1 HOUR BETWEEN ROWS"`, or as a `timedelta`;
    `subset` has the variables of each union.

    Raises the SqlExtError that the clause would raise, whose place names the argument: `define["down"]`.

    >>> import sqlext
    >>> rows = [("ACME", 1, 20), ("ACME", 2, 17), ("ACME", 3, 19)]
    >>> ticks = spark.createDataFrame(rows, "symbol STRING, ts INT, price INT")
    >>> sqlext.match_recognize(
    ...     ticks,
    ...     partition_by="symbol",
    ...     order_by="ts",
    ...     pattern="strt down+ up+",
    ...     define={"down": "price < PREV(price)", "up": "price > PREV(price)"},
    ...     measures={"bottom": "LAST(down.price)", "top": "LAST(up.price)"},
    ... ).show()
    +------+------+---+
    |symbol|bottom|top|
    +------+------+---+
    |  ACME|    17| 19|
    +------+------+---+
    <BLANKLINE>
    """
    parts: list[Part] = [f"SELECT * FROM {input_name(0)} MATCH_RECOGNIZE (\n"]
    for keywords, value, of in (("PARTITION BY", partition_by, "partition_by"), ("ORDER BY", order_by, "order_by")):
        items = sql_items(of, value)
        parts += [f"  {keywords} ", *joined([(item,) for item in items]), "\n"] if items else []
    if measures:
        parts += ["  MEASURES ", *joined(_measures(measures)), "\n"]
    parts += ["  ", sql_of("rows_per_match", rows_per_match), "\n"]
    parts += ["  AFTER MATCH ", sql_of("after_match", after_match), "\n"]
    parts += ["  PATTERN (", Argument.sql("pattern", pattern, is_list=True), ")"]
    if within is not None:
        parts += [" WITHIN ", amount_of("within", within)]
    if subset:
        parts += ["\n  SUBSET ", *joined([_union(*entry) for entry in entries("subset", subset)])]
    if entries("define", define):
        parts += ["\n  DEFINE ", *joined(_conditions(define))]
    return run_composed(Composed((*parts, "\n)")), [df])


def _measures(measures: Mapping[str, str]) -> list[tuple[Part, ...]]:
    return [(sql_of(of, value), " AS ", Argument.name(of, name)) for of, name, value in entries("measures", measures)]


def _conditions(define: Mapping[str, str]) -> list[tuple[Part, ...]]:
    return [(Argument.variable(of, name), " AS ", sql_of(of, value)) for of, name, value in entries("define", define)]


def _union(of: str, name: str, variables: object) -> tuple[Part, ...]:
    members: list[tuple[Part, ...]] = [(Argument.variable(of, variable),) for of, variable in names_of(of, variables)]
    return Argument.variable(of, name), " = (", *joined(members), ")"
