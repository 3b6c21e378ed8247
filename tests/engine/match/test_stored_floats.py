"""Spark loses rows if a filter on FLOAT or DOUBLE is pushed into a scan of Parquet; filters of ours are never such
filters, whichever way a clause is run, and other filters still are pushed."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.statements.cases import settings

pytestmark = pytest.mark.spark
BLOCKS = ("\n" + (Path(__file__).parent / "stored_floats.txt").read_text("utf-8")).split("\n== ")[1:]
CASES = [re.fullmatch(r"(.*?)\n(.*)\nrows (\d+)(?:\npushes (.*))?\n*", block, re.DOTALL).groups() for block in BLOCKS]
WAYS = [
    {"sqlext.prefilter": "on"},
    {"sqlext.prefilter": "off"},
    {"sqlext.engine": "udtf", "sqlext.prefilter": "on"},
    {"sqlext.order": "spark", "sqlext.prefilter": "on"},
    {"sqlext.parallel": "on", "sqlext.prefilter": "on"},
    {"sqlext.strategy": "reference", "sqlext.prefilter": "on"},
]
RUNS = [("a Delta table", way) for way in WAYS] + [(files, WAYS[0]) for files in ("files of Spark", "files of PyArrow")]
FLOATS = re.compile(r"\b(?!IsNotNull\()\w+\((?:x|y|f|s\.x),")  # a filter in PushedFilters that compares


def numbers(value: float, other: float) -> pa.Table:
    """The rows of both tables: each of the two values is on every other row of a key."""
    rows = [(k, t, value if t % 2 == 0 else other) for k in (0, 1) for t in range(20)]
    x = [row[2] for row in rows]
    s = pa.StructArray.from_arrays([pa.array(x)], fields=[pa.field("x", pa.float64(), nullable=False)])
    columns = {
        "k": pa.array([row[0] for row in rows], pa.int32()),
        "t": pa.array([row[1] for row in rows], pa.int32()),
        "x": pa.array(x),
        "y": pa.array(x),
        "f": pa.array(x, pa.float32()),
        "s": s,
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def stored(spark, request, tmp_path_factory):
    """The session with the tables, stored by Spark or by PyArrow; columns of a Delta table are NOT NULL, except y."""
    folder = tmp_path_factory.mktemp("stored_floats")
    pq.write_table(numbers(-0.0, -1.0), folder / "zeros.parquet")
    pq.write_table(numbers(float("nan"), 1.0), folder / "nans.parquet")
    before = spark.catalog.currentDatabase()
    spark.sql("CREATE SCHEMA stored_floats")
    spark.catalog.setCurrentDatabase("stored_floats")
    for name in ("zeros", "nans"):
        path = str(folder / f"{name}.parquet")
        if request.param == "a Delta table":
            types = "k INT NOT NULL, t INT NOT NULL, x DOUBLE NOT NULL, y DOUBLE, f FLOAT NOT NULL, "
            spark.sql(f"CREATE TABLE {name} ({types} s STRUCT<x: DOUBLE> NOT NULL) USING delta")
            spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM parquet.`{path}` ORDER BY k, t")
        elif request.param == "files of Spark":
            spark.read.parquet(path).coalesce(1).write.parquet(f"{path}.copy")
            spark.read.parquet(f"{path}.copy").createOrReplaceTempView(name)
        else:
            spark.read.parquet(path).createOrReplaceTempView(name)
    spark.sql("CREATE TEMPORARY VIEW high_zeros AS SELECT k AS k, t AS t, x >= 0 AS is_high FROM zeros")
    yield spark
    for view in ("high_zeros", "zeros", "nans"):
        spark.catalog.dropTempView(view)
    spark.catalog.setCurrentDatabase(before)
    spark.sql("DROP SCHEMA stored_floats CASCADE")


def pushed(spark, query: str) -> str:
    """What the plan of a query pushes into scans."""
    plan = spark.sql(query)._jdf.queryExecution().executedPlan().toString()
    return " ".join(re.findall(r"PushedFilters: \[(.*?)\]", plan))


@pytest.mark.random(every=4)
@pytest.mark.parametrize(("stored", "way"), RUNS, indirect=["stored"])
def test_no_row_is_lost(stored, way):
    counts = " UNION ALL ".join(f"SELECT '{title}', count(*) FROM ({query})" for title, query, _, _ in CASES)
    with settings(stored, way):
        rows = [tuple(row) for row in stored.sql(counts).collect()]
    assert dict(rows) == {title: int(count) for title, _, count, _ in CASES}


@pytest.mark.parametrize("stored", ["a Delta table"], indirect=True)
def test_filters_on_floats_are_not_pushed_and_others_are(stored):
    with settings(stored, {"sqlext.prefilter": "on"}):
        texts = {title: pushed(stored, query) for title, query, _, _ in CASES}
    assert {title: text for title, text in texts.items() if FLOATS.search(text)} == {}
    wanted = [(title, part) for title, _, _, parts in CASES for part in (parts or "").split()]
    assert [(title, part) for title, part in wanted if part not in texts[title]] == []
