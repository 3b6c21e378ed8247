"""Spark plans every clause over wide relations of all types about as soon as a plain JOIN.

Spark's optimizer derives constraints from columns that are renamed. Over a few dozen columns beside their struct that
takes hours, so a test that ends at all shows that no clause does it.
"""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from sqlext.rewriter.joins.asof_sql import AsofJoin, Carried, Conditions, Key, asof_sql
from sqlext.rewriter.text.splice import join

WIDTH = 500
TYPES = (
    "pmod(id, {i} + 1)", "concat('s', id)", "cast(id / 3 as double)", "cast(id as decimal(12, 2))", "id % 3 = 0",
    "cast(id as decimal(38, 10))", "named_struct('x', id, 'l', array(id), 'st', named_struct('y', cast(id as string)))",
    "cast(concat('b', id) as binary)", "cast(id as float)", "array(id, null)", "map('a', id)", "date'2024-01-01'",
    "timestamp_seconds(id)", "cast(timestamp_seconds(id) as timestamp_ntz)", "cast(null as int)",
    "cast(id as smallint)", "array(named_struct('q', id))", "parse_json('1')", "collate('x', 'UTF8_LCASE')",
)  # fmt: skip
INTERVALS = ("INTERVAL '1' DAY * id", "INTERVAL '1' MONTH * id")  # cannot pass through Python workers

ASOF = "MATCH_CONDITION (a.ts >= b.ts)"
RANGE = "ON b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"
ROWS = "PARTITION BY k ORDER BY ts MEASURES FIRST(A.id) AS f"
PATTERN = "PATTERN (A B+) DEFINE B AS B.id > PREV(B.id)"
STATEMENTS = (
    f"SELECT * FROM l a ASOF JOIN r b {ASOF} ON a.k = b.k",
    f"SELECT * FROM l a LEFT ASOF JOIN r b {ASOF} ON a.k = b.k AND b.ts > a.ts - INTERVAL 1 HOUR",
    f"SELECT a.*, b.c1 FROM l a ASOF JOIN r b {ASOF} ON a.k = b.k WHERE a.id > 5 AND a.c1 = b.c1",
    f"SELECT * FROM l a ASOF JOIN r b {ASOF} ON a.k = b.k ASOF JOIN r c MATCH_CONDITION (a.ts >= c.ts) ON a.k = c.k",
    f"SELECT * FROM (SELECT struct(*) AS s, * FROM l) a ASOF JOIN (SELECT struct(*) AS s, * FROM r) b {ASOF}",
    f"SELECT * FROM l a ASOF JOIN r b {ASOF} USING (k)",
    "SELECT * FROM l a LEFT ASOF JOIN r b MATCH_CONDITION (NEAREST (a.ts, b.ts)) WITHIN INTERVAL 1 HOUR ON a.k = b.k",
    "SELECT * FROM l a ASOF JOIN r b USING (k, ts)",
    *(
        f"SELECT * FROM l a {kind} INTERVAL JOIN r b {RANGE} AND a.k = b.k"
        for kind in ("", "LEFT", "FULL", "LEFT ANTI")
    ),
    f"SELECT * FROM l a INTERVAL JOIN r b {RANGE}",
    f"SELECT * FROM m MATCH_RECOGNIZE ({ROWS} ALL ROWS PER MATCH {PATTERN})",
    f"SELECT *, f OVER w FROM m WINDOW w AS ({ROWS} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING {PATTERN})",
    "SELECT * FROM TUMBLE(TABLE m, DESCRIPTOR(ts), INTERVAL 1 HOUR)",
    "SELECT k, window_end, count(*), max(c1) FROM TUMBLE(TABLE m, DESCRIPTOR(ts), INTERVAL 1 HOUR) "
    "GROUP BY k, window_start, window_end EMIT EVERY 100 ROWS",
)


@pytest.fixture(scope="module")
def wide(spark):
    """The session with the views `l` and `r`, and `m` without intervals, of WIDTH columns each."""
    types = (*TYPES, *INTERVALS)
    columns = [f"{types[i % len(types)].format(i=i)} AS c{i}" for i in range(WIDTH - 3)]
    columns += ["id", "pmod(id, 3) AS k", "timestamp_seconds(60 * id) AS ts"]
    spark.sql(f"CREATE TABLE wide USING parquet AS SELECT {', '.join(columns)} FROM range(2)")
    intervals = ", ".join(f"c{i}" for i in range(WIDTH - 3) if i % len(types) >= len(TYPES))
    for name, excepted in {"l": "", "r": "", "m": f"EXCEPT ({intervals})"}.items():
        spark.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT * {excepted} FROM wide")
    yield spark
    for name in "lrm":
        spark.catalog.dropTempView(name)
    spark.sql("DROP TABLE wide")


def plan(session, text: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        session.sql(text).explain()
    return shown.getvalue()


@pytest.mark.random(every=3)
@pytest.mark.parametrize("text", STATEMENTS)
def test_wide_relations_of_all_types_are_planned(wide, text):
    assert "Scan" in plan(wide, text)


@pytest.mark.parametrize(
    ("shown", "columns"),
    [("count(*)", {"k", "ts"}), ("a.c0, a.c6.x", {"k", "ts", "c0", "c6"})],
    ids=["no column", "a column and a field"],  # pytest-xdist wants the same names in each process
)
def test_asof_join_reads_only_the_left_columns_that_are_shown(wide, shown, columns):
    text = f"SELECT {shown} FROM l a ASOF JOIN (SELECT k, ts FROM r) b {ASOF} ON a.k = b.k"
    scans = [set(re.findall(r"(\w+)#", scan)) for scan in re.findall(r"FileScan [^\[]*\[([^\]]*)", plan(wide, text))]
    assert sorted(scans, key=len) == [{"k", "ts"}, columns]


def test_the_relations_of_an_asof_join_are_a_struct_each_whatever_their_width():
    assert _columns_in_union(3) == _columns_in_union(300)


def _columns_in_union(width: int) -> list[int]:
    """The number of expressions in each SELECT of the UNION ALL of an ASOF JOIN of so many columns."""
    columns = tuple(f"`c{i}`" for i in range(width))
    left, right, left_time, right_time, left_key, right_key = map(join, ("l a", "r b", "a.t", "b.t", "a.k", "b.k"))
    asof = AsofJoin(
        left=left, right=right, name="b", is_left=True, left_time=left_time, operator=">=", right_time=right_time,
        conditions=Conditions(keys=(Key(left_key, right_key),)), using=(), right_columns=columns, ties=columns, own="a",
        carried=Carried("a", columns),
    )  # fmt: skip
    union = str(asof_sql(asof)).split("  FROM (\n")[1].split("\n  )\n")[0]
    return [len(re.findall(r" AS \w+", side)) for side in union.split("UNION ALL")]
