"""Events a second from a topic of Kafka into one pattern, beside streams that only count the same records.

    python -m benchmarks.kafka [--rows N] [--batch N] [--cores N] [--turns N]

A broker of its own writes a topic of JSON in four partitions, and each stream reads it whole, in micro-batches of
`--batch` records. The first tenth of the micro-batches, at least one, is left out. The broker runs on the same machine.

| stream | what it does |
|---|---|
| count | counts the records, with Spark's own source alone |
| json | reads the values as columns by `from_json`, with Spark alone, and counts them |
| parse | reads the values as columns, by the table of Kafka, and counts them |
| pattern | matches them: MATCH_RECOGNIZE |
| alerts | matches them, and writes the matches into another topic |
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import sqlext
from benchmarks.processes import spark_cpu_s
from tests.kafka.broker import Broker, Record, broker
from tests.kafka.jars import connector_jars

START_S, KEYS, PARTITIONS = 1_767_225_600, 10_000, 4
COLUMNS = "k BIGINT, ts TIMESTAMP, v INT, i BIGINT"
STREAM = "STREAM events WATERMARK ts DELAY OF INTERVAL 1 SECOND"
MATCHES = f"""SELECT k, f, l FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES FIRST(i) AS f, LAST(i) AS l PATTERN (A -> B) WITHIN INTERVAL 40 SECONDS DEFINE A AS v = 0, B AS v = 1)"""
CYCLE = (0, 2, 2, 1, 2, 0, 2, 2, 2, 2)  # the values of a key: the B of the second A comes after the end of WITHIN
QUERIES = {
    "count": "SELECT value FROM STREAM raw_events",
    "json": f"SELECT v.* FROM (SELECT from_json(CAST(value AS STRING), '{COLUMNS}') AS v FROM STREAM raw_events)",
    "parse": "SELECT k, ts, v, i FROM STREAM events",
    "pattern": MATCHES,
    "alerts": MATCHES,
}


def records(rows: int) -> Iterator[Record]:
    """A row each millisecond, in turn of each key."""
    for i in range(rows):
        ms = i % 1000
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(START_S + i // 1000))
        value = f'{{"k":{i % KEYS},"ts":"{at}.{ms:03}Z","v":{CYCLE[i // KEYS % len(CYCLE)]},"i":{i}}}'
        yield Record(value=value, key=str(i % KEYS), partition=i % PARTITIONS)


def tables(spark, kafka: Broker, batch: int) -> None:
    options = f"'kafka.bootstrap.servers' = '{kafka.address}', maxOffsetsPerTrigger = {batch}"
    spark.sql(f"CREATE TABLE raw_events USING kafka OPTIONS ({options}, subscribe = 'events')")
    spark.sql(
        f"CREATE TABLE events ({COLUMNS}) USING kafka OPTIONS ({options}, subscribe = 'events', "
        "'value.format' = 'json')"
    )
    spark.sql(
        f"CREATE TABLE alerts (k BIGINT, f BIGINT, l BIGINT) USING kafka OPTIONS ('kafka.bootstrap.servers' = "
        f"'{kafka.address}', topic = 'alerts', 'value.format' = 'json', 'key.columns' = 'k')"
    )


def turn(spark, name: str, folder: Path) -> tuple[float, float]:
    """Run a stream over the whole topic: the records a second and the cores that it takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began, cpu_s = time.perf_counter(), spark_cpu_s()
        if name == "alerts":
            spark.conf.set("sqlext.stream.name", folder.name)
            spark.sql(f"INSERT INTO alerts {QUERIES[name]}")
            (query,) = (q for q in spark.streams.active if q.name.endswith(folder.name))
            query.processAllAvailable()
            query.stop()
        else:
            writer = spark.sql(QUERIES[name]).writeStream.format("noop").option("checkpointLocation", str(folder))
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
    cores = (spark_cpu_s() - cpu_s) / (time.perf_counter() - began)
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    warm = batches[-(-len(batches) // 10) :]
    return sum(p["numInputRows"] for p in warm) / sum(p["durationMs"]["triggerExecution"] / 1000 for p in warm), cores


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka", description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--batch", type=int, default=200_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(QUERIES))
    options = parser.parse_args()
    settings = {"spark.sql.shuffle.partitions": str(options.cores), "spark.sql.session.timeZone": "UTC"}
    settings |= {"spark.jars": connector_jars(), "spark.sql.streaming.numRecentProgressUpdates": "1000"}
    with broker() as kafka, tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        kafka.create("events", partitions=PARTITIONS)
        kafka.create("alerts", partitions=PARTITIONS)
        kafka.produce("events", records(options.rows))
        spark = sqlext.session("kafka", f"local[{options.cores}]", place / "tables", **settings)
        tables(spark, kafka, options.batch)
        rates: dict[str, tuple[float, float]] = {}
        for number in range(options.turns):
            for name in options.only:
                rates[name] = max(rates.get(name, (0.0, 0.0)), turn(spark, name, place / f"{name}_{number}"))
        for name, (rate, cores) in rates.items():
            print(json.dumps({"stream": name, "records_s": round(rate), "cores": round(cores, 2)}), flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
