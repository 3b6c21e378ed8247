"""The rows that are drawn: whole partitions, first those that the result shows, then others with matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from sqlext.notebooks.drawing_query import MATCH, DrawingQuery
from sqlext.rewriter.text.names import quoted

MOST_ROWS, MOST_PANELS = 10_000, 6
KEY = "sqlext_key"  # the keys of a row as JSON
NO_KEYS = "{}"  # the only KEY without PARTITION BY
_NUMBER = "sqlext_number"  # of a row in its partition, from 1
_SHOWN = 1_000  # rows of the result whose partitions are drawn first


@dataclass(frozen=True, kw_only=True)
class DrawnRows:
    """`rows`: of whole partitions, but for those in `parts`, which says by the KEY which of their rows these are.
    `first`: the partitions whose panels come first, in this order. `all_rows`, `all_matches`, `partitions`: the numbers
    of what there is."""

    rows: pd.DataFrame
    first: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    all_rows: int = 0
    all_matches: int = 0
    partitions: int = 0

    def left_out(self, rows: int, matches: int, partitions: int) -> str:
        """The end of a title that says what is not among the drawn rows, matches and partitions.

        >>> DrawnRows(rows=pd.DataFrame(), all_rows=50_000, all_matches=7, partitions=9).left_out(10_000, 7, 2)
        '; not drawn: 7 partitions, 40,000 rows'
        """
        counts = {
            "partition": self.partitions - partitions,
            "match": self.all_matches - matches,
            "row": self.all_rows - rows,
        }
        plurals = {"match": "matches"}
        named = (f"{n:,} {word if n == 1 else plurals.get(word, word + 's')}" for word, n in counts.items() if n > 0)
        text = ", ".join(named)
        return f"; not drawn: {text}" if text else ""


def drawn_rows(frame: DataFrame, query: DrawingQuery, result: DataFrame | None) -> DrawnRows:
    """The rows of at most MOST_PANELS partitions, at most MOST_ROWS. All rows are read if they are not more.

    `frame`: all rows with their matches; `result`: the result of the statement, None if it is no query. Of a partition
    that alone has more rows, MOST_ROWS neighbours are drawn, from the first match on if it is not among the first.
    """
    keyed = frame.withColumn(KEY, _key(query.keys))
    rows = pd.DataFrame(keyed.limit(MOST_ROWS + 1).toPandas())
    shown = _shown_keys(result, query.keys)
    if len(rows) <= MOST_ROWS:
        matches = rows.groupby(KEY)[MATCH].nunique()
        return DrawnRows(
            rows=rows, first=tuple(shown), all_rows=len(rows), all_matches=matches.sum(), partitions=len(matches)
        )
    in_order = Window.partitionBy(KEY).orderBy(quoted(query.time))
    numbered = keyed.withColumn(_NUMBER, F.row_number().over(in_order))
    is_matched = F.col(MATCH).isNotNull()
    partitions = numbered.groupBy(KEY, *map(quoted, query.keys)).agg(
        F.count(F.lit(1)).alias("rows"),
        F.count_distinct(MATCH).alias("matches"),
        F.min(F.when(is_matched, F.col(_NUMBER))).alias("first"),
    )
    place = F.array_position(F.array(*map(F.lit, shown)), F.col(KEY))
    first = [place == 0, place] if shown else []
    order = [*first, F.col("matches") == 0, *(F.col(quoted(key)).asc_nulls_last() for key in query.keys)]
    chosen = _chosen(partitions.orderBy(*order).limit(10 * MOST_PANELS).collect())
    totals = partitions.agg(F.sum("rows"), F.sum("matches"), F.count(F.lit(1))).collect()[0]
    conditions = [(F.col(KEY) == key) & F.col(_NUMBER).between(lo, hi) for key, (lo, hi, _) in chosen.items()]
    condition = conditions[0]
    for other in conditions[1:]:
        condition = condition | other
    parts = {key: f"rows {lo:,} to {hi:,} of {n:,}" for key, (lo, hi, n) in chosen.items() if hi - lo + 1 < n}
    return DrawnRows(
        rows=numbered.where(condition).orderBy(KEY, _NUMBER).drop(_NUMBER).toPandas(),
        first=tuple(chosen),
        parts=parts,
        all_rows=totals[0],
        all_matches=totals[1],
        partitions=totals[2],
    )


def _key(names: Sequence[str]) -> Column:
    return F.to_json(F.struct(*(F.col(quoted(name)) for name in names))) if names else F.lit(NO_KEYS)


def _shown_keys(result: DataFrame | None, keys: Sequence[str]) -> list[str]:
    """The keys of the first rows of the result, in their order; none if the result does not show all keys."""
    if result is None or not keys:
        return []
    names = {name.lower(): name for name in result.columns}
    if not all(key.lower() in names for key in keys):
        return []
    named = (F.col(quoted(names[key.lower()])).alias(key) for key in keys)
    rows = result.limit(_SHOWN).select(F.to_json(F.struct(*named))).collect()
    return list(dict.fromkeys(row[0] for row in rows))[:MOST_PANELS]


def _chosen(partitions: Sequence[Row]) -> dict[str, tuple[int, int, int]]:
    """By the KEY of each partition that is drawn: the numbers of its first and last drawn row, and of its rows."""
    chosen: dict[str, tuple[int, int, int]] = {}
    room = MOST_ROWS
    for partition in partitions:
        count = partition["rows"]
        if len(chosen) < MOST_PANELS and count <= room:
            chosen[partition[KEY]] = 1, count, count
            room -= count
    if not chosen:
        first = partitions[0]["first"]
        lo = first if first is not None and first > MOST_ROWS else 1
        count = partitions[0]["rows"]
        chosen[partitions[0][KEY]] = lo, min(lo + MOST_ROWS - 1, count), count
    return chosen
