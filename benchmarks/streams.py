"""MATCH_RECOGNIZE on streams: rows a second, times of micro-batches, state.

    python -m benchmarks.streams [--kinds latency,throughput] [--only NAME,…] [--rows N] [--batches N] [--cores N]
                                 [--one-cpu] [--peers flink] [--quick]

`latency` reads small micro-batches one after another; `throughput` reads a backlog in large ones. Each micro-batch
reads one Parquet file. The result is only counted and compared with the known number. The first tenth of the
micro-batches, at least one, is left out, because processes start there. We and the peer read the backlog twice, the
first time to compile. The peer reads the same rows from one file as a stream, on the same number of cores. `--one-cpu`
binds all processes to one processor.

Results go to results.json and RESULTS.md; results of --quick, --rows and --batches are only printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqlext
from benchmarks import results, stream_results
from benchmarks.__main__ import names_of, run_of
from benchmarks.processes import spark_cpu_s
from benchmarks.stream_results import LATENCY, THROUGHPUT, Measured
from sqlext.spark.progress import kept_state

START_US = 1_767_225_600_000_000  # 2026-01-01
STEP_US = 1_000  # between rows
SCHEMA = "k BIGINT, ts TIMESTAMP, v INT, i BIGINT"
FLINK = "flink"


@dataclass(frozen=True)
class Size:
    """The number of rows, and of the micro-batches that hold them."""

    rows: int
    batches: int


@dataclass(frozen=True)
class StreamWorkload:
    """Row i has key i % `keys`; the values v of a key's rows repeat `cycle`.

    `matches`: the number of matches in one cycle. `kept_rows`: the largest number of rows that WITHIN keeps alive, None
    without WITHIN. `flink_clause`: Flink's clause, if it differs.
    """

    name: str
    keys: int
    cycle: tuple[int, ...]
    clause: str
    sizes: dict[str, Size]
    matches: int = 1
    kept_rows: int | None = None
    flink_clause: str = ""

    def query(self, relation: str) -> str:
        return f"SELECT * FROM {relation} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts {self.clause})"

    def expected(self, rows: int) -> int:
        """The number of matches that whole cycles decide; those of the last cycle may wait for the watermark."""
        return rows // self.keys // len(self.cycle) * self.keys * self.matches


ENDS = "MEASURES FIRST(i) AS f, LAST(i) AS l"
AB = "A AS v = 0, B AS v = 1"
SIZES = {LATENCY: Size(1_000_000, 100), THROUGHPUT: Size(6_000_000, 15)}
WORKLOADS = (
    StreamWorkload("A B", 10_000, (0, 1, 2), f"{ENDS} PATTERN (A B) DEFINE {AB}", SIZES),
    StreamWorkload("A+ B+ C", 10_000, (0, 0, 1, 1, 2), f"{ENDS} PATTERN (A+ B+ C) DEFINE {AB}, C AS v = 2", SIZES),
    # A key has a row every ten seconds; the B of the second A of a cycle comes only after the end of WITHIN.
    StreamWorkload("A -> B within", 10_000, (0, 2, 2, 1, 2, 0, 2, 2, 2, 2),
                   f"{ENDS} PATTERN (A -> B) WITHIN INTERVAL 40 SECONDS DEFINE {AB}", SIZES, kept_rows=40_000,
                   flink_clause=f"{ENDS} PATTERN (A X* B) WITHIN INTERVAL '40' SECOND DEFINE {AB}, X AS v <> 1"),
    # One row in a hundred of a key is an A or a B.
    StreamWorkload("rare rows", 10_000, (0, *[2] * 99, 1, *[2] * 99),
                   f"{ENDS} PATTERN (A -> B) WITHIN INTERVAL 30 MINUTES DEFINE {AB}",
                   {LATENCY: Size(4_000_000, 100), THROUGHPUT: Size(8_000_000, 4)}, kept_rows=20_000),
    StreamWorkload("rising", 10_000, (0, 1, 2, 3, 4),
                   "MEASURES FIRST(i) AS f, COUNT(*) AS n PATTERN (S R+) DEFINE R AS v > PREV(v)", SIZES),
    StreamWorkload("A -> B within, 1 M keys", 1_000_000, (0, 1),
                   f"{ENDS} PATTERN (A -> B) WITHIN INTERVAL 30 MINUTES DEFINE {AB}",
                   {LATENCY: Size(4_000_000, 40), THROUGHPUT: Size(4_000_000, 8)}, kept_rows=1_000_000,
                   flink_clause=f"{ENDS} PATTERN (A X* B) WITHIN INTERVAL '30' MINUTE DEFINE {AB}, X AS v <> 1"),
)  # fmt: skip


def write(workload: StreamWorkload, size: Size, folder: Path) -> int:
    """Write the files of a workload; return the size of one row as Arrow, in bytes."""
    folder.mkdir(parents=True)
    rows, cycle = size.rows // size.batches, np.array(workload.cycle, np.int32)
    for n in range(size.batches):
        i = np.arange(n * rows, (n + 1) * rows)
        columns = {
            "k": i % workload.keys,
            "ts": pa.array(START_US + STEP_US * i, pa.timestamp("us", "UTC")),
            "v": cycle[i // workload.keys % len(cycle)],
            "i": i,
        }
        table = pa.table(columns)
        path = folder / f"{n:05}.parquet"
        pq.write_table(table, path)
        os.utime(path, (n, n))
    return table.nbytes // table.num_rows


def run(spark, workload: StreamWorkload, kind: str, size: Size, folder: Path) -> Measured:
    """Run all micro-batches of a workload, a backlog twice. Raises AssertionError if matches are missing."""
    row_bytes = write(workload, size, folder / "in")
    turns = 2 if kind == THROUGHPUT else 1
    runs = (turn(spark, workload, kind, size, folder, row_bytes, f"checkpoint_{n}") for n in range(turns))
    return max(runs, key=lambda m: m.rows_s)


def turn(
    spark, workload: StreamWorkload, kind: str, size: Size, folder: Path, row_bytes: int, checkpoint: str
) -> Measured:
    """Run once over the files."""
    from pyspark.sql import functions as F

    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    source.createOrReplaceTempView("arriving")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = spark.sql(workload.query("STREAM arriving WATERMARK ts DELAY OF INTERVAL 1 MILLISECONDS"))
    counted = frame.observe("matches", F.count(F.lit(1)).alias("n"))
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(size.batches + 10))
    writer = counted.writeStream.format("noop").option("checkpointLocation", str(folder / checkpoint))
    began, cpu_s = time.perf_counter(), spark_cpu_s()
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    cores = (spark_cpu_s() - cpu_s) / (time.perf_counter() - began)
    progress = query.recentProgress
    matches = sum(p["observedMetrics"]["matches"]["n"] for p in progress if "matches" in p["observedMetrics"])
    assert matches >= workload.expected(size.rows) - workload.keys, (matches, workload.expected(size.rows))
    return measured(progress, workload, kind, row_bytes, cores)


def measured(progress, workload: StreamWorkload, kind: str, row_bytes: int, cores: float) -> Measured:
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in progress if p["numInputRows"]]
    cold = -(-len(times) // 10)
    first = next(n for n, p in enumerate(progress) if p["numInputRows"])
    warm = progress[first + cold :]
    quarters = [times[n * len(times) // 4 : (n + 1) * len(times) // 4] for n in range(4)]
    kept = [k for k in (kept_state(p["observedMetrics"]) for p in progress) if k is not None]
    largest = max(kept, key=lambda k: k.bytes)
    return Measured(
        workload=workload.name,
        kind=kind,
        keys=workload.keys,
        rows=sum(p["numInputRows"] for p in progress),
        batches=len(times),
        rows_s=sum(p["numInputRows"] for p in warm) / sum(p["durationMs"]["triggerExecution"] / 1000 for p in warm),
        cores=cores,
        p50_s=statistics.median(times[cold:]),
        p99_s=sorted(times[cold:])[int(0.99 * (len(times) - cold - 1))],
        growth=statistics.median(quarters[3]) / statistics.median(quarters[1]),
        state_rows=largest.rows,
        state_bytes=largest.bytes,
        kept_bytes=None if workload.kept_rows is None else workload.kept_rows * row_bytes,
    )


def with_flink(spark, workload: StreamWorkload, measured_run: Measured, folder: Path, cores: int) -> Measured:
    """The same with Flink's rate over the same files. Raises AssertionError if it finds other matches."""
    from benchmarks.peers.flink_stream import rate

    theirs = rate(spark, folder / "in", SCHEMA, workload.flink_clause or workload.clause, folder, cores)
    assert theirs.matches >= workload.expected(measured_run.rows) - workload.keys, theirs
    return replace(measured_run, flink_rows_s=theirs.rows_s, flink_cores=theirs.cores)


def main() -> None:
    options = arguments()
    if options.one_cpu:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # as many partitions as cores: each has a commit of its own in every micro-batch
    settings = {"spark.sql.shuffle.partitions": str(options.cores), "spark.sql.session.timeZone": "UTC"}
    began = time.perf_counter()
    spark = sqlext.session("streams", master=f"local[{options.cores}]", **settings)
    about = run_of(spark, time.perf_counter() - began, where(options), settings, runs=1)
    print(stream_results.HEAD)
    for workload in WORKLOADS:
        for kind in options.kinds:
            if workload.name in options.only:
                measured_run = one(spark, workload, kind, options)
                print(stream_results.line(measured_run), f"load {os.getloadavg()[0]:.1f}", flush=True)
                if not (options.quick or options.rows or options.batches):
                    results.save(results.merge_streams(results.load(), about, [measured_run]))


def one(spark, workload: StreamWorkload, kind: str, options: argparse.Namespace) -> Measured:
    size = workload.sizes[kind]
    size = Size(options.rows or size.rows, options.batches or size.batches)
    with tempfile.TemporaryDirectory() as folder:
        measured_run = run(spark, workload, kind, size, Path(folder))
        if FLINK in options.peers and kind == THROUGHPUT:
            measured_run = with_flink(spark, workload, measured_run, Path(folder), options.cores)
    return measured_run


def where(options: argparse.Namespace) -> str:
    return f"local[{options.cores}]" + ", one CPU" * options.one_cpu


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    known = {w.name: w for w in WORKLOADS}
    parser.add_argument("--kinds", type=names_of((LATENCY, THROUGHPUT)), default=[LATENCY, THROUGHPUT])
    parser.add_argument("--only", type=lambda text: text.split(";"), default=list(known), help="; ".join(known))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--batches", type=int)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--one-cpu", action="store_true")
    parser.add_argument("--peers", type=names_of((FLINK,)), default=[])
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
