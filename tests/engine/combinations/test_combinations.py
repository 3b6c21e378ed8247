"""A query returns the rows that it returns over a plain copy of its input under default settings.

Each part has other combinations of an input, settings of the session, a query with a clause of ours, and a use of its
rows, and a day runs one part. `SQLEXT_SAMPLE=all pytest tests/engine/combinations` runs all of them, which takes hours.
To run forty of them, write `test_combinations.py::test_rows_are_those_over_a_copy[{20..59}]` for bash after the folder.

A day also runs one seed of a stream that stops and resumes under other settings; all of them take half an hour.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from sqlext.spark.quiet_probes import quiet_probes
from tests.statements.cases import settings

from .combination import GRAMMAR, INPUTS, combination, over, stream

pytestmark = pytest.mark.filterwarnings("ignore")
PARTS, AT_ONCE, STREAMS = 365, 4, 60
RUNS = ("ts < '2024-10-27T00:45:00Z'", "ts >= '2024-10-27T00:45:00Z'")
COPY = "mixed_copy"
TABLE = r"mixed[._]\w+"


class Tables:
    """Makes the tables, views and functions of inputs.txt, each when a statement first names it."""

    def __init__(self, spark) -> None:
        self.spark = spark
        self.made: set[str] = set()

    def make(self, text: str) -> None:
        for name in re.findall(TABLE, text):
            if name in INPUTS and name not in self.made:
                self.made.add(name)
                for statement in INPUTS[name]:
                    self.make(statement)
                    self.spark.sql(statement)


@pytest.fixture(scope="module")
def tables(spark):
    spark.sql("CREATE SCHEMA mixed")
    yield Tables(spark)
    for table in spark.catalog.listTables():
        if table.isTemporary and table.name.startswith("mixed_"):
            spark.catalog.dropTempView(table.name)
    spark.catalog.dropGlobalTempView("mixed_global")
    spark.sql("DROP SCHEMA mixed CASCADE")


@pytest.mark.random(every=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_rows_are_those_over_a_copy(tables, part):
    results = [compared(tables, seed) for seed in range(part * AT_ONCE, (part + 1) * AT_ONCE)]
    assert any(isinstance(rows, list) and rows for rows in results)


@pytest.mark.random(every=STREAMS)
@pytest.mark.parametrize("seed", range(STREAMS))
def test_rows_of_a_stream_that_resumes_are_those_with_default_settings(tables, seed):
    case = stream(seed, len(RUNS))
    tables.make(f"{case.query} mixed.rows")
    expected = streamed(tables.spark, case.query, {"true": case.settings_of_copy})
    assert streamed(tables.spark, case.query, dict(zip(RUNS, case.settings))) == expected, case
    assert expected


def streamed(spark, query: str, runs: Mapping[str, dict[str, str]]) -> list[str]:
    """The rows that a stream emits in runs over the rows of a condition, with settings, between which it is stopped."""
    spark.sql("CREATE OR REPLACE TABLE mixed.grows USING delta AS SELECT * FROM mixed.rows WHERE false")
    create = f"CREATE STREAMING TABLE mixed.emitted OPTIONS ('trigger' = 'available-now') AS {query}"
    end = "SELECT id, k, s, d, m, dt, b, TIMESTAMP_LTZ '2024-11-01' AS ts, v FROM mixed.rows WHERE id = 0"
    try:
        for i, (rows, of_run) in enumerate(runs.items(), 1):
            spark.sql(f"INSERT INTO mixed.grows SELECT * FROM mixed.rows WHERE {rows}")
            if i == len(runs):
                spark.sql(f"INSERT INTO mixed.grows {end}")
            with settings(spark, {**of_run, "sqlext.stream.buckets": "2"}):
                spark.sql(create)
        return sorted(repr(comparable(row)) for row in spark.table("mixed.emitted").collect())
    finally:
        spark.sql("DROP TABLE IF EXISTS mixed.emitted")


def compared(tables: Tables, seed: int) -> list[str] | str:
    """The result of a combination over the copy, to which that over the input must be equal."""
    case, spark = combination(seed), tables.spark
    statements = case.statements(case.input)
    tables.make(" ".join(statements))
    with settings(spark, case.settings):
        rows = spark.sql(over(case.input, "SELECT * FROM {input}"))
        spark.createDataFrame(rows.collect(), rows.schema).coalesce(1).createOrReplaceTempView(COPY)
    expected = result(spark, case.statements(COPY), case.settings_of_copy)
    assert result(spark, statements, case.settings) == expected, (statements, case.settings)
    return expected


def result(spark, statements: list[str], values: dict[str, str]) -> list[str] | str:
    """The rows of the last statement in an order and form that can be compared, or the name of our error."""
    try:
        with settings(spark, values), quiet_probes():
            frames = [spark.sql(statement) for statement in statements]
            return sorted(repr(comparable(row)) for row in frames[-1].collect())
    except Exception as error:
        name = re.search(r"SQLEXT_\w+", str(error))
        if name is None:
            raise AssertionError((statements, values)) from error
        return name[0]


def comparable(value):
    """A value whose repr is the same for equal values. Sums of floats depend on the order of their terms."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, (list, tuple)):
        return tuple(map(comparable, value))
    return bytes(value) if isinstance(value, bytearray) else value


def test_every_block_and_every_table_can_be_drawn():
    items = " ".join(item for block in GRAMMAR.values() for item in block)
    blocks = {"keys of rows", "computed key", "a query", "use", "stream", *re.findall(r"\{([a-z][a-z ]*)\}", items)}
    assert blocks - {"query", "partition", "keys", "equal", "on", "a key", "rows", "by"} == set(GRAMMAR)
    assert set(re.findall(TABLE, items)) - {"mixed.used", "mixed_used"} == set(INPUTS) - {"input"}
