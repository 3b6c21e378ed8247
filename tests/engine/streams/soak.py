"""Run one streaming table of each kind for a thousand micro-batches, while everything around them changes.

`make test-soak`, or `python -m tests.engine.streams.soak FOLDER [ROUNDS [SEED]]`. A second run over the same folder
goes on where the first one ended, in a new process. Each round makes random changes: it deletes from the source,
updates, compacts or widens it, restarts streams, changes pattern rules and adds hostile ones. Then it adds rows, some
of them hostile, waits for all streams, and runs SHOW and DESCRIBE STREAMING TABLES. At each quarter the tables are
compared with the batch results over all rows that ever arrived. At the end state and memory must be flat.
"""

from __future__ import annotations

import contextlib
import os
import random
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.errors import StreamingQueryException
from pyspark.sql import Row

FIRST_S = 1_767_225_600  # 2026-01-01 in UTC
EVENTS_A_ROUND, KEYS, STEP_S = 40, 20, 3
COLUMNS = "k STRING, ts TIMESTAMP, c STRING, v DOUBLE, note STRING, i BIGINT"
SOURCE = "STREAM events WITH (skipChangeCommits = true) WATERMARK ts DELAY OF INTERVAL 1 SECONDS"
MARKS = "STREAM marks WATERMARK ts DELAY OF INTERVAL 1 SECONDS"

MATCHES = """SELECT * FROM {events} AS e MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES MATCH_ROWTIME() AS at, MATCH_NUMBER() AS m, FIRST(i) AS f, LAST(i) AS l, LAST(TRY_CAST(Z.note AS INT)) AS n
  PATTERN (A -> B+ -> Z) WITHIN INTERVAL 10 MINUTES
  DEFINE A AS c = 'A', B AS c = 'B' AND v > LAST(A.v),
         Z AS c = 'C' AND coalesce(TRY_CAST(note AS INT), 0) < 5 + COUNT(B.*))"""
FIRINGS = """SELECT k, window_start, sum(v) AS s, max(note) AS note, count(DISTINCT c) AS c {times}
  FROM TUMBLE(TABLE {events}, DESCRIPTOR(ts), INTERVAL 5 MINUTES)
 GROUP BY k, window_start, window_end EMIT EARLY EVERY INTERVAL 1 MINUTE, EVERY 2 ROWS"""
TIMES = ", window_firing AS n, window_rowtime AS at"
ALERTS = """SELECT rule_name, rule_version, match_number, k, first_time, last_time, to_json(measures) AS measures
  FROM {events} MATCH_RULES (PARTITION BY k ORDER BY ts RULES rules) AS m"""
PAIRS = """SELECT e.i AS e, m.i AS m FROM {events} AS e INTERVAL JOIN {marks} AS m
  ON e.k = m.k AND m.ts BETWEEN e.ts - INTERVAL 1 MINUTE AND e.ts + INTERVAL 2 MINUTES"""

TABLES = {
    "decided": ("", MATCHES),
    "firings": ("", FIRINGS.replace("{times}", TIMES)),
    "alerts": ("", ALERTS),
    "pairs": ("", PAIRS),
    "latest": ("UPSERT KEY (k, window_start)", FIRINGS.replace("{times}", "")),
}
EXPECTED = {  # over the rows that arrived in time, up to the watermark `passed`
    "decided": f"SELECT * FROM ({MATCHES}) WHERE at <= {{passed}}",
    "firings": f"SELECT * FROM ({FIRINGS.replace('{times}', TIMES)}) WHERE at <= {{passed}}",
    "alerts": f"SELECT * FROM ({ALERTS}) WHERE last_time <= {{passed}}",
    "pairs": PAIRS,
    "latest": f"""SELECT r.* FROM (SELECT max_by(struct(k, window_start, s, note, c), struct(at, n)) AS r
      FROM ({FIRINGS.replace("{times}", TIMES)}) WHERE at <= {{passed}} GROUP BY k, window_start)""",
}

RULE = "CREATE OR REPLACE PATTERN RULE {name} ON rules FOR TABLE events {when} AS MATCH_RECOGNIZE ({clause})"
FOLLOWED = """MEASURES FIRST(i) AS f, LAST(i) AS l
  PATTERN (A -> Z) WITHIN INTERVAL 10 MINUTES DEFINE A AS c = 'A', Z AS {z}"""
DIVIDES = "MEASURES LAST(10 / v) AS d PATTERN (A) DEFINE A AS 1 / v > 0 AND c = 'A'"
GROWS = "MEASURES LAST(repeat(note, 100000)) AS r PATTERN (A) DEFINE A AS c = 'C'"
RULE_CHANGES = (
    RULE.format(name="pair", when="", clause=FOLLOWED.format(z="c = 'B'")),
    RULE.format(name="pair", when="", clause=FOLLOWED.format(z="c = 'C'")),
    RULE.format(name="sums", when="", clause="MEASURES SUM(v) AS s PATTERN (A B{2}) DEFINE B AS c <> PREV(c)"),
    RULE.format(name="notes", when="", clause=FOLLOWED.format(z="CAST(get_json_object(note, '$.n') AS INT) > 500")),
    RULE.format(name="likes", when="", clause=FOLLOWED.format(z="note LIKE '%a%a%a%b' OR note RLIKE '^(a+)+$'")),
    RULE.format(name="divides", when="", clause=DIVIDES),
    RULE.format(name="grows", when="", clause=GROWS),
    "ALTER PATTERN RULE pair ON rules DISABLE",
    "ALTER PATTERN RULE pair ON rules ENABLE",
    "DROP PATTERN RULE IF EXISTS sums ON rules",
    "DROP PATTERN RULE IF EXISTS likes ON rules",
    "INSERT INTO rules (name, version, clause, enabled) VALUES ('broken', {n}, 'MATCH_RECOGNIZE (PATTERN (A', true)",
    "INSERT INTO rules (name, version, clause, enabled) VALUES (NULL, NULL, NULL, NULL)",
)  # fmt: skip
SOURCE_CHANGES = (
    "DELETE FROM events WHERE i % 7 = 3",
    "UPDATE events SET v = v + 1 WHERE i % 11 = 5",
    "INSERT OVERWRITE events SELECT * FROM events WHERE i % 2 = 0",
    "OPTIMIZE events",
    "VACUUM events",
    "ALTER TABLE events ADD COLUMNS (added_{n} STRING)",
    "ALTER TABLE events ALTER COLUMN c COMMENT 'round {n}'",
    "ALTER TABLE events SET TBLPROPERTIES ('round' = '{n}')",
    "RESTORE TABLE events TO VERSION AS OF {version}",
)
NOTES = (
    None, "", "0", "7", "x", "12" * 2500, '{{"n": {}}}'.format("9" * 5000), '{"n": 501}', "a" * 200 + "!",
    "a" * 3000 + "b", "[" * 498, '"\\ud800"', "1e" + "9" * 25, "\x00", "ä\U0001f600",
)  # fmt: skip
# Delta's source ends a stream when it sees other columns. Spark's driver worker gives up on a machine that is too busy.
RESUMABLE = ("DELTA_SCHEMA_CHANGED", "CANNOT_OPEN_SOCKET", "failed to connect back")
VALUES = (0.0, -0.0, 1.0, 2.5, -3.0, 1e308, float("nan"), float("inf"), None)


class Size(NamedTuple):
    """After a round: rows and bytes of the state of all streams, and the memory of the driver's heap and of Python."""

    rows: int
    bytes: int
    heap_mb: int
    python_mb: int


class Soak:
    """The streams of a folder. `spark`: a session whose current database has no tables but those of the soak."""

    def __init__(self, spark: Any, seed: int) -> None:
        self.spark, self.chance = spark, random.Random(seed)
        self.done: Counter[str] = Counter()  # what was done, by its first words
        self.sizes: list[Size] = []
        if not spark.catalog.tableExists("marks"):
            for name in ("events", "arrived", "marks"):
                spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING delta")
        if not spark.catalog.tableExists("rules"):
            spark.sql(RULE_CHANGES[0])
        self.round = (spark.sql("SELECT max(i) AS i FROM arrived").first().i or -1) // EVENTS_A_ROUND + 1
        for name in TABLES:
            self.start(name)

    def start(self, name: str) -> None:
        head, query = TABLES[name]
        self.spark.sql(f"CREATE OR REFRESH STREAMING TABLE {name} {head} AS {query.format(events=SOURCE, marks=MARKS)}")

    def step(self) -> None:
        """One round: changes, rows, one or two micro-batches of each stream, and what an operator looks at."""
        for change in self._changes():
            self.done[" ".join(change.split()[:3])] += 1
            self.spark.sql(change)
        self._arrive()
        for name in TABLES:
            while not self._has_read_all(name):
                self.start(name)
        self._look()
        self.round += 1

    def _has_read_all(self, name: str) -> bool:
        """Wait for the micro-batches of a stream; False if it ended for a reason that a new start mends."""
        query = next((q for q in self.spark.streams.active if q.name.split(".")[-1] == name), None)
        if query is None:
            error = str(self._shown()[name].last_error)
        else:
            try:
                query.processAllAvailable()
                return True
            except StreamingQueryException as e:
                error = str(e)
        reason = next((text for text in RESUMABLE if text in error), None)
        assert reason is not None, (name, self.round, error)
        self.done[f"started again: {reason}"] += 1
        return False

    def _shown(self) -> dict[str, Row]:
        return {row.name.split(".")[-1]: row for row in self.spark.sql("SHOW STREAMING TABLES").collect()}

    def _changes(self) -> Iterator[str]:
        chance, n = self.chance, self.round
        if chance.random() < 0.3:
            yield chance.choice(RULE_CHANGES).replace("{n}", str(n + 1))
        if chance.random() < 0.2:
            version = self.spark.sql("DESCRIBE HISTORY events LIMIT 1").collect()[0].version
            yield chance.choice(SOURCE_CHANGES).format(n=n, version=max(0, version - 2))
        if chance.random() < 0.2:
            name = chance.choice(list(TABLES))
            yield f"STOP STREAMING TABLE {name}"
            head, query = TABLES[name]
            query = query.format(events=SOURCE, marks=MARKS)
            yield f"CREATE OR REFRESH STREAMING TABLE {name} {head} AS -- round {n}\n{query}"

    def _arrive(self) -> None:
        """Rows in the order of time, and now and then one that is late or has no time, whose `i` is negative."""
        chance = self.chance
        rows = []
        for i in range(self.round * EVENTS_A_ROUND, (self.round + 1) * EVENTS_A_ROUND):
            note = chance.choice(NOTES) if chance.random() < 0.1 else str(i % 9)
            value = chance.choice(VALUES) if chance.random() < 0.1 else float(i % 13)
            rows.append((f"k{chance.randrange(KEYS)}", FIRST_S + STEP_S * i, chance.choice("ABBC"), value, note, i))
        marks = [(k, s + 1, c, v, None, i) for k, s, c, v, _, i in rows if chance.random() < 0.3]
        late = [("late", chance.choice((None, 0, -62_135_596_800)), "A", 0.0, None, -1)] * (chance.random() < 0.2)
        self._insert("arrived", rows)
        self._insert("events", rows + late)
        self._insert("marks", marks)

    def _insert(self, table: str, rows: list[tuple]) -> None:
        frame = self.spark.createDataFrame(rows, "k STRING, s BIGINT, c STRING, v DOUBLE, note STRING, i BIGINT")
        frame.selectExpr("k", "timestamp_seconds(s) AS ts", "c", "v", "note", "i").createOrReplaceTempView("new_rows")
        self.spark.sql(f"INSERT INTO {table} BY NAME SELECT * FROM new_rows")

    def _look(self) -> None:
        """Run SHOW and DESCRIBE for all streams. Raises AssertionError unless all of them are shown as running."""
        shown = self._shown()
        assert {name: shown[name].state for name in TABLES if name in shown} == dict.fromkeys(TABLES, "running"), shown
        described: dict[str, Mapping[str, str]] = {
            name: dict(self.spark.sql(f"DESCRIBE STREAMING TABLE {name}").collect()) for name in TABLES
        }
        self.spark.sql("SHOW PATTERN RULES ON rules").collect()
        counts = [[int(d[key] or 0) for d in described.values()] for key in ("rows_kept", "bytes_kept")]
        self.sizes.append(Size(*map(sum, counts), heap_mb=0, python_mb=python_mb()))

    def weigh(self) -> None:
        """Note the heap that is used after a collection, which takes a second."""
        jvm = self.spark._jvm.java.lang
        jvm.System.gc()
        runtime = jvm.Runtime.getRuntime()
        used = (runtime.totalMemory() - runtime.freeMemory()) >> 20
        self.sizes[-1] = self.sizes[-1]._replace(heap_mb=used)

    def check(self) -> int:
        """The number of rows in all tables. Raises AssertionError where they differ from the batch results."""
        spark, count = self.spark, 0
        passed = spark.sql("SELECT max(ts) - INTERVAL 1 SECONDS AS w FROM arrived").first().w
        for name, query in EXPECTED.items():
            text = query.format(events="arrived", marks="marks", passed=f"TIMESTAMP '{passed}'")
            expected, result = (Counter(map(str, rows.collect())) for rows in (spark.sql(text), spark.table(name)))
            missing, more = sorted(expected - result), sorted(result - expected)
            assert not missing and not more, (name, self.round, missing[:3], more[:3])
            count += result.total()
        return count

    def stop(self) -> None:
        for name in TABLES:
            self.spark.sql(f"STOP STREAMING TABLE {name}")


def python_mb() -> int:
    """The memory of this process and of the Python workers that its JVM has started."""
    parents = {int(path.parent.name): _parent(path) for path in Path("/proc").glob("[0-9]*/stat")}
    own = {os.getpid()}
    for _ in range(4):  # the JVM, its daemon, the daemon's workers
        own |= {process for process, parent in parents.items() if parent in own}
    return sum(map(_pages, own)) * os.sysconf("SC_PAGE_SIZE") >> 20


def _parent(stat: Path) -> int:
    with contextlib.suppress(OSError):  # it has ended
        return int(stat.read_text().rpartition(")")[2].split()[1])
    return 0


def _pages(process: int) -> int:
    """The pages of memory of a Python process; 0 for all others."""
    with contextlib.suppress(OSError):
        is_python = b"python" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) if is_python else 0
    return 0


def main(folder: Path, rounds: int, seed: int) -> None:
    import sqlext

    settings = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
    spark = sqlext.session("soak", master="local[2]", warehouse=folder / "tables", **settings)
    soak = Soak(spark, seed)
    quarter = max(1, rounds // 4)
    for n in range(1, rounds + 1):
        soak.step()
        if n % quarter == 0:
            soak.weigh()
            last = soak.sizes[-quarter:]
            median = Size(*(int(statistics.median(column)) for column in zip(*last)))
            print(f"round {soak.round}: {soak.check()} rows as in batch; median of the quarter {median}, "
                  f"heap {last[-1].heap_mb} MB, Python {last[-1].python_mb} MB", flush=True)  # fmt: skip
    print(dict(soak.done))
    check_flat(soak.sizes, quarter)
    soak.stop()


def check_flat(sizes: list[Size], quarter: int) -> None:
    """Raise AssertionError if the last quarter keeps 1.3 times as much as the second one, or uses so much memory."""
    second, last = sizes[quarter : 2 * quarter], sizes[-quarter:]
    for field in ("rows", "bytes", "python_mb"):
        before, after = (statistics.median(getattr(size, field) for size in part) for part in (second, last))
        assert after <= 1.3 * before + 10, (field, before, after)
    heaps = [size.heap_mb for size in sizes if size.heap_mb]
    assert heaps[-1] <= 1.3 * heaps[1] + 20, heaps


if __name__ == "__main__":
    numbers = [*map(int, sys.argv[2:]), 100, 1][:2]
    main(Path(sys.argv[1]).absolute(), rounds=numbers[0], seed=numbers[1])
