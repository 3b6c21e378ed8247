"""What a small micro-batch costs, and where: an empty stateful processor beside our streams, and settings in turn.

    python -m benchmarks.micro_batch [--only NAME;…] [--batches 18] [--rows 10] [--sink noop|delta] [--set KEY=VALUE;…]
                                     [--settings [NAME;…]]

Each micro-batch reads one Parquet file of a few rows, on two cores and with two partitions of the state. The numbers
are medians in milliseconds of the micro-batches with rows, without the first third of them. `whole` is one micro-batch;
the next columns are its parts, as Spark reports them: finding the new rows, the log of offsets, planning, the job with
the commit of the sink, and the log of commits. `state` is the time in which the partitions of the state commit, summed
up. `cpu` is the processor time of the whole run, with its start, for each micro-batch.

`--settings` runs MATCH_RECOGNIZE with each of SETTINGS, after a run without it.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

import sqlext
from benchmarks.processes import spark_cpu_s

CORES, KEYS = 2, 5
START_US, STEP_US = 1_767_225_600_000_000, 250_000
DDL = "k BIGINT, ts TIMESTAMP, v INT"
STREAM = "STREAM arriving WATERMARK ts DELAY OF INTERVAL 1 SECOND"
CLAUSE = "MEASURES A.v AS a, B.v AS b PATTERN (A B) DEFINE B AS B.v > A.v"
RULES = "MATCH_RULES, 10 rules"
QUERIES = {
    "MATCH_RECOGNIZE": f"SELECT * FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {CLAUSE})",
    "EMIT": f"SELECT k, window_end, sum(v) AS s FROM TUMBLE(TABLE ({STREAM}), DESCRIPTOR(ts), INTERVAL 5 SECONDS) "
    "GROUP BY k, window_start, window_end EMIT AFTER WATERMARK",
    RULES: f"SELECT * FROM {STREAM} MATCH_RULES (PARTITION BY k ORDER BY ts RULES rules)",
}
PARTS = ("triggerExecution", "latestOffset", "walCommit", "queryPlanning", "addBatch", "commitOffsets")
HEAD = "| stream | whole | new rows | offsets | planning | job | commits | state | cpu |\n" + 9 * "|---" + "|"
STATE, DELTA = "spark.sql.streaming.stateStore", "spark.databricks.delta"
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "snapshots instead of changes": {f"{STATE}.rocksdb.changelogCheckpointing.enabled": "false"},
    "one partition": {"spark.sql.shuffle.partitions": "1"},
    "no checksums of checkpoints": {"spark.sql.streaming.checkpoint.fileChecksum.enabled": "false"},
    "no row counts of the state": {f"{STATE}.rocksdb.trackTotalNumberOfRows": "false"},
    "no code of whole stages": {"spark.sql.codegen.wholeStage": "false"},
    "no checks of commits": {f"{STATE}.commitValidation.enabled": "false"},
    "no metrics of the state's snapshots": {
        "spark.sql.streaming.stateStore.coordinatorReportSnapshotUploadLag": "false"
    },
    "10 micro-batches retained": {"spark.sql.streaming.minBatchesToRetain": "10"},
    "Delta: no files in checksums": {f"{DELTA}.allFilesInCrc.enabled": "false"},
    "Delta: no checksums": {f"{DELTA}.writeChecksumFile.enabled": "false"},
    "Delta: no statistics": {f"{DELTA}.stats.collect": "false"},
    "Delta: no metrics": {f"{DELTA}.history.metricsEnabled": "false"},
}


class Empty(StatefulProcessor):
    """A stateful processor that keeps nothing and emits nothing."""

    def init(self, handle) -> None:
        pass

    def handleInputRows(self, key, rows, timerValues) -> Iterator[Any]:
        for _ in rows:
            pass
        yield from ()

    def close(self) -> None:
        pass


class OneValue(Empty):
    """A stateful processor that reads and writes one value of each key, and moves a timer."""

    def init(self, handle) -> None:
        self.handle, self.value = handle, handle.getValueState("value", "timer BIGINT")

    def handleInputRows(self, key, rows, timerValues) -> Iterator[Any]:
        yield from super().handleInputRows(key, rows, timerValues)
        if (before := self.value.get()) is not None:
            self.handle.deleteTimer(before[0])
        timer = timerValues.getCurrentWatermarkInMs() + 1
        self.handle.registerTimer(timer)
        self.value.update((timer,))


def processed(rows: DataFrame, processor: StatefulProcessor) -> DataFrame:
    """The rows through a processor that has as many keys as the state has partitions."""
    bucket = F.pmod(F.col("k"), F.lit(CORES)).cast("int").alias("bucket")
    grouped = rows.withWatermark("ts", "1 second").select(bucket, "ts", "v").groupBy("bucket")
    return grouped.transformWithStateInPandas(processor, "k INT", "Append", "EventTime")


STREAMS: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "no state": lambda rows: rows,
    "empty processor": lambda rows: processed(rows, Empty()),
    "one value and a timer": lambda rows: processed(rows, OneValue()),
    **{name: lambda rows, query=query: rows.sparkSession.sql(query) for name, query in QUERIES.items()},
}


@dataclass
class Bench:
    """Streams over the same files in one session."""

    spark: SparkSession
    folder: Path
    sink: str
    batches: int
    runs: int = field(default=0)

    def write_rows(self, rows: int) -> None:
        """Write the files of the micro-batches."""
        (self.folder / "in").mkdir()
        for n in range(self.batches):
            i = range(n * rows, (n + 1) * rows)
            times = pa.array([START_US + STEP_US * at for at in i]).cast(pa.timestamp("us", "UTC"))
            values = pa.array([at % 7 for at in i], pa.int32())
            pq.write_table(
                pa.table({"k": [at % KEYS for at in i], "ts": times, "v": values}),
                self.folder / "in" / f"{n:05}.parquet",
            )

    def create_rules(self) -> None:
        self.spark.sql(f"CREATE TABLE events ({DDL}) USING delta")
        rule = f"MATCH_RECOGNIZE ({CLAUSE.replace('DEFINE', 'DEFINE A AS v > 3,')})"
        self.spark.sql(f"CREATE PATTERN RULE r0 ON rules FOR TABLE events AS {rule}")
        others = [(f"r{i}", 1, rule.replace("3", str(i)), True) for i in range(1, 10)]
        frame = self.spark.createDataFrame(others, "name STRING, version BIGINT, clause STRING, enabled BOOLEAN")
        frame.writeTo("rules").append()

    def progress(self, name: str) -> list[Mapping[str, Any]]:
        """The progress of the micro-batches with rows, without the first third of them."""
        self.runs += 1
        rows = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(self.folder / "in"))
        rows.createOrReplaceTempView("arriving")
        self.spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(self.batches + 10))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            writer = STREAMS[name](rows).writeStream.format(self.sink).trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self.folder / f"checkpoint_{self.runs}"))
        query = writer.start(str(self.folder / f"out_{self.runs}")) if self.sink == "delta" else writer.start()
        query.awaitTermination()
        found = [p for p in query.recentProgress if p["numInputRows"]]
        return found[len(found) // 3 :]

    def line(self, name: str, label: str = "") -> str:
        cpu_s = spark_cpu_s()
        found = self.progress(name)
        cpu_ms = 1000 * (spark_cpu_s() - cpu_s) / self.batches
        parts = [median(p["durationMs"].get(part, 0) for p in found) for part in PARTS]
        states = [sum(s["commitTimeMs"] for s in p["stateOperators"]) for p in found]
        return f"| {label or name} | {' | '.join(f'{ms:.0f}' for ms in (*parts, median(states), cpu_ms))} |"

    def with_settings(self, names: list[str]) -> Iterator[str]:
        """A line for each of SETTINGS, after one without it."""
        for name in names:
            yield self.line("MATCH_RECOGNIZE")
            before = {key: self.spark.conf.get(key, None) for key in SETTINGS[name]}
            for key, value in SETTINGS[name].items():
                self.spark.conf.set(key, value)
            yield self.line("MATCH_RECOGNIZE", name)
            for key, known in before.items():
                self.spark.conf.unset(key) if known is None else self.spark.conf.set(key, known)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.micro_batch", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", type=names_of, default=list(STREAMS), help="; ".join(STREAMS))
    parser.add_argument("--batches", type=int, default=18)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--sink", choices=("noop", "delta"), default="noop")
    parser.add_argument("--set", type=lambda text: dict(s.split("=", 1) for s in names_of(text)), default={})
    parser.add_argument("--settings", type=names_of, nargs="?", const=list(SETTINGS), help="; ".join(SETTINGS))
    options = parser.parse_args()
    settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": str(CORES), **options.set}
    with tempfile.TemporaryDirectory() as folder:
        spark = sqlext.session("micro_batch", f"local[{CORES}]", warehouse=Path(folder) / "warehouse", **settings)
        bench = Bench(spark, Path(folder), options.sink, options.batches)
        bench.write_rows(options.rows)
        if RULES in options.only:
            bench.create_rules()
        for name in options.only:
            bench.progress(name)  # starts processes, and compiles
        print(HEAD, flush=True)
        for line in bench.with_settings(options.settings) if options.settings else map(bench.line, options.only):
            print(line, flush=True)
        spark.stop()


def names_of(text: str) -> list[str]:
    return [name.strip() for name in text.split(";")]


if __name__ == "__main__":
    main()
