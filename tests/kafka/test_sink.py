"""Rows become records of a topic: their keys, values and identifiers, tombstones, restarts, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import sqlext
from sqlext.spark.locations import local_path
from tests.operators.match.event_rows import STREAM, append
from tests.statements.cases import cases, message, settings

FIELDS = '[{"name": "k", "type": "string"}, {"name": "n", "type": ["null", "long"]}]'
AVRO = f'{{"type": "record", "name": "r", "fields": {FIELDS}}}'
PAIRS = f"""SELECT k, at, l FROM {STREAM} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES MATCH_ROWTIME() AS at, LAST(i) AS l PATTERN (A B) DEFINE A AS c = 'A', B AS c = 'B')"""
SESSIONS = f"""SELECT k, window_start AS since, sum(i) AS s
  FROM SESSION(TABLE {STREAM} PARTITION BY k, DESCRIPTOR(ts), INTERVAL 5 SECONDS)
 GROUP BY k, window_start, window_end EMIT EVERY 1 ROWS ALLOW LATENESS INTERVAL 1 HOUR"""


@pytest.fixture
def topic(events, kafka):
    """A function that creates a topic and the table of that name, and returns what was written into it."""

    def create(name: str, columns: str, **options: str):
        kafka.create(name, partitions=2)
        all_options = {"kafka.bootstrap.servers": kafka.address, "topic": name, "value_format": "json"} | options
        text = ", ".join(f"'{key.replace('_', '.')}' = '{value}'" for key, value in all_options.items())
        events.sql(f"CREATE TABLE {name} {columns} USING kafka OPTIONS ({text})")
        return lambda: kafka.records(name)

    return create


def identifiers(records) -> Counter:
    return Counter(record.headers["sqlext-id"] for record in records)


def test_a_row_is_an_object_of_its_columns_with_a_key(events, topic):
    columns = "(k STRING, at TIMESTAMP, local TIMESTAMP_NTZ, d DATE, n BIGINT, x DECIMAL(4, 2), b BINARY, a ARRAY<INT>)"
    records = topic("objects", columns, key_columns="K")
    events.sql("""INSERT INTO objects VALUES
      ('ann', TIMESTAMP '2026-03-02 08:01:10.123456', TIMESTAMP_NTZ '2026-03-02 08:00:00', DATE '2026-03-02', 3, 1.5,
       X'00FF', array(1, NULL)),
      ('bob', NULL, NULL, NULL, NULL, NULL, NULL, NULL)""")
    assert {record.key: record.value for record in records()} == {
        "ann": '{"k":"ann","at":"2026-03-02T08:01:10.123456Z","local":"2026-03-02T08:00:00.000000","d":"2026-03-02",'
        '"n":3,"x":1.50,"b":"AP8=","a":[1,null]}',
        "bob": '{"k":"bob"}',
    }
    assert max(identifiers(records()).values()) == 1
    assert events.sql("SELECT count(*) FROM objects WHERE at = TIMESTAMP '2026-03-02 08:01:10.123456'").first()[0] == 1


def test_columns_are_named_left_out_and_cast(events, topic):
    records = topic("named", "(k STRING, m INT, n BIGINT)", key_columns="k, m")
    events.sql("INSERT INTO named (n, k, m) SELECT i, 'a', i FROM VALUES (7), (8) AS rows(i)")
    events.sql("INSERT INTO named BY NAME SELECT 1 AS m, 2 AS k")
    assert sorted((record.key, record.value) for record in records()) == [
        ('{"k":"2","m":1}', '{"m":1,"k":"2"}'),
        ('{"k":"a","m":7}', '{"n":7,"k":"a","m":7}'),
        ('{"k":"a","m":8}', '{"n":8,"k":"a","m":8}'),
    ]


def test_avro_is_written_with_the_schema_and_read_back(events, topic):
    topic("in_avro", "", value_format="avro", value_schema=AVRO, key_columns="k")
    events.sql("INSERT INTO in_avro VALUES ('a', 1), ('b', NULL)")
    rows = events.sql("SELECT k, n FROM in_avro ORDER BY k").collect()
    assert [tuple(row) for row in rows] == [("a", 1), ("b", None)]


def test_a_raw_table_takes_the_parts_of_a_record(events, topic):
    records = topic("raw_parts", "", value_format="raw")
    events.sql("INSERT INTO raw_parts (partition, key, value) VALUES (1, 'k', 'v'), (1, NULL, 'v'), (0, 'k', NULL)")
    written = sorted((r.partition, r.key or "", r.value or "") for r in records())
    assert written == [(0, "k", ""), (1, "", "v"), (1, "k", "v")]
    assert len(identifiers(records())) == 3


def test_a_stream_resumes_and_a_micro_batch_that_is_written_again_has_the_same_identifiers(events, topic):
    records = topic("resumed", "(k INT, at TIMESTAMP, l INT)", key_columns="k")
    append(events, "1 0 A 1", "1 1 B 2", "2 1 A 1", "2 2 B 2", "1 60 C 0")
    events.sql(f"INSERT INTO resumed {PAIRS}")
    append(events, "1 61 A 3", "1 62 B 4", "1 63 A 3", "1 64 B 5", "1 120 C 0")
    events.sql(f"INSERT INTO resumed {PAIRS}")
    first = records()
    assert sorted((r.key, json.loads(r.value)["l"]) for r in first) == [("1", 2), ("1", 4), ("1", 5), ("2", 2)]
    assert [json.loads(r.value)["l"] for r in first if r.key == "1"] == [2, 4, 5]  # in the order of event time
    assert max(identifiers(first).values()) == 1

    (checkpoint,) = _folder(events).glob("_checkpoints/resumed/insert-resumed")
    last = max(checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name))
    for path in (last, last.with_name(f".{last.name}.crc")):
        path.unlink(missing_ok=True)
    events.sql(f"INSERT INTO resumed {PAIRS}")
    assert set(identifiers(records())) == set(identifiers(first))

    with pytest.raises(sqlext.BindError, match="CHANGED_QUERY"):
        events.sql(f"INSERT INTO resumed {PAIRS.replace('A B', 'B A')}")

    with settings(events, {"sqlext.stream.trigger": "1 hour"}):
        events.sql(f"INSERT INTO resumed {PAIRS}")
    assert [query.name for query in events.streams.active] == ["resumed/insert"]
    events.sql("DROP TABLE resumed")
    assert events.streams.active == []


def _folder(spark) -> Path:
    return local_path(spark.sql("DESCRIBE DETAIL sqlext_views").first().location)


def test_equal_rows_have_identifiers_of_their_own(events, topic):
    records = topic("equals", "(k INT)")
    events.sql("INSERT INTO equals VALUES (1), (1), (2)")
    assert len(identifiers(records())) == 3 and {record.key for record in records()} == {None}


def test_upsert_key_writes_the_last_row_of_each_key_and_tombstones(events, topic):
    records = topic("sessions", "(k INT, since TIMESTAMP, s BIGINT)")
    insert = f"INSERT INTO sessions UPSERT KEY (k, since) {SESSIONS}"
    append(events, "1 1 A 1", "1 2 B 2", "1 20 A 4", "1 21 B 8", "1 30 C 0", "NULL 8 C 7")
    events.sql(insert)
    append(events, "1 16 A 16", "1 11 A 32", "1 60 C 64")  # the session at 20 joins an earlier one
    events.sql(insert)
    last = {record.key: record.value for record in records()}
    rows = [json.loads(value) for value in last.values() if value is not None]
    assert sorted((row.get("k", 0), row["since"][17:19], row["s"]) for row in rows) == [
        (0, "08", 7), (1, "01", 3), (1, "11", 60), (1, "30", 0),
    ]  # fmt: skip
    assert [json.loads(key)["since"][17:19] for key, value in last.items() if value is None] == ["20"]
    assert max(identifiers(records()).values()) == 1


def test_null_is_no_key_of_a_record_except_with_upsert_key(events, topic):
    append(events, "1 0 A 1", "NULL 1 A 2", "NULL 2 A 3")
    records = topic("null_keys", "(k INT, i INT)", key_columns="k")
    events.sql("INSERT INTO null_keys SELECT k, i FROM events")
    assert sorted((r.key or "", json.loads(r.value)["i"]) for r in records()) == [("", 2), ("", 3), ("1", 1)]
    records = topic("null_upserts", "(k INT, at TIMESTAMP, i INT)")
    events.sql(f"INSERT INTO null_upserts UPSERT KEY (k) SELECT k, ts AS at, i FROM {STREAM}")
    assert sorted((r.key, json.loads(r.value)["i"]) for r in records()) == [("1", 1), ("{}", 3)]


def test_what_cannot_be_written_is_refused_with_its_place(events, kafka_jars):
    """All cases in one test, because the tables take longer than the errors. No broker is asked."""
    for name, columns, options in (
        ("alerts", "(k INT, at TIMESTAMP, l INT)", "topic = 'alerts', 'value.format' = 'json', 'key.columns' = 'k'"),
        ("read_only", "(k INT)", "subscribe = 'alerts', 'value.format' = 'json'"),
        ("raw_parts", "", "topic = 'alerts'"),
        ("in_avro", "", f"topic = 'alerts', 'value.format' = 'avro', 'value.schema' = '{AVRO}'"),
    ):
        events.sql(f"CREATE TABLE {name} {columns} USING kafka OPTIONS ('kafka.bootstrap.servers' = 'h:1', {options})")
    for case in cases("../kafka/sink_errors.txt"):
        assert message(lambda text=case.step.text: events.sql(text)) == "\n".join(case.step.lines), case.title
