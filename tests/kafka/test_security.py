"""A broker that wants a name and a password: references to them are enough, and no text shows the password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sqlext
from sqlext.spark.locations import local_path
from tests.statements.cases import settings

from .broker import MODULE, PASSWORD, USER

WRONG = "word-of-another"
TABLE = """CREATE OR REPLACE TABLE {name} (i INT) USING kafka OPTIONS ('kafka.bootstrap.servers' = '{address}',
  topic = 'for_members', 'value.format' = 'json', 'kafka.security.protocol' = 'SASL_PLAINTEXT',
  'kafka.sasl.mechanism' = 'PLAIN',
  'kafka.sasl.jaas.config' = '{module} required username="{user}" password="${{file:{secrets}:{key}}}";')"""
READ = "CREATE OR REPLACE STREAMING TABLE read AS SELECT i FROM STREAM {}"


@contextmanager
def logged(spark, file: Path) -> Iterator[None]:
    """Write into a file what Spark and Kafka's clients log in the block, from INFO on."""
    log4j = spark._jvm.org.apache.logging.log4j
    layout = log4j.core.layout.PatternLayout.createDefaultLayout()
    appender = log4j.core.appender.FileAppender.newBuilder().withFileName(str(file)).setName("test")
    appender = appender.setLayout(layout).build()
    root = log4j.LogManager.getRootLogger()
    before = root.getLevel().name()
    appender.start()
    root.addAppender(appender)
    spark.sparkContext.setLogLevel("INFO")
    try:
        yield
    finally:
        spark.sparkContext.setLogLevel(before)
        root.removeAppender(appender)
        appender.stop()


def test_a_password_is_a_reference_that_opens_the_topic_and_is_shown_nowhere(events, kafka, tmp_path):
    kafka.create("for_members")
    (tmp_path / "secrets.properties").write_text(f"right={PASSWORD}\nwrong={WRONG}\n")
    options = {"address": kafka.guarded, "module": MODULE, "user": USER, "secrets": tmp_path / "secrets.properties"}
    for key in ("right", "wrong"):
        events.sql(TABLE.format(name=f"guarded_{key}", key=key, **options))
    texts = []
    with logged(events, tmp_path / "log"), settings(events, {"sqlext.failed_values": "unread"}):
        kafka_rows = "SELECT i FROM guarded_right"
        events.sql("INSERT INTO guarded_right VALUES (1), (2)")
        events.sql(READ.format("guarded_right"))
        events.sql("INSERT INTO guarded_right SELECT i + 2 AS i FROM STREAM read")
        assert sorted(row.i for row in events.sql(kafka_rows).collect()) == [1, 2, 3, 4]
        for statement in (
            "SELECT i FROM guarded_wrong",
            READ.format("guarded_wrong"),
            "INSERT INTO guarded_wrong VALUES (1)",
            "INSERT INTO guarded_wrong SELECT i FROM STREAM read",
        ):
            with pytest.raises(sqlext.SetupError, match=f"at {kafka.guarded} refuse .*Invalid username") as error:
                events.sql(statement).collect()
            texts.append(str(error.value))
        for statement in (
            f"EXPLAIN EXTENDED {kafka_rows}",
            f"EXPLAIN MATCH {kafka_rows}",
            "SHOW CREATE TABLE guarded_right",
            "DESCRIBE TABLE EXTENDED guarded_right",
            "SHOW STREAMING TABLES",
            "DESCRIBE STREAMING TABLE read",
            "SELECT * FROM sqlext_views",
        ):
            texts.append(str(events.sql(statement).collect()))
        texts += [progress.json for query in events.streams.active for progress in query.recentProgress]
    log = (tmp_path / "log").read_text()
    assert "sasl.jaas.config = [hidden]" in log
    warehouse = local_path(events.conf.get("spark.sql.warehouse.dir"))
    texts += [log, *(path.read_bytes().decode("latin-1") for path in warehouse.rglob("*") if path.is_file())]
    assert not any(word in text for text in texts for word in (PASSWORD, WRONG))
