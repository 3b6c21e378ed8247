"""The rows that `sqlext playground --table NAME` reads through Spark."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import BindError, UnsupportedError
from sqlext.playground.lessons import lessons
from sqlext.playground.python_view import python_view
from sqlext.playground.questions import Playground
from sqlext.playground.read_file import file_table, read_file
from sqlext.playground.spark_table import read_table
from sqlext.playground.table import MOST_ROWS


def test_rows_of_a_table_are_matched(spark):
    spark.sql(
        "CREATE TEMPORARY VIEW r AS SELECT id % 2 AS `the key`, id AS v, timestamp_seconds(id) AS ts FROM range(6)"
    )
    table = read_table(spark, "r")
    assert (table.name, table.note) == ("r", "")
    assert table.types == {"the key": "bigint", "v": "bigint", "ts": "timestamp"}
    asked = {
        "table": "own",
        "text": "SELECT * FROM r MATCH_RECOGNIZE (PARTITION BY `the key` ORDER BY ts "
        "MEASURES A.v AS a, LAST(B.v) AS b PATTERN (A B+) DEFINE B AS B.v > PREV(B.v))",
    }
    found = Playground(own=table, first=0).ask("answer", asked)
    cells = {column["name"]: column["cells"] for column in found["result"]["columns"]}
    assert cells == {"the key": ["0", "1"], "a": ["0", "1"], "b": ["4", "5"]}
    spark.catalog.dropTempView("r")


def test_what_is_left_out_is_said(spark):
    spark.range(MOST_ROWS + 1).selectExpr("id", "make_ym_interval(1) AS months").createOrReplaceTempView("r")
    table = read_table(spark, "r")
    assert list(table.types) == ["id"] and len(table.columns["id"]) == MOST_ROWS
    assert table.note == (
        "Only 10,000 rows of the table are here, as Spark returned them. Not here, because of their types: months."
    )
    with pytest.raises(UnsupportedError) as error:
        spark.sql("SELECT make_ym_interval(1) AS months").createOrReplaceTempView("r")
        read_table(spark, "r")
    assert error.value.error_class == "SQLEXT_PLAYGROUND_TABLE"
    spark.catalog.dropTempView("r")
    with pytest.raises(BindError) as missing:
        read_table(spark, "r")
    assert missing.value.error_class == "SQLEXT_TABLE_OR_VIEW_NOT_FOUND"


TIMES = pa.array([datetime.datetime(2026, 3, 2), None], pa.timestamp("us", "UTC"))
TEXT = """day,price,at,name,is_open
2026-03-01,NA,2026-03-02 08:00:00,NA,true
2026-03-02,20,2026-03-02 09:00:00,"a ""quoted"" word, and
a line",true
2026-03-03,,2026-03-02 09:00:01.5,,false
"""


def test_copied_statements_run_on_the_rows_of_the_page(spark, tmp_path):
    (tmp_path / "own rows.csv").write_text(TEXT, encoding="utf-8")
    (tmp_path / "lines.jsonl").write_text('{"at": "2026-03-02 09:00:00", "v": 1}\n{"v": 2.5}\n', encoding="utf-8")
    nested = '[{"v": 1, "t": ["x"], "o": {"at": "2026-03-02 09:00:00", "p": {"q": 1}}},\n {"v": 2}]'
    (tmp_path / "array.json").write_text(nested, encoding="utf-8")
    pq.write_table(pa.table({"v": pa.array([1, None], pa.int16()), "t": TIMES}), tmp_path / "p.parquet")
    files = [read_file(tmp_path / name) for name in ("own rows.csv", "lines.jsonl", "array.json", "p.parquet")]
    tables = [*files, file_table(nested.encode(), "pasted"), *(lesson.table for lesson in lessons())]
    for table in tables:
        exec(python_view(table), {"spark": spark})
        again = read_table(spark, table.name)
        assert (again.types, again.as_json()["columns"]) == (table.types, table.as_json()["columns"]), table.name
        assert python_view(again) == ""
        spark.sql(f"DROP VIEW `{table.name}`")  # it would hide tables of other tests
