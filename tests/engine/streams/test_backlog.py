"""A table whose files are not in the order of event time: a stream over it finds the rows of batch, whatever limits a
micro-batch, and whatever OPTIMIZE has done to the files."""

from __future__ import annotations

import random
import warnings
from datetime import datetime, timedelta

import pytest

from tests.sampling import sample, seeded

pytestmark = pytest.mark.spark
START = datetime(2026, 1, 1)
CLOCK = datetime(2026, 6, 1)
FILES, ROWS = 6, 40
OPTIONS = ["WITH (maxFilesPerTrigger = 1)", "WITH ('maxBytesPerTrigger' = '1b', failOnDataLoss = false)",
           "WITH (withEventTimeOrder = true, maxFilesPerTrigger = 2)", ""]  # fmt: skip
READS = {  # how a query reads the stream: its relation, after statements that make views
    "table": ("STREAM events {} WATERMARK ts DELAY OF INTERVAL 1 SECOND", []),
    "brackets": ("STREAM (default.events) {} WATERMARK ts DELAY OF INTERVAL 1 SECOND", []),
    "around": ("(SELECT * FROM STREAM events {} WHERE i >= 0) WATERMARK ts DELAY OF INTERVAL 1 SECOND", []),
    "idle": ("STREAM events {} WATERMARK ts DELAY OF INTERVAL 1 SECOND IDLE AFTER INTERVAL 1 DAY", []),
    "CTE": ("read", []),
    "stored view": ("stored", ["""CREATE OR REPLACE VIEW stored AS SELECT k, at AS ts, c, i
        FROM STREAM events {} WATERMARK ts DELAY OF INTERVAL 1 SECOND MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES MATCH_ROWTIME() AS at, LAST(c) AS c, LAST(i) AS i PATTERN (A) DEFINE A AS true)"""]),
}  # fmt: skip
CLAUSES = {
    "match": """SELECT k, at, n FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES MATCH_ROWTIME() AS at, LAST(i) AS n PATTERN (A B) DEFINE A AS c = 'A', B AS c = 'B')""",
    "windows": """SELECT k, window_rowtime AS at, sum(i) AS n FROM TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL 1 MINUTE)
        GROUP BY k, window_start, window_end EMIT AFTER WATERMARK""",
}
WRITERS = {"CREATE STREAMING TABLE found AS": "found", "INSERT INTO sink": "sink"}
CASES = [(o, r, c, w) for o in OPTIONS for r in READS for c in CLAUSES for w in WRITERS]


def fill(spark, chance: random.Random) -> None:
    """Fill `events` by commits of random times, each of one file."""
    rows = [(chance.randint(1, 3), START + timedelta(seconds=10 * i), chance.choice("AB"), i) for i in range(ROWS)]
    chance.shuffle(rows)
    for first in range(FILES):
        values = ", ".join(f"({k}, TIMESTAMP '{ts}', '{c}', {i})" for k, ts, c, i in rows[first::FILES])
        spark.sql(f"INSERT INTO events SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    if chance.random() < 0.3:
        spark.sql("OPTIMIZE events")


@pytest.mark.parametrize("options, reads, clause, writer", sample(CASES, 25))
def test_files_in_any_order_lose_no_row(events, options, reads, clause, writer):
    chance = seeded(len(options) * 7 + len(reads))
    fill(events, chance)
    relation, views = READS[reads]
    for view in views:
        events.sql(view.format(options))
    events.sql("CREATE TABLE sink (k INT, at TIMESTAMP, n BIGINT)")
    cte = f"WITH read AS (SELECT * FROM {READS['table'][0].format(options)}) " if reads == "CTE" else ""
    query = f"{cte}{CLAUSES[clause].format(relation.format(options))}"
    statement, table = f"{writer} {query}", WRITERS[writer]
    events.sql(statement)
    if reads == "idle":  # its clock has passed all rows, in this run or one of the next
        for _ in range(6):
            if len(expected(events, clause, CLOCK)) > events.table(table).count():
                events.sql(statement)
        assert sorted(map(tuple, events.table(table).collect())) == expected(events, clause, CLOCK)
        return
    first = sorted(map(tuple, events.table(table).collect()))
    assert first == expected(events, clause, START + timedelta(seconds=10 * (ROWS - 1) - 1))
    later = START + timedelta(seconds=10 * ROWS)
    events.sql(f"INSERT INTO events VALUES (1, TIMESTAMP '{later}', 'A', 1000)")
    events.sql(f"INSERT INTO events VALUES (1, TIMESTAMP '{later + timedelta(hours=1)}', 'B', 1001)")
    events.sql(statement)
    found = sorted(map(tuple, events.table(table).collect()))
    assert found == expected(events, clause, later + timedelta(hours=1, seconds=-1))


def expected(spark, clause: str, watermark: datetime) -> list[tuple]:
    """The rows of batch that a stream has at a watermark."""
    query = CLAUSES[clause].format("events")
    return sorted(map(tuple, spark.sql(f"SELECT * FROM ({query}) WHERE at <= TIMESTAMP '{watermark}'").collect()))


TOLD = {
    "CREATE STREAMING TABLE first_run AS": "the first micro-batch reads all rows that the table has now",
    "": "rows that are out of the order of event time by more than the DELAY are late",
}


@pytest.mark.parametrize("head", TOLD)
def test_what_a_limit_does_is_told(events, head):
    events.sql("INSERT INTO events VALUES (1, TIMESTAMP '2026-01-01', 'A', 1)")
    query = CLAUSES["match"].format(READS["table"][0].format(OPTIONS[0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2 if head else 1):
            events.sql(f"{head} {query}")
    said = [str(warning.message) for warning in caught]
    assert sum(TOLD[head] in sentence for sentence in said) == 1 and not any(
        text in sentence for text in TOLD.values() if text != TOLD[head] for sentence in said
    )
