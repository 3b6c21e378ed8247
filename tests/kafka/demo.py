"""`make demo-kafka`: alerts from one topic into another, on a broker of its own, with a driver that is killed.

It starts a broker, writes an hour of logins into a topic, and runs sql_examples/kafka/takeovers.sql in another process.
That is killed by SIGKILL in the middle and started again. Then a consumer reads the topic of alerts, keeps each
identifier once, and compares what it has with the batch query over the topic of logins. Everything is removed at the
end.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from .broker import Record, broker

STATEMENTS = Path(__file__).parents[2] / "sql_examples" / "kafka" / "takeovers.sql"
CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
say = functools.partial(print, flush=True)
BEGIN_MS, ACCOUNTS, LOGINS_A_SECOND = 1_772_438_400_000, 400, 20
STREAM = "STREAM logins WATERMARK ts DELAY OF INTERVAL 1 MINUTE"


def logins(minutes: int) -> Iterator[Record]:
    """Logins of many accounts, one in five of which fails; in each minute one account is attacked."""
    chance = random.Random(11)
    for second in range(60 * minutes):
        rows = [(f"account{chance.randrange(ACCOUNTS)}", chance.random() < 0.8) for _ in range(LOGINS_A_SECOND)]
        if second % 60 < 5:  # four guesses, and the fifth is right
            rows.append((f"victim{second // 60}", second % 60 == 4))
        for i, (account, success) in enumerate(rows):
            at = BEGIN_MS + 1000 * second + i
            ip = f"10.0.{chance.randrange(4)}.{chance.randrange(250)}"
            value = {"account": account, "ts": f"{_time(at)}", "success": success, "ip": ip}
            yield Record(key=account, value=value, timestamp_ms=at)


def _time(ms: int) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000))}.{ms % 1000:03}Z"


def main(minutes: int = 60) -> int:
    """Run the demo, and return 1 if an alert is lost or doubled."""
    with tempfile.TemporaryDirectory(prefix="sqlext-demo-") as place, broker() as kafka:
        folder = Path(place)
        say(f"1. A broker of Kafka listens on {kafka.address}.")
        kafka.create("logins", partitions=4)
        kafka.create("takeovers", partitions=2)
        kafka.produce("logins", logins(minutes))
        say(f"2. The topic logins has {60 * minutes * LOGINS_A_SECOND:,} records: {minutes} minutes of logins.")
        say(f"3. This runs in a process of its own:\n\n{_statements(kafka.address)}\n")
        with _driver(folder, kafka.address) as driver:
            while _micro_batches(folder) < 2:
                if driver.poll() is not None:
                    return 1
                time.sleep(0.1)
        say(f"4. It was killed after {_micro_batches(folder)} micro-batches; {_counts(kafka)}.")
        with _driver(folder, kafka.address) as driver:
            if driver.wait():
                return 1
        say(f"5. It was started again, and has read all records; {_counts(kafka)}.")
        alerts = {record.headers["sqlext-id"]: record.value for record in kafka.records("takeovers")}
        expected = Counter(map(tuple, json.loads((folder / "expected").read_text())))
        result = Counter((row["account"], row["failures"]) for row in map(json.loads, alerts.values()))
        lost, doubled = (expected - result).total(), (result - expected).total()
        say(f"6. A batch query finds {expected.total()} takeovers: {lost} are lost, and {doubled} doubled.")
        return int(bool(lost or doubled))


def _counts(kafka) -> str:
    records = kafka.records("takeovers")
    once = len({record.headers["sqlext-id"] for record in records})
    return f"the topic takeovers has {len(records)} records of {once} alerts"


@contextmanager
def _driver(folder: Path, address: str) -> Iterator[subprocess.Popen]:
    """The process that runs the statements. It is killed at the end of the block, if it has not ended."""
    command = [sys.executable, "-m", "tests.kafka.demo", "drive", str(folder), address]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _micro_batches(folder: Path) -> int:
    return len(list(folder.glob("tables/**/commits/[0-9]*")))


def _statements(address: str) -> str:
    return STATEMENTS.read_text("utf-8").partition("\n\n")[2].strip().replace("localhost:9092", address)


def drive(folder: Path, address: str) -> None:
    """Run the statements until all logins are read, and write what the batch query finds, in the process that is
    killed."""
    import sqlext

    spark = sqlext.session("demo", warehouse=folder / "tables", **{"spark.jars.packages": CONNECTOR})
    *tables, insert = _statements(address).rstrip(";").split(";\n\n")
    for statement in tables:
        spark.sql(statement)
    spark.sql(insert)
    for query in spark.streams.active:
        query.processAllAvailable()
    passed = spark.sql("SELECT max(ts) - INTERVAL 1 MINUTE AS w FROM logins").first().w
    batch = insert.partition("\n")[2].replace(STREAM, "logins")
    rows = spark.sql(f"SELECT account, failures FROM ({batch}) WHERE at <= TIMESTAMP '{passed}'").collect()
    (folder / "expected").write_text(json.dumps(list(map(tuple, rows))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["drive"]:
        drive(Path(sys.argv[2]), sys.argv[3])
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        sys.exit(main(*map(int, sys.argv[1:])))
