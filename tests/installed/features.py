"""Each feature once, as a user runs it: the statements in features/, and streams from files into memory, without Delta.

    python features.py [--json FILE] [--no-delta] [NAME …]

Needs only the installed package. Prints a line for each feature: pass, refused, or fail with what is wrong; the exit
status is 1 if one failed. A file begins with lines such as `-- refused before 4.1: SQLEXT_SPARK_VERSION` and
`-- refused without Delta: …`, the errors with which it must end there, and ends with its rows.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import sqlext
from sqlext.rewriter.statements.sql_file import file_statements

FILES = sorted((Path(__file__).parent / "features").glob("*.sql"))
_REFUSED = re.compile(
    r"^-- refused(?: before (?P<version>[\d.]+)| (?P<without>without Delta))?: (?P<error>\w+)$", re.MULTILINE
)
_ROW = re.compile(r"^-- (.*)$", re.MULTILINE)
PASS, REFUSED = "pass", "refused"


def start(delta: bool, warehouse: Path) -> SparkSession:
    conf = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC"}
    return sqlext.session("features", "local[2]", warehouse, format="delta" if delta else "parquet", **conf)


def has_delta() -> bool:
    """Return True if Delta has a jar for this Spark."""
    from sqlext.formats.delta import DELTA

    try:
        DELTA.package(sys.modules["pyspark"].__version__)
    except sqlext.SetupError:
        return False
    return True


def cells(frame: DataFrame) -> list[str]:
    rows = (("NULL" if value is None else str(value) for value in row) for row in frame.collect())
    return sorted("  ".join(row) for row in rows)


def must_end_with(text: str, version: tuple[int, ...], delta: bool) -> str | None:
    """The error with which a file must end in this version, if it must."""
    for match in _REFUSED.finditer(text):
        before = match["version"]
        is_meant = not delta if match["without"] else before is None or version < tuple(map(int, before.split(".")))
        if is_meant:
            return match["error"]
    return None


def delta_is_needed(name: str) -> bool:
    """Return True if a feature ends with an error where there is no Delta."""
    files = {path.stem: path for path in FILES}
    return name in files and must_end_with(files[name].read_text("utf-8"), (99,), False) is not None


def run_file(spark: SparkSession, path: Path, delta: bool) -> str:
    """Run the statements of a file: `pass`, `refused` if it ends with the error that it names, or what is wrong."""
    text = path.read_text("utf-8")
    error = must_end_with(text, tuple(map(int, spark.version.split(".")[:2])), delta)
    try:
        for statement in file_statements(text):
            result = spark.sql(statement.text)
            rows = cells(result)
    except (sqlext.SqlExtError, PySparkException) as raised:
        if error is not None and error == getattr(raised, "error_class", ""):
            return REFUSED
        return f"{type(raised).__name__}: {raised}"
    finally:
        spark.sql("RESET sqlext.engine")
    expected = sorted(_ROW.findall(text[text.rstrip().rfind(";") :]))
    if error is not None:
        return f"{error} is missing"
    return PASS if rows == expected or not expected else f"{rows} instead of {expected}"


# Streams from a view of `spark.readStream`, which every version of Spark reads.

_MATCH = """
SELECT k, bottom FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES MIN(v) AS bottom PATTERN (a down+ up) WITHIN INTERVAL 1 HOUR
  DEFINE down AS v < PREV(v), up AS v > PREV(v))"""
_WINDOWS = """
SELECT k, max(v) AS highest FROM TUMBLE(TABLE ticks, DESCRIPTOR(ts), INTERVAL '1' HOUR)
GROUP BY k, window_start, window_end EMIT AFTER WATERMARK"""
_JOIN = """
SELECT l.k, r.v FROM ticks l INTERVAL JOIN later r ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 MINUTE
WHERE l.v = 9 AND r.v <> 9"""
_NEAREST = """
SELECT l.v, r.v AS next FROM ticks AS l LEFT ASOF JOIN later AS r MATCH_CONDITION (l.ts < r.ts) WITHIN INTERVAL 1 MINUTE
ON l.k = r.k"""


# Of each micro-batch: (seconds, v). The last one moves the watermark, which begins at 1970, past all others.
_ARRIVALS = [[(0, 9), (60, 7)], [(240, 8), (300, 10)], [(9000, 10)]]


def _stream(spark: SparkSession, folder: Path, query: str) -> list[str]:
    """The rows of a query over a stream of files, which is stopped and resumed after each micro-batch."""
    files, shown = str(folder / "in"), list[str]()
    for arrivals in _ARRIVALS:
        rows = ", ".join(f"('a', timestamp_seconds({100_000 + second}), {v})" for second, v in arrivals)
        spark.sql(f"SELECT * FROM VALUES {rows} AS t(k, ts, v)").coalesce(1).write.mode("append").parquet(files)
        for name in ("ticks", "later"):
            source = spark.readStream.schema("k string, ts timestamp, v int").parquet(files)
            source.withWatermark("ts", "1 second").createOrReplaceTempView(name)
        writer = spark.sql(query).writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        started = writer.foreachBatch(lambda batch, _: shown.extend(cells(batch))).trigger(availableNow=True).start()
        started.awaitTermination()
    return sorted(shown)


STREAMS = {
    "stream_match": (_MATCH, ["a  7"]),
    "stream_emit": (_WINDOWS, ["a  10"]),
    "stream_interval_join": (_JOIN, ["a  7"]),
    "stream_asof_join": (_NEAREST, ["10  NULL", "7  NULL", "8  10", "9  7"]),
}


def run_stream(spark: SparkSession, name: str) -> str:
    query, expected = STREAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows = _stream(spark, Path(folder), query)
        except (sqlext.SqlExtError, PySparkException) as raised:
            return REFUSED if "SQLEXT_SPARK_VERSION" in str(raised) else f"{type(raised).__name__}: {raised}"
    return PASS if rows == expected else f"{rows} instead of {expected}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="features.py", description="run each feature once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes into a file")
    parser.add_argument("--no-delta", action="store_true", help="start Spark without Delta even if it has a jar")
    parser.add_argument("names", nargs="*", help="of features (default: all)")
    chosen = parser.parse_args(arguments)
    delta = has_delta() and not chosen.no_delta
    runs: dict[str, Callable[[SparkSession], str]] = {
        **{path.stem: lambda spark, path=path: run_file(spark, path, delta) for path in FILES},
        **{name: lambda spark, name=name: run_stream(spark, name) for name in STREAMS},
    }  # fmt: skip
    outcomes = {}
    with tempfile.TemporaryDirectory() as warehouse:
        spark = start(delta, Path(warehouse))
        print(f"Spark {spark.version}, {'with' if delta else 'without'} Delta")
        for name in chosen.names or runs:
            outcomes[name] = runs[name](spark)
            print(f"{name:22} {outcomes[name]}", flush=True)
        spark.stop()
    if chosen.json:
        chosen.json.write_text(json.dumps(outcomes), encoding="utf-8")
    return int(any(outcome not in (PASS, REFUSED) for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
