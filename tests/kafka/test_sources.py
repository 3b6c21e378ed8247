"""Tables of Kafka: the scripts of `sources.sql`, and what happens to the topics that a stream reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from confluent_kafka import TopicPartition

import sqlext
from sqlext.cli.on_session import split_statements
from tests.statements.cases import Step, as_lines, cases, expected_of, message, result_of, settings, steps

from .broker import Record, broker

CASES = cases(str(Path(__file__).with_name("sources.sql")))
DOCUMENT = Path(__file__).parents[2] / "docs" / "kafka.md"
GONE = r"data may have been (missed|lost)|offset was changed|is out of range"
AVAILABLE_NOW = {"sqlext.stream.trigger": "available-now"}


@pytest.fixture
def topics(spark, kafka):
    """The session; what a test creates in it is dropped afterwards."""
    before = {table.name for table in spark.catalog.listTables()}
    yield spark
    for table in spark.catalog.listTables():
        if table.name not in before:
            spark.sql(f"DROP {'VIEW' if table.tableType == 'VIEW' else 'TABLE'} IF EXISTS `{table.name}`")


def record(written: dict) -> Record:
    value = avro(*written["avro"]) if "avro" in written else written.get("value")
    if "schema" in written:  # its number in a schema registry
        plain = value if isinstance(value, bytes) else json.dumps(value).encode()
        value = b"\0" + written["schema"].to_bytes(4, "big") + plain
    return Record(
        value=value,
        key=written.get("key"),
        partition=written.get("partition"),
        timestamp_ms=written.get("at"),
        headers=written.get("headers", {}),
    )


def avro(number: int, text: str | None) -> bytes:
    """A record of a long and of a text or NULL. Numbers are small enough for one byte."""
    zigzag = bytes([(number << 1) ^ (number >> 63)])
    return zigzag + (b"\0" if text is None else b"\2" + bytes([2 * len(text)]) + text.encode())


def do(kafka, command: str) -> bool:
    """Carry out TOPIC or PRODUCE; False for SQL."""
    head, *lines = command.split("\n")
    words = head.split()
    if words[0] == "TOPIC":
        kafka.create(words[1], partitions=int(words[2]), retention_ms="-1")  # records may have any time
    elif words[0] == "PRODUCE":
        kafka.produce(words[1], [record(json.loads(line)) for line in lines])
    return words[0] in ("TOPIC", "PRODUCE")


def all_steps(read: list[Step]) -> Iterator[Step]:
    """The steps of a case. Other than elsewhere, an error ends at an empty line, and more may follow."""
    for step in read:
        if step.kind != "error" or "" not in step.lines:
            yield step
            continue
        end = step.lines.index("")
        yield replace(step, lines=step.lines[:end])
        yield from all_steps(list(steps(step.lines[end + 1 :])))


@pytest.mark.random(every=3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_table_of_kafka_gives_its_rows_or_its_error(topics, kafka, case):
    with settings(topics, case.settings):
        for step in all_steps(case.steps):
            text = step.text.replace("$BROKER", kafka.address)
            if do(kafka, text):
                continue
            if step.kind == "error":
                shown = message(lambda text=text: topics.sql(text).collect()).replace(kafka.address, "$BROKER")
                found = [line[: len(wanted)] for line, wanted in zip(shown.split("\n"), step.lines)]
                assert found == step.lines, shown
            elif step.kind == "rows":
                topics.sql(text).createOrReplaceTempView("result")
                found = result_of(topics.sql(as_lines("SELECT * FROM result")).first())
                topics.catalog.dropTempView("result")
                assert found == expected_of(step), text
            else:
                topics.sql(text)


JSON_TABLE = """CREATE TABLE {0} (i INT, ts TIMESTAMP) USING kafka
    OPTIONS ('kafka.bootstrap.servers' = '{1}', subscribe = '{0}', 'value.format' = 'json')"""


def write(kafka, topic, *numbers, partition=0):
    """Produce a record for each number, in a second of its own."""
    values = ({"i": i, "ts": f"2026-03-02T08:{i // 60:02}:{i % 60:02}Z"} for i in numbers)
    kafka.produce(topic, [Record(value=value, partition=partition) for value in values])


def numbers(spark, table) -> list[int]:
    return sorted(row.i for row in spark.table(table).select("i").collect())


def running(spark, name):
    (query,) = (query for query in spark.streams.active if query.name == name)
    return query


def last_error(spark, name) -> str:
    (row,) = spark.sql(f"SHOW STREAMING TABLES LIKE '{name}'").collect()
    return row.last_error


def partitions_are_added(topics, kafka):
    """A running stream reads them."""
    kafka.create("grown")
    write(kafka, "grown", 1)
    topics.sql(JSON_TABLE.format("grown", kafka.address))
    topics.sql("CREATE STREAMING TABLE read AS SELECT i FROM STREAM grown")
    try:
        running(topics, "read").processAllAvailable()
        kafka.add_partitions("grown", 2)
        write(kafka, "grown", 2, 3, partition=1)
        running(topics, "read").processAllAvailable()
        assert numbers(topics, "read") == [1, 2, 3]
    finally:
        topics.sql("STOP STREAMING TABLE read")


def records_are_gone(topics, kafka):
    """It ends, and goes on if it may."""
    kafka.create("retained")
    topics.sql(JSON_TABLE.format("retained", kafka.address))
    read = "CREATE OR REFRESH STREAMING TABLE read AS SELECT i FROM STREAM retained {}"
    with settings(topics, AVAILABLE_NOW):
        write(kafka, "retained", 1, 2)
        topics.sql(read.format(""))
        write(kafka, "retained", 3, 4, 5)
        for future in kafka.admin.delete_records([TopicPartition("retained", 0, 4)]).values():
            future.result(30)
        with pytest.raises(Exception, match="STREAM_FAILED"):
            topics.sql(read.format(""))
        assert re.search(GONE, last_error(topics, "read"))
        topics.sql(read.format("WITH (failOnDataLoss = false)"))
        assert numbers(topics, "read") == [1, 2, 5]
        assert numbers(topics, "retained") == [5]


def it_is_made_anew(topics, kafka):
    """It is told before it starts: it begins anew if it is replaced, and goes on where the old one ended if it may."""
    kafka.create("renewed")
    topics.sql(JSON_TABLE.format("renewed", kafka.address))
    read = "CREATE OR REFRESH STREAMING TABLE read AS SELECT i FROM STREAM renewed {}"
    with settings(topics, AVAILABLE_NOW):
        write(kafka, "renewed", 1, 2, 3)
        topics.sql(read.format(""))
        kafka.delete("renewed")
        kafka.create("renewed")
        write(kafka, "renewed", 4, 5, 6, 7)
        for statement in (read.format(""), "REFRESH STREAMING TABLE read"):
            with pytest.raises(sqlext.BindError, match="the topic renewed was deleted and made anew"):
                topics.sql(statement)
        topics.sql(read.format("WITH (failOnDataLoss = false)"))
        assert numbers(topics, "read") == [1, 2, 3, 7]
        topics.sql(read.format(""))  # the topic is known now
        topics.sql(read.format("").replace("OR REFRESH", "OR REPLACE"))
        assert numbers(topics, "read") == [4, 5, 6, 7]


def it_is_idle(topics, kafka):
    """Its watermark goes on with the clock."""
    kafka.create("idle", partitions=2)  # one of them has no record
    write(kafka, "idle", 1, 2, 3)
    topics.sql(JSON_TABLE.format("idle", kafka.address))
    with settings(topics, AVAILABLE_NOW):
        topics.sql("""CREATE STREAMING TABLE read AS
            SELECT i FROM STREAM idle WATERMARK ts DELAY OF INTERVAL 1 SECOND IDLE AFTER INTERVAL 1 MINUTE
            MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(idle.i) AS i PATTERN (A+) WITHIN INTERVAL 5 SECONDS
              DEFINE A AS partition = 0)""")
        assert numbers(topics, "read") == []
        for _ in range(2):
            topics.sql("REFRESH STREAMING TABLE read")
        assert numbers(topics, "read") == [3]


def its_broker_is_killed_and_started_again(topics, _):
    """The stream waits, and goes on."""
    with TemporaryDirectory() as folder:
        with broker(Path(folder)) as kafka:
            kafka.create("restarted")
            write(kafka, "restarted", 1)
            topics.sql(JSON_TABLE.format("restarted", kafka.address))
            topics.sql("CREATE STREAMING TABLE read AS SELECT i FROM STREAM restarted")
            running(topics, "read").processAllAvailable()
        with broker(Path(folder), port=int(kafka.address.rpartition(":")[2])):
            try:
                write(kafka, "restarted", 2, 3)
                running(topics, "read").processAllAvailable()
                assert numbers(topics, "read") == [1, 2, 3]
            finally:
                topics.sql("STOP STREAMING TABLE read")


EVENTS = (partitions_are_added, records_are_gone, it_is_made_anew, it_is_idle, its_broker_is_killed_and_started_again)


@pytest.mark.random(every=4)
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_a_stream_over_a_topic_when(topics, kafka, event):
    event(topics, kafka)


def test_a_reference_to_a_secret_is_resolved_by_kafka_alone(topics, kafka, tmp_path):
    kafka.create("guarded")
    write(kafka, "guarded", 1)
    (tmp_path / "of.properties").write_text(f"broker={kafka.address}\n")
    reference = f"${{file:{tmp_path}/of.properties:broker}}"
    topics.sql(JSON_TABLE.format("guarded", reference))
    with settings(topics, AVAILABLE_NOW):
        topics.sql("CREATE STREAMING TABLE read AS SELECT i FROM STREAM guarded")
    assert numbers(topics, "guarded") == numbers(topics, "read") == [1]
    shown = [row[0] for text in ("SHOW CREATE TABLE guarded", "EXPLAIN EXTENDED SELECT * FROM guarded")
             for row in topics.sql(text).collect()]  # fmt: skip
    assert reference in shown[0] and "KafkaRelation" in shown[1] and kafka.address not in "".join(shown)
    plan = topics.sql("EXPLAIN SELECT i FROM guarded WHERE i > 0").collect()[0][0]
    assert plan.count("from_json") == 1, plan  # each value is read once


FENCED = re.compile(r"^```(sql|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_document_runs_from_its_first_block_to_its_last(topics, kafka):
    for language, block in FENCED.findall(DOCUMENT.read_text("utf-8")):
        if language == "json":
            kafka.create("logins_of_document")
            kafka.produce("logins_of_document", [Record(value=line) for line in block.splitlines()])
            continue
        here = block.replace("localhost:9092", kafka.address).replace("'logins'", "'logins_of_document'")
        for statement in split_statements(here.replace('{"logins":', '{"logins_of_document":')):
            result = topics.sql(statement)
        cells = result.selectExpr(*(f"coalesce(CAST(`{column}` AS STRING), 'NULL')" for column in result.columns))
        rows = [re.split(r"\s{2,}", row.strip()) for row in re.findall(r"^-- (.*)\n", block, re.MULTILINE)]
        assert sorted(map(list, cells.collect())) == sorted(rows)
