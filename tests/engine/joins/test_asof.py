"""ASOF JOIN: what its text becomes, where it may be, and the same as a search through all pairs.

Its queries with their rows are in asof.txt, what is refused in asof_errors.txt (test_statements.py)."""

from __future__ import annotations

import math
import operator
import random
import re
from itertools import product

import pytest

import sqlext
from sqlext.sessions.hook import unhooked
from tests.sampling import sample
from tests.statements.cases import as_lines, cases, expected_of, result_of, settings

from .conftest import QUICK

pytestmark = pytest.mark.spark
BY_SPARK = {"sqlext.order": "spark"}  # a window, not workers


def test_the_compiled_text_is_plain_spark_sql(given):
    case = next(case for case in cases("../engine/joins/asof.txt") if case.title.startswith("a chain, joins before"))
    plain = sqlext.compile(case.step.text, spark=given)
    assert "ASOF" not in plain
    assert result_of(unhooked(given)(as_lines(plain)).first()) == expected_of(case.step)


def test_a_filter_on_a_left_key_is_applied_to_both_relations_before_a_window(given):
    rows = "(SELECT CAST(id % 2 AS STRING) AS sym, id AS at FROM range(5))"
    join = f"{rows} AS t ASOF JOIN {rows} AS q MATCH_CONDITION (t.at > q.at) ON q.sym = t.sym"
    plan = given.sql(f"EXPLAIN EXTENDED SELECT * FROM {join} WHERE T.sym = 'A'").first().plan
    optimized = plan.partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]
    assert optimized.partition("Window")[2].count(" = A)") == 2


def test_rows_are_sorted_by_one_number_and_then_by_the_window(given):
    text = "SELECT id, price FROM trades t ASOF JOIN quotes q MATCH_CONDITION (t.at >= q.at) ON t.sym = q.sym"
    with settings(given, BY_SPARK):
        plan = given.sql(f"EXPLAIN {text}").first().plan
    assert re.findall(r"Sort \[(\(?\w+)", plan) == ["__sqlext_asof0_hash", "(shiftleft"]
    assert plan.count("Exchange") == 1


TIMES, KEYS = "MATCH_CONDITION (t.at >= q.at)", "ON t.sym = q.sym"
JOINED = f"FROM trades t ASOF JOIN quotes q {TIMES} {KEYS}"
TEXTS = "MATCH_CONDITION (collate(t.sym, 'UTF8_LCASE') >= collate(q.sym, 'UTF8_LCASE'))"
WINDOWS = {  # the reasons for a window
    f"SELECT id FROM trades t ASOF JOIN quotes q {TIMES}": "without keys one worker would hold all rows",
    f"SELECT id {JOINED} WHERE price > 1 AND t.sym = 'A'": "Spark applies a WHERE on sym before it",
    f"WITH w AS (SELECT * {JOINED}) SELECT * FROM w AS v WHERE v.price > 1 AND Sym = 'A'": "a WHERE on Sym before it",
    f"SELECT id FROM trades t ASOF JOIN quotes q {TIMES} ON DOUBLE(t.id) = q.price": "type double are equal",
    f"SELECT id FROM trades t ASOF JOIN quotes q {TEXTS} ON t.at = q.at": "values of type string collate",
    f"SELECT id FROM trades t ASOF JOIN quotes q MATCH_CONDITION (NEAREST (DOUBLE(t.at), q.at)) {KEYS}": "distances",
    f"SELECT a, id FROM trades t ASOF JOIN (SELECT array(1) AS a, * FROM quotes) AS q {TIMES} {KEYS}": "array<int>",
    f"SELECT * FROM (SELECT *, INTERVAL 1 MONTH FROM trades) AS t ASOF JOIN quotes q {TIMES} {KEYS}": "month to",
    f"WITH w AS (SELECT uuid() AS u, * FROM trades) SELECT id FROM w AS t ASOF JOIN quotes q {TIMES} {KEYS}": "random",
}
PAIRED = {  # the columns that workers return
    f"SELECT price, id {JOINED} WHERE t.at > 11": "left relation: `id`, `at`; of the right one: `price`",
    f"SELECT count(*) {JOINED}": "left relation: `sym`; of the right one: `at`",
    f"SELECT * {JOINED}": "left relation: `id`, `sym`, `at`; of the right one: `sym`, `at`, `price`",
    f"SELECT price FROM trades t ASOF JOIN quotes q {TIMES} USING (sym)": "times; of the right one: `sym`, `price`",
    f"SELECT id FROM trades t ASOF JOIN (SELECT *, array(1) AS a FROM quotes) AS q {TIMES} {KEYS}": "right one: `at`",
}


@pytest.mark.parametrize(("text", "shown"), [*WINDOWS.items(), *PAIRED.items()])
def test_explain_names_who_pairs_the_rows_and_why(given, text, shown):
    section = given.sql(f"EXPLAIN MATCH {text}").first()[0].partition("== Statement")[0]
    assert ("workers order and pair" in section, "window: both sides" in section) == (text in PAIRED, text in WINDOWS)
    assert shown in section


def test_a_view_is_a_window_whose_readers_may_filter_it(given):
    given.sql(f"CREATE OR REPLACE TEMPORARY VIEW joined AS SELECT t.sym, price {JOINED}")
    plan = given.sql("EXPLAIN SELECT * FROM joined WHERE sym = 'A'").first().plan
    given.catalog.dropTempView("joined")
    assert "Window" in plan and "MapInArrow" not in plan
    assert "MapInArrow" in given.sql(f"EXPLAIN SELECT id {JOINED}").first().plan


def test_the_last_time_without_a_zone_is_joined_in_each_time_zone(spark, tmp_path):
    rows = "VALUES (9223372036854775807), (0) AS v(x)"
    times = f"SELECT 1 AS k, CAST(timestamp_micros(x) AS TIMESTAMP_NTZ) AS t FROM {rows}"
    spark.sql(times).write.parquet(str(tmp_path / "times"))  # as the optimizer would compute them in each zone
    spark.read.parquet(str(tmp_path / "times")).createOrReplaceTempView("times")
    join = "SELECT a.t = b.t FROM times a ASOF JOIN times b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k"
    for zone in ("America/New_York", "Pacific/Kiritimati"):
        with settings(spark, {"spark.sql.session.timeZone": zone}):
            assert [row[0] for row in spark.sql(join).collect()] == [True, True]
    spark.catalog.dropTempView("times")


def test_views_and_a_table_are_made_of_it(given):
    text = "SELECT id, q.* FROM trades t ASOF JOIN quotes q MATCH_CONDITION (t.at > q.at) ON t.sym = q.sym"
    given.sql(f"CREATE TEMPORARY VIEW asof_view AS {text}")
    given.sql(f"CREATE TABLE asof_table AS {text}")
    for name in ("asof_view", "asof_table"):
        assert given.table(name).columns == ["id", "sym", "at", "price"]
        assert sorted(row.id for row in given.table(name).collect()) == [2, 7]
    given.sql(
        "CREATE VIEW asof_stored AS SELECT l.id FROM asof_table l ASOF JOIN asof_table r MATCH_CONDITION (l.id > r.id)"
    )
    shown = given.sql(
        "SELECT t.id, asof_stored.id FROM trades t ASOF JOIN asof_stored MATCH_CONDITION (t.id <= asof_stored.id)"
    )
    assert sorted(map(tuple, shown.collect())) == [(i, 7) for i in range(1, 8)]
    given.sql("DROP VIEW asof_stored")
    given.catalog.dropTempView("asof_view")
    given.sql("DROP TABLE asof_table")


# All comparisons, types of join and keys against a search through all pairs. Each case is the rows of one number c.

COMPARISONS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
TIMES = {f"(l.t {sign} r.t)": compare for sign, compare in COMPARISONS.items()}
TIMES["(NEAREST (l.t, r.t))"] = lambda left, right: True
CONDITIONS = {
    **{times: (compare, math.inf) for times, compare in TIMES.items()},
    **{f"{times} WITHIN 2": (compare, 2) for times, compare in TIMES.items()},
}
KINDS = ("", "LEFT ")
ALONE, CHAIN = "asof_l AS l", "asof_l AS l JOIN (SELECT 1 AS one) AS x ON x.one = 1"
CRITERIA = {
    (ALONE, "ON l.c = r.c"): lambda left, right: True,
    (ALONE, "ON l.c = r.c AND l.k = r.k"): lambda left, right: None is not left[2] == right[1],
    (ALONE, "ON r.k <=> l.k AND r.c = l.c"): lambda left, right: left[2] == right[1],
    (CHAIN, "ON l.c = r.c AND l.k = r.k"): lambda left, right: None is not left[2] == right[1],
    (ALONE, "USING (c, k)"): lambda left, right: None is not left[2] == right[1],
}
# An inner join is the left one without its padded rows, so some conditions are enough.
SOME = ("(l.t >= r.t)", "(l.t < r.t)", "(NEAREST (l.t, r.t)) WITHIN 2")
VARIANTS = [v for v in product(CONDITIONS, KINDS, CRITERIA) if v[1] or v[0] in SOME]
FEW = VARIANTS[::4]  # of each condition, kind and criterion one at least
CASES = 40


def rows_of_cases(seed: int):
    """(c, id, k, t) on the left and (c, k, t, v) on the right: few values, so that there are ties, NULLs and twins."""
    rng = random.Random(seed)

    def any_of(*values):
        return rng.choice(values)

    lefts = [
        (c, i, any_of(0, 1, None), any_of(*range(-3, 6), None)) for c in range(CASES) for i in range(rng.randrange(7))
    ]
    rights = [
        (c, any_of(0, 1, None), any_of(*range(-3, 6), None), any_of(1, 2, None))
        for c in range(CASES)
        for _ in range(rng.randrange(9))
    ]
    return lefts, rights


def nearest(left, rights, condition, matches):
    """The smallest of the rows of the nearest time, of two times the earlier one; None if there is none."""
    (compare, limit), (c, _, _, t) = condition, left
    known = [r for r in rights if r[0] == c and None not in (t, r[2]) and compare(t, r[2]) and matches(left, r)]
    if not known:
        return None
    distance, time = min((abs(t - r[2]), r[2]) for r in known)
    rows = (r for r in known if r[2] == time)
    return min(rows, key=lambda r: [(x is not None, x or 0) for x in r]) if distance <= limit else None


@pytest.fixture(scope="module")
def sides(spark):
    """The rows of `asof_l` and `asof_r`."""
    lefts, rights = rows_of_cases(1)
    spark.createDataFrame(lefts, "c INT, id INT, k INT, t INT").createOrReplaceTempView("asof_l")
    spark.createDataFrame(rights, "c INT, k INT, t INT, v INT").createOrReplaceTempView("asof_r")
    yield lefts, rights
    for name in ("asof_l", "asof_r"):
        spark.catalog.dropTempView(name)


def test_few_variants_are_some_of_everything():
    assert [set(values) for values in zip(*FEW)] == [set(CONDITIONS), set(KINDS), set(CRITERIA)]


OTHERS = sample([variant for variant in VARIANTS if variant not in FEW], 3)


@pytest.mark.random(every=2)
@pytest.mark.parametrize("order", ["worker", "spark"])
@pytest.mark.parametrize("variants", [FEW, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["few", "others"])
def test_it_finds_what_a_search_through_all_pairs_finds(spark, sides, variants, order):
    lefts, rights = sides
    queries = [
        f"SELECT {i} AS n, l.c AS lc, l.id, r.k, r.t, r.v FROM {relation} {kind}ASOF JOIN asof_r AS r\n"
        f"MATCH_CONDITION {condition} {criteria}"
        for i, (condition, kind, (relation, criteria)) in enumerate(variants)
    ]
    with settings(spark, {**QUICK, "sqlext.order": order}):
        rows = spark.sql("\nUNION ALL\n".join(queries)).collect()
    results = {variant: [] for variant in variants}
    for n, *row in rows:
        results[variants[n]].append(tuple(row))
    for variant, shown in results.items():
        condition, kind, criteria = variant
        partners = [(x, nearest(x, rights, CONDITIONS[condition], CRITERIA[criteria])) for x in lefts]
        pairs = [(x[0], x[1], *(y[1:] if y else (None,) * 3)) for x, y in partners if y or kind]
        assert sorted(shown, key=str) == sorted(pairs, key=str), variant
