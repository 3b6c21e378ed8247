"""EXPLAIN MATCH ANALYZE of EMIT: the report over a few rows. `operators/emit/test_trace.py` has its counts."""

from __future__ import annotations

import json

import pytest

from .report_cases import assert_lines, cases

ORDERS = """WITH orders AS (SELECT * FROM VALUES
  ('a', TIMESTAMP '2026-01-01 10:00:10', 5), ('a', TIMESTAMP '2026-01-01 10:01:30', 7),
  ('b', TIMESTAMP '2026-01-01 10:02:00', 1), ('a', TIMESTAMP '2026-01-01 10:07:00', 2), ('c', NULL, 3)
  AS orders(shop, ts, amount))"""
CASES = cases("analyze_emit.txt")


def query(call: str, rest: str) -> str:
    rest = rest.replace("KEYS", "GROUP BY shop, window_start, window_end")
    return f"{ORDERS} SELECT shop, sum(amount) AS total FROM {call} {rest}"


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_report_says_where_rows_are_lost(spark, case):
    _, call, rest, *expected = case
    assert_lines(spark.sql(f"EXPLAIN MATCH ANALYZE {query(call, rest)}").collect()[0].plan, expected)


def test_a_limit_bounds_the_keys(spark):
    text = query(*CASES[0][1:3])
    report = json.loads(spark.sql(f"EXPLAIN MATCH ANALYZE FORMAT JSON LIMIT 1 PARTITION {text}").collect()[0].plan)
    (windows,) = report["clauses"]
    assert (windows["kind"], windows["read"], windows["timed"]) == ("EMIT", 5, 4)
    assert windows["counts"]["windows"] in (0, 1, 2)  # those of c, b or a
