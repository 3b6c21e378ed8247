"""EXPLAIN MATCH ANALYZE of joins on time: the report over a few rows, and its counts against all pairs."""

from __future__ import annotations

import json
from collections import defaultdict
from random import Random
from typing import NamedTuple

import pytest

from sqlext.engine.joins.join_queries import keys_query, pairs_query
from sqlext.engine.joins.join_shape import shape_of
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.rewriter.text.splice import join
from sqlext.sessions.hook import unhooked
from tests.sampling import seeded

from .report_cases import assert_lines, cases

RELATIONS = """WITH l AS (SELECT * FROM VALUES (1, 10, true), (2, 20, true), (2, 100, false), (NULL, 1, true),
  (9, 9, true) AS v (k, t, ok)),
r AS (SELECT * FROM VALUES (1, 11, 'x'), (1, 30, 'y'), (2, 40, 'x'), (3, 21, 'x') AS v (k, t, s))"""
CASES = cases("analyze_joins.txt")


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_report_says_where_rows_are_lost(spark, case):
    _, joined, *expected = case
    text = spark.sql(f"EXPLAIN MATCH ANALYZE {RELATIONS} SELECT * FROM {joined}").collect()[0].plan
    assert_lines(text, expected)


def test_an_anti_join_that_returns_no_row_does_not_blame_the_query_around_it(spark):
    joined = "r LEFT ANTI INTERVAL JOIN r AS r2 ON r.k = r2.k AND r.t BETWEEN r2.t - 1 AND r2.t + 1"
    text = spark.sql(f"EXPLAIN MATCH ANALYZE {RELATIONS} SELECT * FROM {joined}").collect()[0].plan
    assert "rows of the result: 0\n" in text


class Form(NamedTuple):
    """A join, and the range of a row with time t: its ends, None for no end, and whether they are in it. `is_swapped`:
    the ranges are those of the right rows."""

    joined: str
    low: int | None
    high: int | None
    has_low: bool = True
    has_high: bool = True
    is_swapped: bool = False


def asof(condition: str, more: str = "") -> str:
    return f"l ASOF JOIN r MATCH_CONDITION ({condition}){more}"


FORMS = [
    Form(f"{asof('l.t >= r.t')} ON l.k = r.k", None, 0),
    Form(f"{asof('l.t > r.t')} ON l.k = r.k", None, 0, has_high=False),
    Form(f"{asof('r.t >= l.t')} ON l.k = r.k", 0, None),
    Form(f"{asof('l.t < r.t', ' WITHIN 2')} ON l.k = r.k", 0, 2, has_low=False),
    Form(f"{asof('l.t >= r.t', ' WITHIN 2')} ON l.k = r.k", -2, 0),
    Form(f"{asof('NEAREST(l.t, r.t)')} ON l.k = r.k", None, None),
    Form(f"{asof('NEAREST(l.t, r.t)', ' WITHIN 1')} USING (k)", -1, 1),
    Form(f"{asof('l.t >= r.t')} ON l.k = r.k AND r.t > l.t - 2", -2, 0, has_low=False),
    Form(f"{asof('l.t >= r.t', ' WITHIN 2')} ON l.k = r.k AND r.t > l.t - 2", -2, 0, has_low=False),
    Form(f"{asof('l.t >= r.t', ' WITHIN 2')} ON l.k = r.k AND r.t > l.t - 3", -2, 0),
    Form("l INTERVAL JOIN r ON l.k = r.k AND r.t BETWEEN l.t - 1 AND l.t + 2", -1, 2),
    Form("l INTERVAL JOIN r ON l.k = r.k AND r.t > l.t - 1 AND r.t < l.t + 2", -1, 2, has_low=False, has_high=False),
    Form("l INTERVAL JOIN r ON l.k = r.k AND r.t + 1 > l.t AND r.t + 1 <= l.t + 1", -1, 0, has_low=False),
    Form("l INTERVAL JOIN r ON l.k = r.k AND l.t BETWEEN r.t - 1 AND r.t + 2", -1, 2, is_swapped=True),
    Form("l INTERVAL JOIN r ON l.k = r.k AND r.t BETWEEN l.t + 2 AND l.t", 2, 0),
]


def rows_of(chance: Random) -> list[tuple[int | None, int | None]]:
    return [
        (chance.choice([*range(12), None]), chance.choice([None, *range(9)])) for _ in range(chance.choice([9, 40]))
    ]


def brute_force(left: list, right: list, form: Form) -> dict[int, tuple]:
    """For each key: the times, the ranges, the pairs, the ranges and the times with a partner, the nearest miss."""
    both = right if form.is_swapped else left, left if form.is_swapped else right
    result: dict[int, list] = defaultdict(lambda: [0, 0, 0, 0, set(), None])
    for k, t in both[1]:
        if k is not None and t is not None:
            result[k][0] += 1
    for k, t in both[0]:
        if k is None or t is None:
            continue
        low, high = (None if end is None else t + end for end in (form.low, form.high))
        if (
            low is not None
            and high is not None
            and (low > high or (low == high and not (form.has_low and form.has_high)))
        ):
            continue
        counts, met = result[k], False
        misses = []
        for i, (other, at) in enumerate(both[1]):
            if other != k or at is None:
                continue
            after_low = low is None or at > low or (at == low and form.has_low)
            before_high = high is None or at < high or (at == high and form.has_high)
            met |= after_low and before_high
            if after_low and before_high:
                counts[2] += 1
                counts[4].add(i)
            else:
                misses.append(low - at if not after_low else at - high)
        counts[1] += 1
        counts[3] += met
        if misses and not met:
            counts[5] = min([*misses, *([] if counts[5] is None else [counts[5]])])
    return {k: (*counts[:4], len(counts[4]), counts[5]) for k, counts in result.items()}


@pytest.mark.random(every=3)
@pytest.mark.parametrize("part", range(3))
def test_the_counts_are_those_of_all_pairs(spark, part):
    chance = seeded(part)
    left, right = rows_of(chance), rows_of(chance)
    shown = (", ".join(f"({k}, {t})" for k, t in rows).replace("None", "NULL") for rows in (left, right))
    names = "WITH l AS (SELECT * FROM VALUES {} AS v (k, t)), r AS (SELECT * FROM VALUES {} AS v (k, t))"
    names = names.format(*shown)
    queries = []
    for number, form in enumerate(FORMS):
        text = f"{names} SELECT * FROM {form.joined}"
        plan = plan_statement(SqlCall(spark=spark, sql=unhooked(spark), text=text, args=None, frames={}))
        keys = keys_query(shape_of(plan.joins[0].sides))
        queries.append(
            f"SELECT {number}, k0, points, ranges, pairs, ranges_met, points_met, nearest.miss FROM ({keys})"
        )
    counted: dict[int, dict] = defaultdict(dict)
    for number, key, *counts in spark.sql(f"{names} " + " UNION ALL ".join(queries)).collect():
        counted[number][key] = tuple(counts)
    for number, form in enumerate(FORMS):
        assert counted[number] == brute_force(left, right, form), (form, left, right)


def test_a_limit_bounds_the_keys(spark):
    text = f"{RELATIONS} SELECT * FROM {FORMS[0].joined}"
    plan = plan_statement(SqlCall(spark=spark, sql=unhooked(spark), text=text, args=None, frames={}))
    sides = plan.joins[0].sides
    row = plan.queries.run(pairs_query(shape_of(sides), join(sides.prefix), limit=2)).collect()[0]
    assert row["keys"] == 2


@pytest.mark.parametrize(
    "join_on_time",
    [
        "INTERVAL JOIN r ON r.t BETWEEN l.t - 5 AND l.t + 5 AND l.k = r.k",
        "INTERVAL JOIN r ON r.t BETWEEN l.t - 5 AND l.t + 5 AND l.k = r.k AND l.t < r.t",
        "ASOF JOIN r MATCH_CONDITION (l.t <= r.t) ON l.k = r.k",
    ],
)
def test_a_limit_says_nothing_about_the_other_keys(spark, join_on_time):
    query = f"EXPLAIN MATCH ANALYZE LIMIT 1 PARTITION {RELATIONS} SELECT * FROM l {join_on_time}"
    text = spark.sql(query).collect()[0].plan
    assert text.splitlines()[2].startswith("Of 1 key, ")
    assert "no right row has" not in text and "left rows without one" not in text


@pytest.mark.random(every=2)
@pytest.mark.parametrize("key", ["l.k = r.k", "l.k <=> r.k"])
def test_a_limit_counts_the_other_conditions_of_its_keys_only(spark, key):
    """With each number of keys the counts are those of the join of the rows with these keys."""
    left = ", ".join(f"({k}, {t})" for k in ("NULL", 1, 2, 3) for t in range(3))
    right = ", ".join(f"(CAST({k} AS BIGINT), {t}, '{'xy'[t % 2]}')" for k in ("NULL", 1, 2, 4) for t in range(5))
    names = f"""WITH l AS (SELECT * FROM VALUES {left} AS v (k, t)),
      r AS (SELECT * FROM VALUES {right} AS v (k, t, s))"""
    on = f"{key} AND r.t BETWEEN l.t - 1 AND l.t + 1 AND s = 'x' AND l.t + r.t <> 3"
    query = f"{names} SELECT * FROM l INTERVAL JOIN r ON {on}"
    pairs = []
    for limit in range(1, 7):
        explain = f"EXPLAIN MATCH ANALYZE FORMAT JSON LIMIT {limit} PARTITIONS {query}"
        (join_report,) = json.loads(spark.sql(explain).collect()[0][0])["clauses"]
        assert join_report["left"]["met"] <= join_report["left"]["here"]
        assert join_report["pairs"] <= join_report["in_range"] <= join_report["same_key"]
        pairs.append(join_report["pairs"])
    assert pairs == sorted(pairs)
    assert pairs[0] < pairs[-1] == spark.sql(f"SELECT count(*) FROM ({query})").first()[0]
