"""INTERVAL JOIN over tables: what its text becomes, where it may be, and the same as a search through all pairs.

Its queries with their rows are in interval.txt, what is refused in interval_errors.txt (test_statements.py)."""

from __future__ import annotations

import random
import re
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest

import sqlext
from sqlext.sessions.hook import unhooked
from tests.sampling import SAMPLE, sample, seeded
from tests.statements.cases import cases, settings
from tests.zones import CHANGES, HOUR_S

from .conftest import QUICK

pytestmark = pytest.mark.spark
PAIRS = "SELECT * FROM imps i INTERVAL JOIN clks c ON c.ad = i.ad AND c.at BETWEEN i.at AND i.at + INTERVAL 5 MINUTES"


def test_the_compiled_text_is_plain_spark_sql_that_shows_nothing_more(given):
    plain = sqlext.compile(PAIRS, spark=given)
    assert "INTERVAL JOIN" not in plain
    assert unhooked(given)(plain).columns == ["id", "ad", "at", "id", "ad", "at"]


def test_views_and_tables_are_made_of_it(given):
    pairs = PAIRS.replace("*", "i.id, c.id AS click")
    given.sql(f"CREATE TEMPORARY VIEW interval_view AS {pairs}")
    given.sql(f"CREATE TABLE interval_table AS {pairs} AND c.id = 12")
    given.sql(f"INSERT INTO interval_table {pairs} AND c.id = 11")
    given.sql(f"MERGE INTO interval_table t USING ({pairs}) s ON t.click = s.click WHEN NOT MATCHED THEN INSERT *")
    on = "ON b.click BETWEEN a.click AND a.click + 4"
    given.sql(
        f"CREATE VIEW interval_stored AS SELECT a.id FROM interval_table a ANTI INTERVAL JOIN interval_table b {on}"
    )
    wanted = [(1, 11), (1, 16), (2, 12)]
    for name in ("interval_view", "interval_table"):
        assert sorted(tuple(row) for row in given.table(name).collect()) == wanted
    assert given.sql("SELECT * FROM interval_stored").collect() == []
    given.catalog.dropTempView("interval_view")
    given.sql("DROP VIEW interval_stored")
    given.sql("DROP TABLE interval_table")


@pytest.mark.parametrize("case", cases("../engine/joins/interval_explained.txt"), ids=str)
def test_explain_match_tells_how_rows_meet(given, case):
    plan = given.sql(case.step.text).first().plan
    assert plan.partition("\n\n== Statement")[0].split("\n")[1:] == case.step.lines


@pytest.mark.parametrize("join", ["", "LEFT", "RIGHT"])
def test_a_small_side_is_broadcast_if_a_hint_says_so(given, join):
    name = "i" if join == "RIGHT" else "c"
    text = PAIRS.replace("SELECT", f"SELECT /*+ BROADCAST({name}) */").replace("i INTERVAL", f"i {join} INTERVAL")
    with settings(given, {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        plan = given.sql("EXPLAIN " + text).first().plan
    assert "BroadcastHashJoin" in plan and re.search("__sqlext_[a-z]+_bucket0", plan)


# All types of join, bounds and types of time against a search through all pairs.

ROWS = 50


@dataclass(frozen=True)
class Domain:
    """Times of one type, told as integers p: `time` is p's, `{}` standing for it, `unit` the distance of n."""

    name: str
    time: str
    unit: Callable[[int], str]


DOMAINS = (
    Domain("int", "{}", str),
    Domain("long", "{} * 1000000000000L", lambda n: f"{n}000000000000L"),
    Domain("ts", "timestamp_seconds({})", lambda n: f"INTERVAL '{n}' SECONDS"),
    Domain("ntz", "CAST(DATE'1970-01-01' AS TIMESTAMP_NTZ) + make_dt_interval(0, 0, 0, {})",
           lambda n: f"INTERVAL '{n}' SECONDS"),
    Domain("date", "date_add(DATE'1970-01-01', {})", lambda n: f"INTERVAL '{n}' DAYS"),
    Domain("double", "CAST({} AS DOUBLE) / 4", lambda n: f"{n / 4}D"),
    Domain("decimal", "CAST({} AS DECIMAL(12, 2))", lambda n: f"{n}.00BD"),
)  # fmt: skip


@dataclass(frozen=True)
class Bound:
    """`side`.`column`, so much later."""

    column: str
    later: int = 0

    def sql(self, side: str, domain: Domain) -> str:
        sign, unit = ("-", domain.unit(-self.later)) if self.later < 0 else ("+", domain.unit(self.later))
        return f"{side}.{self.column} {sign} {unit}" if self.later else f"{side}.{self.column}"

    def value(self, row) -> int | None:
        value = getattr(row, self.column)
        return None if value is None else value + self.later


@dataclass(frozen=True)
class Range:
    """Whether the time is the left side's, the bounds of the other's row, and whether they are in the range."""

    time_is_left: bool
    lower: Bound
    upper: Bound
    has_lower: bool = True
    has_upper: bool = True

    def sql(self, domain: Domain) -> str:
        time, side = ("l.t", "r") if self.time_is_left else ("r.t", "l")
        lower, upper = self.lower.sql(side, domain), self.upper.sql(side, domain)
        if self.has_lower and self.has_upper:
            return f"{time} BETWEEN {lower} AND {upper}"
        return f"{lower} {'<=' if self.has_lower else '<'} {time} AND {time} {'<=' if self.has_upper else '<'} {upper}"

    def holds(self, left, right) -> bool:
        point, row = (left, right) if self.time_is_left else (right, left)
        time, lower, upper = point.t, self.lower.value(row), self.upper.value(row)
        if time is None or lower is None or upper is None:
            return False
        return (lower <= time if self.has_lower else lower < time) and (
            time <= upper if self.has_upper else time < upper
        )


RANGES = (
    Range(False, Bound("t", -3), Bound("t", 2)),
    Range(False, Bound("t", -3), Bound("t", 2), has_lower=False, has_upper=False),
    Range(True, Bound("t", -4), Bound("t", 1), has_upper=False),
    Range(False, Bound("t"), Bound("t")),
    Range(True, Bound("t", 2), Bound("t", -1)),
    Range(False, Bound("t", -9), Bound("t", -4)),
    Range(True, Bound("lo"), Bound("hi")),
    Range(False, Bound("lo"), Bound("hi"), has_lower=False, has_upper=False),
    Range(True, Bound("lo", 1), Bound("t", 3)),
)
JOINS = ("", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
KEYS = {
    "": lambda left, right: True,
    "l.k = r.k AND ": lambda left, right: None is not left.k == right.k,
    "r.k IS NOT DISTINCT FROM l.k AND (l.id + r.id) % 3 > 0 AND ": lambda left, right: (
        left.k == right.k and (left.id + right.id) % 3 > 0
    ),
}
Row = namedtuple("Row", "id k t lo hi")


def random_rows(rng: random.Random) -> list[Row]:
    """Few values, so that there are twins, NULLs, ranges that end before they begin, and some that hardly end."""

    def one(i: int) -> Row:
        t, lo = rng.choice([*range(-30, 30), None]), rng.choice([*range(-30, 30), -(10**6), None])
        hi = rng.choice([None, 10**6, *([(lo or 0) + rng.randrange(-4, 12)] * 10)])
        return Row(i, rng.choice([0, 1, 2, None]), t, lo, hi)

    return [one(i) for i in range(ROWS)]


def expected(join: str, lefts: list[Row], rights: list[Row], matches) -> list[tuple]:
    pairs = [(x.id, y.id) for x in lefts for y in rights if matches(x, y)]
    found_left, found_right = {x for x, _ in pairs}, {y for _, y in pairs}
    if join == "LEFT SEMI":
        return [(x, None) for x in sorted(found_left)]
    alone = [(x.id, None) for x in lefts if x.id not in found_left]
    if join == "LEFT ANTI":
        return alone
    shown = list(pairs)
    shown += alone if join in ("LEFT", "FULL") else []
    return shown + [(None, y.id) for y in rights if y.id not in found_right and join in ("RIGHT", "FULL")]


@pytest.fixture(scope="module")
def tables(spark):
    """Views `l_int`, `r_int` and so on, and their rows."""
    rng = random.Random(7)
    rows = {"l": random_rows(rng), "r": random_rows(rng)}
    for side, domain in product(rows, DOMAINS):
        times = ", ".join(f"{domain.time.format(c)} AS {c}" for c in ("t", "lo", "hi"))
        frame = spark.createDataFrame(rows[side], "id INT, k INT, t INT, lo INT, hi INT")
        frame.createOrReplaceTempView("interval_rows")
        made = spark.sql(f"SELECT id, k, {times} FROM interval_rows")
        made.createOrReplaceTempView(f"{side}_{domain.name}")
    yield rows["l"], rows["r"]
    for side, domain in product(rows, DOMAINS):
        spark.catalog.dropTempView(f"{side}_{domain.name}")
    spark.catalog.dropTempView("interval_rows")


@dataclass(frozen=True)
class Variant:
    join: str
    domain: Domain
    key: str
    range_: Range

    def query(self, number: int) -> str:
        """The ids of both rows; SEMI and ANTI have no right one."""
        other = "NULL" if self.join in ("LEFT SEMI", "LEFT ANTI") else "r.id"
        relations = f"l_{self.domain.name} l {self.join} INTERVAL JOIN r_{self.domain.name} r"
        condition = f"{self.key}{self.range_.sql(self.domain)}"
        return f"SELECT {number} AS n, l.id AS l, {other} AS r FROM {relations} ON {condition}"

    def holds(self, left: Row, right: Row) -> bool:
        return KEYS[self.key](left, right) and self.range_.holds(left, right)


VARIANTS = [
    Variant(join, DOMAINS[(i + 2 * n) % len(DOMAINS)], list(KEYS)[(i + n) % len(KEYS)], range_)
    for n, range_ in enumerate(RANGES)
    for i, join in enumerate(JOINS)
]
FEW = [VARIANTS[len(JOINS) * n + n % len(JOINS)] for n in range(len(RANGES))]  # of everything one at least
REST = [v for v in VARIANTS if v not in FEW]


def test_few_variants_are_some_of_everything():
    found = [{getattr(v, name) for v in FEW} for name in ("join", "domain", "key", "range_")]
    assert found == [set(JOINS), set(DOMAINS), set(KEYS), set(RANGES)]


@pytest.mark.parametrize(
    ("variants", "broadcast"),
    [
        pytest.param(FEW, "10m", id="few"),
        *(
            pytest.param(REST[i::4], "-1" if i < 2 else "10m", marks=pytest.mark.slow, id=f"others {i}")
            for i in sample(range(4), 2)
        ),
    ],
)
def test_it_finds_what_a_search_through_all_pairs_finds(spark, tables, variants, broadcast):
    lefts, rights = tables
    texts = [variant.query(i) for i, variant in enumerate(variants)]
    with settings(spark, {**QUICK, "spark.sql.autoBroadcastJoinThreshold": broadcast}):
        shown = spark.sql("\nUNION ALL\n".join(texts)).collect()
    for i, variant in enumerate(variants):
        found_rows = [(row.l, row.r) for row in shown if row.n == i]
        wanted_rows = expected(variant.join, lefts, rights, variant.holds)
        assert sorted(found_rows, key=str) == sorted(wanted_rows, key=str), texts[i]


LONG = ["- INTERVAL 1 DAY {} + INTERVAL 1 DAY", "+ INTERVAL 23 HOURS {} + INTERVAL 2 DAYS",
        "- INTERVAL 1 MONTH {} - INTERVAL 27 DAYS", "- (INTERVAL 12 HOURS + INTERVAL 12 HOURS) {} - INTERVAL 23 HOURS",
        "+ INTERVAL 12 HOURS + INTERVAL 12 HOURS {} + INTERVAL 24 HOURS"]  # fmt: skip


@pytest.mark.random(every=2)
@pytest.mark.parametrize("zone", CHANGES)
def test_days_are_as_long_as_in_the_plain_join_where_clocks_change(spark, zone):
    rng = seeded(int(SAMPLE) if SAMPLE.isdigit() else 3)
    for name in ("l", "r"):
        starts = [rng.choice(CHANGES[zone]) - 45 * 24 * HOUR_S for _ in range(60)]
        times = [(i, s + rng.randrange(24 * 90) * HOUR_S) for i, s in enumerate(starts)]
        times += [(i + 60, s + 44 * 24 * HOUR_S + rng.randrange(192) * HOUR_S // 4) for i, s in enumerate(starts)]
        frame = spark.createDataFrame(times, "id INT, s LONG").selectExpr("id", "timestamp_seconds(s) AS t")
        frame.createOrReplaceTempView(f"clock_{name}")
    texts = [
        f"SELECT {i} AS n, l.id AS l, r.id AS r FROM clock_l l {join} INTERVAL JOIN clock_r r"
        f" ON r.t BETWEEN l.t {bounds.format('AND l.t')}"
        for i, (join, bounds) in enumerate(product(("LEFT", "RIGHT", "FULL"), LONG))
    ]
    text = "\nUNION ALL\n".join(texts)
    with settings(spark, {**QUICK, "spark.sql.session.timeZone": zone}):
        shown = [tuple(row) for row in spark.sql(text).collect()]
        plain = [tuple(row) for row in unhooked(spark)(text.replace("INTERVAL JOIN", "JOIN")).collect()]
    assert sorted(shown, key=str) == sorted(plain, key=str)
    assert any(None not in row for row in shown)
    for name in ("clock_l", "clock_r"):
        spark.catalog.dropTempView(name)
