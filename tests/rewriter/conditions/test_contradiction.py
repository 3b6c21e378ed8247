"""Conditions that exclude each other, for which Spark finds no row, and conditions that do not or may not."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import pytest

from sqlext.rewriter.conditions.contradiction import contradicts_itself
from tests.statements.cases import settings

TYPES = {
    "n": "int",
    "big": "bigint",
    "small": "tinyint",
    "d": "double",
    "f": "float",
    "m": "decimal(10,2)",
    "wide": "decimal(38,10)",
    "s": "string",
    "c": "string collate UTF8_LCASE",
    "b": "boolean",
    "st": "struct<n:int>",
}
LINES = (Path(__file__).parent / "contradictions.txt").read_text("utf-8").splitlines()
CASES = [tuple(part.strip() for part in line.split(" | ")) for line in LINES if line and line[0] != "#"]
NUMBERS = ["-2", "-1", "0", "1", "2", "3", "16777215", "16777216", "16777217", "9007199254740991", "9007199254740992"]
BETWEEN = ["0.5", "1.4", "16777216.5", "9007199254740993", "NaN", "NULL"]
TEXTS = ["''", "' '", "'a'", "'A'", "'a '", "'b'"]


def exclude(one: str, other: str) -> bool:
    return contradicts_itself(f"({one}) AND ({other})", TYPES)


@pytest.mark.parametrize(("one", "other", "answer"), CASES, ids=lambda part: part)
def test_which_conditions_exclude_each_other(one, other, answer):
    assert exclude(one, other) == exclude(other, one) == (answer == "yes")


def conditions(column: str) -> list[str]:
    literals = TEXTS if column == "s" else NUMBERS
    operators = ("=", "<=>") if column == "s" else ("=", "<", ">=")
    ranges = [] if column == "s" else [f"{column} BETWEEN {a} AND {b}" for a, b in pairwise(literals)]
    return [f"{column} {operator} {value}" for operator in operators for value in literals] + ranges


def values(column: str) -> str:
    """A relation with the literals and values next to them, all of the column's type, and with NULL and NaN."""
    texts = TEXTS if column == "s" else [f"'{n}'" for n in (*NUMBERS, *BETWEEN)]
    return f"SELECT try_cast(x AS {TYPES[column]}) AS {column} FROM VALUES {', '.join(f'({t})' for t in texts)} AS v(x)"


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_finds_no_row_that_satisfies_both(spark, ansi):
    claimed = 0
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        for column in ("n", "big", "small", "d", "f", "m", "s"):
            written = conditions(column)
            rows = spark.sql(f"SELECT array({', '.join(written)}) AS truth FROM ({values(column)})").collect()
            pairs = [p for p in product(range(len(written)), repeat=2) if exclude(*(written[i] for i in p))]
            satisfied = [(written[a], written[b]) for a, b in pairs if any(r.truth[a] and r.truth[b] for r in rows)]
            assert satisfied == []
            claimed += len(pairs)
    assert claimed > 2_000
