"""The workloads of INTERVAL JOIN and ASOF JOIN: two tables of one day, with keys or without.

Milliseconds of the day and keys are hashes of the row number. The range is wide enough for one to five partners a row,
so that the time is spent in the search for partners and not in writing them. Times have no zone, because all programs
read such times alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks import tables
from benchmarks.peers import External
from benchmarks.peers.duckdb import scan
from benchmarks.runners import FLOOR, OURS, Runner, configured, count_rows, integers
from benchmarks.workload import Expected, unknown
from benchmarks.workloads import MILLION

SPARK, DUCKDB, FLINK, POLARS = "spark", "duckdb", "flink", "polars"
PEERS = (SPARK, DUCKDB, FLINK, POLARS)
BY_SPARK = "sqlext.order=spark"  # the window of Spark that pairs rows if workers do not
DAY_MS = 24 * 60 * 60 * 1000
KEYS = {
    "1000": "pmod(xxhash64(i, {seed}, 'k'), 1000)",
    "10": "pmod(xxhash64(i, {seed}, 'k'), 10)",
    "none": "0",
    "hot": "IF(i % 2 = 0, 0, 1 + pmod(xxhash64(i, {seed}, 'k'), 999))",  # half of the rows have key 0
}


@dataclass(frozen=True)
class Side:
    """One of the two tables of a workload: rows of (i, k, ms, ts)."""

    keys: str
    seed: int

    @property
    def columns(self) -> Mapping[str, str]:
        ms = f"pmod(xxhash64(i, {self.seed}), {DAY_MS})"
        return {
            "i": "i",
            "k": f"CAST({KEYS[self.keys]} AS BIGINT)".replace("{seed}", str(self.seed)),
            "ms": ms,
            "ts": f"TIMESTAMP_NTZ '2026-03-02 00:00:00' + {ms} * INTERVAL '0.001' SECOND",
        }

    def table_name(self, rows: int) -> str:
        return f"join_{self.keys}_{self.seed}_{rows}"


@dataclass(frozen=True)
class Join:
    """One join of two tables of `rows` rows each.

    join: "INTERVAL" or "ASOF". kind: "INNER", "LEFT" or "FULL". keys: one of KEYS. range_ms: the largest distance of
    partners, in both directions (INTERVAL only). limits: the largest number of rows for a peer. goals: by peer, its
    time as a multiple of ours that we aim at.

    >>> print(BY_NAME["interval_1000_left"].query("l", "r"))
    SELECT count(*), sum(l.i), sum(r.i), sum((l.i * 31 + r.i) % 1000003)
    FROM l AS l LEFT INTERVAL JOIN r AS r
    ON r.ts BETWEEN l.ts - INTERVAL 60000 MILLISECONDS AND l.ts + INTERVAL 60000 MILLISECONDS AND l.k = r.k
    >>> print(BY_NAME["asof_10_inner"].duckdb_query("l", "r"))
    SELECT count(*), sum(l.i), sum(r.ms), sum((l.i * 31 + r.ms) % 1000003)
    FROM l AS l ASOF JOIN r AS r ON l.ts >= r.ts AND l.k = r.k
    >>> print(BY_NAME["asof_1000_left"].spark_query("l", "r"))
    SELECT count(*), sum(i), sum(ms), sum((i * 31 + ms) % 1000003)
    FROM (SELECT l.i, max_by(r.ms, r.ts) AS ms FROM l AS l LEFT JOIN r AS r ON l.ts >= r.ts AND l.k = r.k GROUP BY l.i)
    >>> print(BY_NAME["interval_10_inner"].flink_query("l", "r"))
    SELECT count(*), sum(l.i), sum(r.i), sum(CAST(MOD(l.i * 31 + r.i, 1000003) AS BIGINT))
    FROM l AS l JOIN r AS r
    ON r.ts BETWEEN l.ts - INTERVAL '0.600' SECOND(2, 3) AND l.ts + INTERVAL '0.600' SECOND(2, 3) AND l.k = r.k
    """

    join: str
    kind: str
    keys: str
    range_ms: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)
    goals: Mapping[str, float] = field(default_factory=dict)
    rows: int = MILLION
    tiny_rows: int = 2_000
    grows: bool = False
    expected: Expected = unknown  # all programs must give the same totals

    @property
    def name(self) -> str:
        return f"{self.join}_{self.keys}_{self.kind}".lower()

    @property
    def sides(self) -> tuple[Side, Side]:
        return Side(self.keys, 1), Side(self.keys, 2)

    def query(self, left: str, right: str) -> str:
        """The statement with our join, over relations of these names."""
        if self.join == "INTERVAL":
            return f"{self._totals('i')}\nFROM {left} AS l {self._kind}INTERVAL JOIN {right} AS r\nON {self._condition}"
        on = "" if self.keys == "none" else "\nON l.k = r.k"
        joined = f"FROM {left} AS l {self._kind}ASOF JOIN {right} AS r"
        return f"{self._totals('ms')}\n{joined}\nMATCH_CONDITION (l.ts >= r.ts){on}"

    def spark_query(self, left: str, right: str) -> str:
        """The statement that a user would write without our join."""
        if self.join == "INTERVAL":
            return self.query(left, right).replace("INTERVAL JOIN", "JOIN")
        joined = f"{left} AS l {self._kind}JOIN {right} AS r ON {self._condition}"
        nearest = f"(SELECT l.i, max_by(r.ms, r.ts) AS ms FROM {joined} GROUP BY l.i)"
        return f"{self._totals('ms').replace('l.', '').replace('r.', '')}\nFROM {nearest}"

    def duckdb_query(self, left: str, right: str) -> str:
        if self.join == "INTERVAL":
            return self.spark_query(left, right)
        asof = f"ASOF {self._kind}JOIN"
        return f"{self._totals('ms')}\nFROM {left} AS l {asof} {right} AS r ON {self._condition}"

    def flink_query(self, left: str, right: str) -> str:
        """On tables with a time attribute ts (INTERVAL only)."""
        text = re.sub(r"INTERVAL (\d+) MILLISECONDS", _flink_interval, self.spark_query(left, right))
        # MOD has the type of the divisor, an INT, and the sum of INTs is an INT that overflows.
        return re.sub(r"\(\(([^()]*)\) % (\d+)\)", r"(CAST(MOD(\1, \2) AS BIGINT))", text)

    @property
    def _kind(self) -> str:
        return "" if self.kind == "INNER" else f"{self.kind} "

    @property
    def _condition(self) -> str:
        width = f"INTERVAL {self.range_ms} MILLISECONDS"
        times = f"r.ts BETWEEN l.ts - {width} AND l.ts + {width}" if self.join == "INTERVAL" else "l.ts >= r.ts"
        return times if self.keys == "none" else f"{times} AND l.k = r.k"

    def _totals(self, column: str) -> str:
        """The select list. ASOF sums the times of right rows, because any right row of the nearest time is correct."""
        pair = f"sum((l.i * 31 + r.{column}) % 1000003)"
        return f"SELECT count(*), sum(l.i), sum(r.{column}), {pair}"


# DuckDB joins by hash if there is a key, and compares all pairs of the key; without one it uses IEJoin.
_HASH, _IEJOIN = 1.0, 1 / 1.5
INTERVALS = tuple(
    Join("INTERVAL", kind, keys, range_ms, limits, goals)
    for keys, range_ms, limits, goals in (
        ("1000", 60_000, {SPARK: 400_000}, {SPARK: 2.0, DUCKDB: _HASH}),
        ("10", 600, {SPARK: 50_000, DUCKDB: 100_000}, {SPARK: 5.0, DUCKDB: _HASH}),
        ("none", 200, {SPARK: 20_000}, {DUCKDB: _IEJOIN}),
        ("hot", 200, {SPARK: 50_000, DUCKDB: 100_000}, {DUCKDB: _HASH}),
    )
    for kind in ("INNER", "LEFT", "FULL")
)
_WORKERS = {DUCKDB: 1 / 3, FLOOR: 0.8}
ASOFS = (
    Join("ASOF", "INNER", "1000", limits={SPARK: 200_000}, goals=_WORKERS),
    Join("ASOF", "LEFT", "1000", limits={SPARK: 200_000}, goals=_WORKERS),
    Join("ASOF", "INNER", "10", limits={SPARK: 50_000}, goals=_WORKERS),
    Join("ASOF", "INNER", "none", limits={SPARK: 10_000}),
    Join("ASOF", "INNER", "hot", limits={SPARK: 20_000}, goals=_WORKERS),
)
JOINS = (*INTERVALS, *ASOFS)
BY_NAME = {join.name: join for join in JOINS}


def _flink_interval(width: re.Match) -> str:
    return f"INTERVAL '{int(width[1]) / 1000:.3f}' SECOND(2, 3)"


def runners(spark, join: Join, rows: int, peers: set[str], external: Mapping[str, External]) -> dict[str, Runner]:
    """The runners by name, ours first, on Delta tables that are written if they do not exist."""
    paths = [tables.ensure(spark, side, rows) for side in join.sides]
    runners = spark_runners(spark, join, *(f"delta.`{path}`" for path in paths), peers=peers)
    if DUCKDB in peers and DUCKDB in external:
        runners[DUCKDB] = partial(_answer, external[DUCKDB].query, join.duckdb_query(*map(scan, paths)))
    if POLARS in peers and POLARS in external and join.join == "ASOF":
        keys = [] if join.keys == "none" else ["k"]
        runners[POLARS] = partial(_joined, external[POLARS].asof, paths, keys, is_left=join.kind == "LEFT")
    if FLINK in peers and FLINK in external and join.join == "INTERVAL":
        flink = external[FLINK].system
        for path in paths:
            flink.prepare_stream(spark, path.name, path, "ms")
        query = join.flink_query(*(f"`{path.name}`" for path in paths))
        runners[FLINK] = partial(_answer, partial(flink.query, is_stream=True), query)
    return runners


def spark_runners(spark, join: Join, left: str, right: str, peers: set[str]) -> dict[str, Runner]:
    """The runners that run in the session, ours first."""
    runners: dict[str, Runner] = {OURS: partial(_collect, spark, join.query(left, right))}
    if join.join == "ASOF":
        runners[FLOOR] = partial(_floor, spark, join, left, right)
        runners[BY_SPARK] = partial(_by_spark, spark, join.query(left, right))
    if SPARK in peers:
        runners[SPARK] = partial(_collect, spark, join.spark_query(left, right))
    return runners


def _floor(spark, join: Join, left: str, right: str):
    """The cost of any matcher in Python workers: scan, shuffle and sort what the query reads of both tables, and count
    the rows. Returns the number of rows of one table."""
    both = f"SELECT 1Y AS side, k, ts, i FROM {left} UNION ALL SELECT 0Y, k, ts, ms FROM {right}"
    key, order = ("0", "ts") if join.keys == "none" else ("k", "k, ts")
    rows = spark.sql(f"SELECT * FROM ({both}) DISTRIBUTE BY {key} SORT BY {order}")
    (total,) = integers(rows.mapInArrow(count_rows, "n BIGINT").groupBy().sum().collect()[0])
    return (total // 2,)


def _by_spark(spark, sql: str):
    with configured(spark, dict([BY_SPARK.split("=")])):
        return _collect(spark, sql)


def _joined(asof: Callable[..., list[tuple]], tables: Sequence[Path], keys: list[str], *, is_left: bool):
    return integers(asof(*tables, keys=keys, is_left=is_left)[0])


def _collect(spark, sql: str):
    return integers(spark.sql(sql).collect()[0])


def _answer(query: Callable[[str], list[tuple]], sql: str):
    return integers(query(sql)[-1])  # the last row of a stream is the final result
