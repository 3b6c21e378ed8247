"""MATCH_RULES: rows a second for one rule and for many, in the pure step and in Spark, against separate queries.

    python -m benchmarks.rules [--rules 1,100,1000] [--separate N] [--rows N] [--keys N] [--batches N] [--step]
                               [--change] [--selective]

Each micro-batch reads one Parquet file of payments. The first one starts processes and compiles, so it is left out.
`--step` runs only the pure step, without Spark, in CPU seconds. `--change` adds a rule in the middle, and reports which
micro-batch has taken it up. With `--selective` each rule begins in one of 10,000 cities, or above an amount that few
reach; otherwise each begins on every hundredth row or more. `--separate` runs so many queries at once, each
MATCH_RECOGNIZE with the clause of one rule: their time begins when each of them has completed its first micro-batch.
The memory is the largest so far, of the JVM and of the workers; the processor time, in all micro-batches, does not
depend on other processes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqlext
from benchmarks.processes import Watch
from sqlext.expressions.function import ExecutionSettings
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.plan import RulesPlan
from sqlext.operators.rules.state import ARRIVING_VERSIONS, RULES
from sqlext.operators.stateful.operator import ROWS, Clock, first_state
from sqlext.rewriter.rules.plan_rule import plan_rule

MICROS = pa.timestamp("us", "UTC")
START_US, MINUTE_US = 1_767_225_600_000_000, 60_000_000
SCHEMA = pa.schema([("k", pa.int64()), ("ts", MICROS), ("amount", pa.float64()), ("city", pa.string()),
                    ("status", pa.string())])  # fmt: skip
DDL = "k BIGINT, ts TIMESTAMP, amount DOUBLE, city STRING, status STRING"
MANY_CITIES = tuple(f"city {i}" for i in range(10_000))
CITIES, STATES = ("Berlin", "Paris", "Rome", "Oslo"), ("ok", "failed", "new")


def clause(i: int) -> str:
    """The clause of rule i: one of three shapes, with thresholds of its own."""
    amount, city, status = 900 + i * 7 % 100, CITIES[i % 4], STATES[1 + i % 2]
    return (
        f"MATCH_RECOGNIZE (MEASURES A.amount AS a, LAST(B.amount) AS b PATTERN (A -> B) WITHIN INTERVAL '5' MINUTES "
        f"DEFINE A AS amount > {amount} AND city = '{city}', B AS status = '{status}' AND amount > {amount - 100})",
        f"MATCH_RECOGNIZE (MEASURES COUNT(*) AS n, SUM(A.amount) AS s PATTERN (A{{2,}} B) WITHIN INTERVAL '10' MINUTES "
        f"DEFINE A AS status = '{status}' AND amount > {amount - 600}, B AS amount > {amount})",
        f"MATCH_RECOGNIZE (MEASURES A.amount AS x PATTERN (A B C) "
        f"DEFINE A AS amount > {amount}, B AS amount < {amount % 300 + 5}, C AS city = '{city}')",
    )[i % 3]


def selective_clause(i: int) -> str:
    """The clause of rule i of those that begin on few rows."""
    amount, city, status = 900 + i * 7 % 100, f"city {i}", STATES[1 + i % 2]
    return (
        f"MATCH_RECOGNIZE (MEASURES A.amount AS a, LAST(B.amount) AS b PATTERN (A -> B) WITHIN INTERVAL '5' MINUTES "
        f"DEFINE A AS city = '{city}' AND amount > {amount}, B AS status = '{status}' AND amount > {amount - 100})",
        f"MATCH_RECOGNIZE (MEASURES COUNT(*) AS n, SUM(A.amount) AS s PATTERN (A{{2,}} B) WITHIN INTERVAL '10' MINUTES "
        f"DEFINE A AS city = '{city}' AND amount > {amount - 600}, B AS amount > {amount})",
        f"MATCH_RECOGNIZE (MEASURES A.amount AS x PATTERN (A B C) "
        f"DEFINE A AS amount > {999 + i % 1000 / 1000}, B AS amount < {amount % 300 + 5}, C AS city = '{city}')",
    )[i % 3]


def clause_of(i: int, options: argparse.Namespace) -> str:
    return selective_clause(i) if options.selective else clause(i)


def alone(clause: str) -> str:
    """The clause of a rule as a clause of a query."""
    return clause.replace("MATCH_RECOGNIZE (", "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts ", 1)


def payments_of(batch: int, options: argparse.Namespace) -> pa.Table:
    return payments(options.rows, options.keys, batch, MANY_CITIES if options.selective else CITIES)


def payments(rows: int, keys: int, batch: int, cities: Sequence[str] = CITIES) -> pa.Table:
    """A minute of payments, in the order of their times."""
    random = np.random.default_rng(batch)
    times = START_US + batch * MINUTE_US + np.sort(random.integers(0, MINUTE_US, rows))
    columns = [
        pa.array(random.integers(0, keys, rows)),
        pa.array(times).cast(MICROS),
        pa.array(random.random(rows) * 1000),
        pa.array(random.choice(cities, rows)),
        pa.array(random.choice(STATES, rows, p=(0.8, 0.15, 0.05))),
    ]
    return pa.table(columns, schema=SCHEMA)


# the pure step


def step_seconds(rules: int, options: argparse.Namespace) -> Iterator[float]:
    """The CPU seconds of each micro-batch but the first."""
    plan = RulesPlan(
        schema=SCHEMA,
        columns=tuple(zip(SCHEMA.names, ("bigint", "timestamp", "double", "string", "string"))),
        keys=("k",),
        order=("ts",),
        sort=(SortKey("amount"),),
        settings=ExecutionSettings(is_ansi=True, time_zone="UTC"),
        compile=plan_rule,
    )
    operator, nothing = RulesOperator(plan=plan), ARRIVING_VERSIONS.empty_table()
    state = first_state(operator.tables)
    arriving = rules_table([clause_of(i, options) for i in range(rules)])
    for batch in range(options.batches):
        events = payments_of(batch, options)
        before = time.process_time()
        clock = Clock(watermark=START_US + (batch + 1) * MINUTE_US, now=0)
        step = operator.advance(state, {ROWS: events, RULES: arriving}, clock)
        state, arriving = step.after(state), nothing
        if batch:
            yield time.process_time() - before


def rules_table(clauses: Sequence[str]) -> pa.Table:
    rules = len(clauses)
    columns = {
        "name": [f"r{i}" for i in range(rules)],
        "version": [1] * rules,
        "clause": clauses,
        "enabled": [True] * rules,
        "effective_from": [None] * rules,
        "time": [None] * rules,
    }
    return pa.table([pa.array(columns[f.name], f.type) for f in ARRIVING_VERSIONS], schema=ARRIVING_VERSIONS)


# Spark


class Streams:
    """Streams over files of payments in one session."""

    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options, self.folder = options, folder
        self.spark = sqlext.session(warehouse=folder / "warehouse")
        self.spark.conf.set("spark.sql.session.timeZone", "UTC")
        self.watermark: str | None = None
        self.files = folder / "payments"
        self.files.mkdir()
        for batch in range(options.batches):
            pq.write_table(payments_of(batch, options), self.files / f"{batch:05}.parquet")
        self.spark.sql(f"CREATE TABLE payments ({DDL}) USING delta")
        reader = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
        reader.parquet(str(self.files)).createOrReplaceTempView("arriving")

    def create_rules(self, table: str, rules: int) -> None:
        """A table of so many rules: the first by the statement, the others by one INSERT."""
        self.spark.sql(f"CREATE PATTERN RULE r0 ON {table} FOR TABLE payments AS {clause_of(0, self.options)}")
        rows = [(f"r{i}", 1, clause_of(i, self.options), True) for i in range(1, rules)]
        if rows:
            frame = self.spark.createDataFrame(rows, "name STRING, version BIGINT, clause STRING, enabled BOOLEAN")
            frame.writeTo(table).append()

    def seconds(self, query: str, name: str, change: str = "") -> list[float]:
        """The seconds of each micro-batch but the first. `change`: a statement to run after the second one.

        `self.watermark` is then that of the first micro-batch that began after the change.
        """
        durations: list[float] = []
        changed_at = None
        frame = self.spark.sql(query)
        writer = frame.writeStream.format("noop").option("checkpointLocation", str(self.folder / "checkpoints" / name))
        stream = writer.start()
        try:
            while len(durations) < self.options.batches or (changed_at and self.watermark is None):
                time.sleep(0.2)
                progress = [p for p in stream.recentProgress if p["numInputRows"] >= self.options.rows]
                later = (p for p in stream.recentProgress if changed_at and _begun(p) > changed_at)
                self.watermark = next((p["eventTime"]["watermark"] for p in later), None)
                if len(progress) >= 2 and change:
                    self.spark.sql(change)
                    change, changed_at = "", datetime.now(timezone.utc)
                durations = [p["durationMs"]["triggerExecution"] / 1000 for p in progress]
                if stream.exception() is not None:
                    raise RuntimeError(str(stream.exception()))
        finally:
            stream.stop()
        return durations[1:]

    def taken_up(self, table: str) -> datetime:
        """The watermark at which the added rule was taken up; the log is written after the micro-batch."""
        while not (rows := self.spark.sql(f"SELECT taken_up FROM {table}_log WHERE name = 'late'").collect()):
            time.sleep(1)
        return rows[0][0]

    def separate_seconds(self, queries: int) -> float:
        """The seconds from the first micro-batch of all queries to the last one, where each query has one rule."""
        running = []
        for i in range(queries):
            single = alone(clause_of(i, self.options))
            writer = self.spark.sql(f"SELECT * FROM {WATERMARK} {single}").writeStream.format("noop")
            checkpoint = str(self.folder / "checkpoints" / f"separate_{queries}_{i}")
            running.append(writer.option("checkpointLocation", checkpoint).start())
        started: float | None = None
        try:
            while True:
                time.sleep(0.2)
                done = [sum(p["numInputRows"] > 0 for p in query.recentProgress) for query in running]
                if started is None and min(done) >= 1:
                    started = time.time()
                if started is not None and min(done) >= self.options.batches:
                    return time.time() - started
                failed = next((error for query in running if (error := query.exception()) is not None), None)
                if failed is not None:
                    raise RuntimeError(str(failed))
        finally:
            for query in running:
                query.stop()


def _begun(progress: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00"))


WATERMARK = "STREAM arriving WATERMARK ts DELAY OF INTERVAL 0 SECONDS"


def measure(options: argparse.Namespace, folder: Path) -> None:
    streams = Streams(options, folder)
    single = alone(clause_of(0, options))
    with Watch(1) as watch:
        seconds = streams.seconds(f"SELECT * FROM {WATERMARK} {single}", "single")
    report("a separate MATCH_RECOGNIZE", seconds, options, watch)
    if options.separate:
        with Watch(1) as watch:
            together = streams.separate_seconds(options.separate)
        report(f"{options.separate} separate queries", [together / (options.batches - 1)], options, watch)
    for rules in options.rules:
        table = f"rules_{rules}"
        streams.create_rules(table, rules)
        change = f"CREATE PATTERN RULE late ON {table} AS {clause_of(1, options)}" if options.change else ""
        query = f"SELECT * FROM {WATERMARK} MATCH_RULES (PARTITION BY k ORDER BY ts RULES {table})"
        with Watch(1) as watch:
            seconds = streams.seconds(query, table, change)
        report(f"{rules} rules", seconds, options, watch)
        if options.change:
            print(f"    the added rule was taken up at the watermark {streams.taken_up(table)}")
            print(f"    the first micro-batch that began after it was added had {streams.watermark}")


def report(what: str, seconds: list[float], options: argparse.Namespace, watch: Watch | None = None) -> None:
    mean = sum(seconds) / len(seconds)
    rate = f"{options.rows / mean:,.0f} rows/s, {mean:.3f} s for a micro-batch of {options.rows:,} rows"
    used = f"; {watch.cpu_s:.0f} s of processor, {watch.jvm / 1e9:.1f} + {watch.workers / 1e9:.1f} GB" if watch else ""
    print(f"{what}: {rate}{used}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=lambda text: [int(n) for n in text.split(",")], default=[1, 100, 1000])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--separate", type=int, default=0, metavar="N")
    parser.add_argument("--step", action="store_true")
    parser.add_argument("--change", action="store_true")
    parser.add_argument("--selective", action="store_true")
    options = parser.parse_args()
    if options.step:
        for rules in options.rules:
            report(f"{rules} rules", [median(step_seconds(rules, options))], options)  # some load kernels
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
