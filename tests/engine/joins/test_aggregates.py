"""INTERVAL JOIN … AGGREGATE against plain SQL of Spark: a join of all pairs and GROUP BY.

Its queries with their rows are in aggregates.txt, what is refused in aggregates_errors.txt (test_statements.py)."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

import pytest

import sqlext
from sqlext.sessions.hook import unhooked
from tests.engine.joins.conftest import QUICK
from tests.engine.joins.test_interval_join import DOMAINS, KEYS, RANGES, Domain, Range, random_rows
from tests.sampling import sample, seeded
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
RANGE_COUNT = "c.ad = i.ad AND c.at BETWEEN i.at AND i.at + INTERVAL 5 MINUTES"
OF_ONE_STATEMENT = 4


def test_the_compiled_text_is_plain_spark_sql(given):
    text = f"SELECT * FROM imps i LEFT INTERVAL JOIN clks c ON {RANGE_COUNT} AGGREGATE (count(*) AS n)"
    plain = sqlext.compile(text, spark=given)
    assert "INTERVAL JOIN" not in plain and "AGGREGATE" not in plain
    rows = unhooked(given)(plain)
    assert rows.columns == ["id", "ad", "at", "n"] and sorted(row.n for row in rows.collect()) == [0, 0, 0, 1, 2]


def test_views_and_tables_are_made_of_it(given):
    text = f"SELECT i.id, n FROM imps i INTERVAL JOIN clks c ON {RANGE_COUNT} AGGREGATE (count(*) AS n)"
    given.sql(f"CREATE OR REPLACE TEMPORARY VIEW aggregates_view AS {text}")
    given.sql(f"CREATE TABLE aggregates_table AS {text}")
    for name in ("aggregates_view", "aggregates_table"):
        assert sorted(tuple(row) for row in given.table(name).collect()) == [(1, 2), (2, 1)]
    given.catalog.dropTempView("aggregates_view")
    given.sql("DROP TABLE aggregates_table")


# random statements against plain SQL

# The columns of the right relation that calls read; they decide the order of rows of one time.
COLUMNS = ("id", "n", "d", "s", "m")
CALLS = (
    "count(*)", "count(r.n)", "sum(r.n)", "sum(r.n * 70000000000L)", "avg(r.n)", "sum(r.d)", "avg(r.d)", "sum(r.m)",
    "min(r.n)", "max(r.n)", "min(r.s)", "max(r.s)", "max(r.d)", "min(r.d)", "max(r.m)", "first(r.n)", "last(r.n)",
    "last(r.s)", "first_value(r.s, true)", "last(r.d, true)", "count_if(r.n > 0)", "bool_or(r.n > 0)",
    "bool_and(r.n > 0)", "count(DISTINCT r.n)", "sum(DISTINCT r.d)", "collect_list(r.n)", "bit_xor(r.n)", "median(r.n)",
    "max_by(r.id, struct(r.n, r.id))",
)  # fmt: skip
FILTERS = ("", "", "r.n % 2 = 0", "r.d > 1", "r.s IS NOT NULL")


@dataclass(frozen=True)
class Query:
    """A statement; `calls`: each call and the condition of its FILTER."""

    domain: Domain
    range_: Range
    keys: str
    is_left: bool
    is_prevailing: bool
    calls: tuple[tuple[str, str], ...]
    suffix: str

    @property
    def lower(self) -> str:
        return self.range_.lower.sql("l", self.domain)

    @property
    def on(self) -> str:
        return self.keys + self.range_.sql(self.domain)

    @property
    def relations(self) -> tuple[str, str]:
        return tuple(f"{side}_{self.domain.name}{self.suffix} AS {side}" for side in "lr")  # type: ignore[return-value]

    @property
    def order(self) -> list[str]:
        read = " ".join(f"{call} {condition}" for call, condition in self.calls)
        ends = [bound.sql("r", self.domain) for bound in (self.range_.lower, self.range_.upper)]
        return [*(ends if self.range_.time_is_left else ["r.t"]), *(f"r.{c}" for c in COLUMNS if f"r.{c}" in read)]

    def text(self) -> str:
        """The statement of ours."""
        left, right = self.relations
        named = [
            f"{inner}{_filter(c)} AS a{i}" for i, (call, c) in enumerate(self.calls) for _, inner in [_split(call)]
        ]
        shown = ", ".join(_split(call)[0].format(f"a{i}") for i, (call, _) in enumerate(self.calls))
        join = f"{left} {'LEFT ' if self.is_left else ''}INTERVAL JOIN {right} ON {self.on}"
        tail = " INCLUDING PREVAILING" if self.is_prevailing else ""
        return f"SELECT id, CAST(struct({shown}) AS STRING) AS v FROM {join} AGGREGATE ({', '.join(named)}){tail}"

    def plain(self) -> str:
        """The same rows by a join and GROUP BY, in Spark's own SQL."""
        left, right = self.relations
        pairs = f"SELECT l.id AS lid, r.* FROM {left} JOIN {right} ON {self.on}"
        if self.is_prevailing:
            order = ", ".join(f"{column} DESC" for column in self.order)
            upper = self.range_.upper.sql("l", self.domain)
            pairs += f""" UNION ALL SELECT * EXCEPT (w) FROM (
                SELECT l.id AS lid, r.*, row_number() OVER (PARTITION BY l.id ORDER BY {order}) AS w
                FROM {left} JOIN {right} ON {self.keys}r.t < {self.lower} AND {upper} IS NOT NULL) WHERE w = 1"""
        shown = ", ".join(self._plain_call(*call) for call in self.calls)
        having = "" if self.is_left else " HAVING count(r.lid) > 0"
        return (
            f"SELECT l.id, CAST(struct({shown}) AS STRING) AS v FROM {left} LEFT JOIN ({pairs}) AS r ON r.lid = l.id"
            f" GROUP BY l.id{having}"
        )

    def _plain_call(self, call: str, condition: str) -> str:
        """The call, with the order of the right times where it depends on them."""
        around, inner = _split(call)
        name, value = inner.split("(", 1)
        conditions = ["r.lid IS NOT NULL", *filter(None, [condition])]
        key = f"struct({', '.join(self.order)})"
        if name in ("first", "last", "first_value"):
            argument = value.split(")")[0].split(",")[0]
            if "true" in inner:
                conditions.append(f"{argument} IS NOT NULL")
            inner = f"{'max' if name == 'last' else 'min'}_by({argument}, {key})"
        elif name == "collect_list":
            conditions.append("r.n IS NOT NULL")
            around, inner = "transform(array_sort({}), e -> e.v)", f"collect_list(struct({key} AS k, r.n AS v))"
        return around.format(f"{inner} FILTER (WHERE {' AND '.join(conditions)})")


def _split(call: str) -> tuple[str, str]:
    """What is around the aggregate, with {} in its place, and the aggregate."""
    for function in ("round", "sort_array"):
        if call.startswith(function):
            inside = call[len(function) + 1 : -1]
            inner, comma, rest = inside.rpartition(", ") if function == "round" else (inside, "", "")
            return f"{function}({{}}{comma}{rest})", inner
    return "{}", call


def _filter(condition: str) -> str:
    return f" FILTER (WHERE {condition})" if condition else ""


def random_query(rng: random.Random) -> Query:
    keys, range_ = rng.choice(list(KEYS)), rng.choice(RANGES)
    return Query(
        domain=rng.choice(DOMAINS),
        range_=range_,
        keys=keys,
        is_left=rng.random() < 0.6,
        is_prevailing=not range_.time_is_left and rng.random() < 0.6,
        calls=tuple((rng.choice(CALLS), rng.choice(FILTERS)) for _ in range(rng.randrange(1, 4))),
        suffix=rng.choice(["", "_file"]),
    )


@pytest.fixture(scope="module")
def tables(given, tmp_path_factory):
    """Views `l_int`, `r_int` and so on, and the same rows in files, `l_int_file`."""
    rng, folder = random.Random(11), tmp_path_factory.mktemp("aggregates")
    names = []
    for side, domain in product("lr", DOMAINS):
        given.createDataFrame(random_rows(rng), "id INT, k INT, t INT, lo INT, hi INT").createOrReplaceTempView(
            "rows_of"
        )
        times = ", ".join(f"{domain.time.format(c)} AS {c}" for c in ("t", "lo", "hi"))
        rows = given.sql(f"""SELECT id, k, {times}, lo % 7 AS n, IF(id % 9 = 0, double('NaN'), lo % 5 / 4D) AS d,
            nullif(concat('s', hi % 4), 's0') AS s, CAST(lo % 6 / 2 AS DECIMAL(9, 2)) AS m FROM rows_of""")
        name = f"{side}_{domain.name}"
        rows.repartition(2).write.parquet(f"{folder}/{name}")
        given.read.parquet(f"{folder}/{name}").createOrReplaceTempView(f"{name}_file")
        given.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {name}_file DISTRIBUTE BY id")
        names += [name, f"{name}_file"]
    yield given
    for name in (*names, "rows_of"):
        given.catalog.dropTempView(name)


@pytest.mark.parametrize("seed", sample(range(250), 125))
def test_random_statements_are_plain_sql_of_a_join_and_a_group(tables, seed):
    rng = seeded(seed)
    queries = [random_query(rng) for _ in range(OF_ONE_STATEMENT)]
    with settings(tables, QUICK):
        found, expected = (
            sorted(tuple(row) for row in tables.sql("\nUNION ALL\n".join(texts)).collect())
            for texts in zip(*(_numbered(i, query.text(), query.plain()) for i, query in enumerate(queries)))
        )
    wrong = sorted({row[0] for row in set(found) ^ set(expected)})
    shown = [(queries[i].text(), [r for r in found if r[0] == i], [r for r in expected if r[0] == i]) for i in wrong]
    assert len(found) == len(expected) and not wrong, (seed, shown[:1])


def _numbered(number: int, *texts: str) -> list[str]:
    return [f"SELECT {number} AS i, * FROM (\n{text}\n)" for text in texts]
