"""Each name of the tables of functions and aggregates has one record, whose example has the value that it states."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from sqlext.aggregates.registry import AGGREGATES, COMPUTED
from sqlext.expressions.function_table import FUNCTIONS
from sqlext.formatting import keywords
from sqlext.formatting.function_records import (
    CLAUSE,
    OF_A_MATCH,
    OF_AGGREGATES,
    OF_SPARK,
    ROWS,
    FunctionRecord,
    function_records,
)
from sqlext.playground.answer import answer
from sqlext.playground.budget import WorkBudget
from sqlext.playground.rows_search import KnownTruth
from sqlext.playground.table import SETTINGS, Table
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join
from website.function_pages import FILE, function_page

RECORDS = function_records()
OVER_ROWS = [record for record in RECORDS if record.section in (OF_AGGREGATES, OF_A_MATCH)]
SCALARS = [record for record in RECORDS if record.section not in (OF_AGGREGATES, OF_SPARK, OF_A_MATCH)]
NOT_IN_THE_PLAYGROUND = ("MATCH_ROWTIME", "MATCH_PROCTIME")
MINUTES = [datetime(2026, 3, 2, 10, minute, tzinfo=timezone.utc) for minute in (0, 1, 2, 5)]
TABLE = Table(
    name="t",
    types={"ts": "timestamp", "x": "int", "y": "int", "name": "string"},
    columns={
        "ts": pa.array(MINUTES, pa.timestamp("us", "UTC")),
        "x": pa.array([1, 2, 2, 4], pa.int32()),
        "y": pa.array([10, 20, 50, None], pa.int32()),
        "name": pa.array(["a", "b", "b", "c"]),
    },
)


def text_of(record: FunctionRecord) -> str:
    return f"coalesce(CAST({record.example} AS STRING), 'NULL')"


def names(*sections: str) -> list[str]:
    return sorted(record.name for record in RECORDS if record.section in sections)


def test_each_name_of_the_tables_has_one_record():
    assert sorted(record.name for record in SCALARS) == sorted(FUNCTIONS)
    assert names(OF_AGGREGATES) == sorted(COMPUTED)
    assert names(OF_SPARK) == sorted(set(AGGREGATES) - set(COMPUTED))
    assert names(OF_A_MATCH) == sorted(keywords.FUNCTIONS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_description_is_one_sentence_and_the_example_shows_the_function(record):
    assert record.description.endswith(".") and ". " not in record.description
    parts = record.name.split() if record.name not in (".", "[]") else list(record.name)
    if record.name not in ("negate",):
        assert all(part.lower() in record.example.lower() for part in parts)


@pytest.mark.parametrize("record", SCALARS, ids=lambda record: record.name)
def test_an_example_has_its_value(record):
    tree = StaticBinder(columns={}, settings=SETTINGS).tree(join(text_of(record)))
    assert tree.value == record.result


def test_the_examples_over_rows_have_their_values():
    shown = [record for record in OVER_ROWS if record.name not in NOT_IN_THE_PLAYGROUND]
    measures = ", ".join(f"{text_of(record)} AS m{i}" for i, record in enumerate(shown))
    found = answer(f"SELECT * FROM {CLAUSE.format(measures)}", TABLE, KnownTruth(), WorkBudget())
    assert [cell for column in found["result"]["columns"] for cell in column["cells"]] == [r.result for r in shown]


@pytest.mark.spark
def test_spark_computes_the_same_values(spark):
    spark.sql(ROWS).createOrReplaceTempView("t")
    of_match = [record for record in RECORDS if record.section == OF_A_MATCH]
    others = [record for record in RECORDS if record.section != OF_A_MATCH]
    known = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    others = [record for record in others if record.section != OF_SPARK or record.name in known]  # 4.0 lacks some
    measures = ", ".join(f"{text_of(record)} AS m{i}" for i, record in enumerate(of_match))
    values = [
        *spark.sql(f"SELECT {', '.join(map(text_of, others))} FROM t").first(),
        *spark.sql(f"SELECT * FROM {CLAUSE.format(measures)}").first(),
    ]
    spark.catalog.dropTempView("t")
    wrong = [(record.name, value) for record, value in zip([*others, *of_match], values) if value != record.result]
    assert wrong == []


def test_the_page_is_made_of_the_records():
    assert FILE.read_text("utf-8") == function_page(), "run python -m website.function_pages"
