"""Tables of Kafka in a session of a Connect client, which has no JVM."""

from __future__ import annotations

import json

import pytest

from tests.sessions.programs import CONNECT_SESSION, printed

from .broker import Record
from .jars import connector_jars

SESSION = CONNECT_SESSION.replace(
    '("spark.jars.packages", delta)', '("spark.jars.packages", delta).set("spark.jars", os.environ["JARS"])'
)
PROGRAM = """
    from confluent_kafka.admin import AdminClient, NewTopic

    sqlext.extend(spark)
    KAFKA = "USING kafka OPTIONS ('kafka.bootstrap.servers' = '{broker}', topic = '{topic}', 'value.format' = 'json'"
    def table(name, columns, topic, more="", broker=os.environ["BROKER"]):
        spark.sql(f"CREATE TABLE {name} {columns} {KAFKA.format(broker=broker, topic=topic)} {more})")
    def fails(text):
        try:
            print(spark.sql(text).collect())
        except sqlext.SqlExtError as error:
            print(str(error).splitlines()[0].replace(os.environ["BROKER"], "BROKER"))

    table("logins", "(account STRING, ts TIMESTAMP, success BOOLEAN)", "connect_logins")
    table("alerts", "(account STRING, n BIGINT)", "connect_alerts", ", 'key.columns' = 'account'")
    some = '''logins WITH (endingOffsets = '{"connect_logins": {"0": 3}}')'''
    print(spark.sql(f"SELECT count(*), max(offset) FROM {some}").collect())

    match = '''MATCH_RECOGNIZE (PARTITION BY account ORDER BY ts MEASURES COUNT(FAILED.*) AS n PATTERN (FAILED{3,} OK)
                 DEFINE FAILED AS NOT success, OK AS success)'''
    stream = f"STREAM logins WATERMARK ts DELAY OF INTERVAL 10 SECONDS {match}"
    now = "OPTIONS ('trigger' = 'available-now')"
    print(spark.sql(f"SELECT account, n FROM logins {match}").collect())
    spark.sql(f"CREATE STREAMING TABLE takeovers {now} AS SELECT * FROM {stream}")
    print(spark.table("takeovers").collect())
    print(spark.sql("SHOW STREAMING TABLES").select("name", "state", "failed_values").collect()[0])

    spark.conf.set("sqlext.stream.trigger", "available-now")
    spark.sql(f"INSERT INTO alerts SELECT * FROM {stream}")
    spark.sql("INSERT INTO alerts VALUES ('zoe', 4)")
    print(sorted(map(tuple, spark.sql("SELECT CAST(key AS STRING), n FROM alerts").collect())))

    table("silent", "(i INT)", "t", ", 'kafka.request.timeout.ms' = 500, 'kafka.default.api.timeout.ms' = 500",
          "127.0.0.1:1")
    table("missing", "(i INT)", "missing")
    for name in ("silent", "missing"):
        fails(f"SELECT i FROM {name}")
        fails(f"CREATE STREAMING TABLE of_{name} AS SELECT i FROM STREAM {name}")
    fails("INSERT INTO silent VALUES (1)")

    admin = AdminClient({"bootstrap.servers": os.environ["BROKER"]})
    admin.delete_topics(["connect_logins"])["connect_logins"].result()
    admin.create_topics([NewTopic("connect_logins", 1, 1)])["connect_logins"].result()
    spark.sql("INSERT INTO logins VALUES ('eve', TIMESTAMP '2026-03-02 09:00:00', true)")
    try:
        spark.sql("REFRESH STREAMING TABLE takeovers")
    except Exception as error:
        print("was changed from 6 to 1" in str(error))
    spark.stop()
"""

LOGINS = (
    {"account": "ann", "ts": "2026-03-02T08:00:00Z", "success": False},
    {"account": "ann", "ts": "2026-03-02T08:00:20Z", "success": False},
    {"account": "ann", "ts": "2026-03-02T08:00:40Z", "success": False},
    {"account": "ann", "ts": "2026-03-02T08:01:10Z", "success": True},
    {"account": "bob", "ts": "2026-03-02T08:02:00Z", "success": True},
)


@pytest.mark.slow
def test_a_connect_session_reads_and_writes_topics(kafka, tmp_path):
    kafka.create("connect_logins")
    kafka.create("connect_alerts")
    kafka.produce("connect_logins", [*(Record(value=json.dumps(login)) for login in LOGINS), Record(value="not JSON")])
    assert printed(SESSION + PROGRAM, tmp_path, BROKER=kafka.address, JARS=connector_jars()) == [
        "[Row(count(1)=3, max(offset)=2)]",
        *["[Row(account='ann', n=3)]"] * 2,
        "Row(name='takeovers', state='stopped', failed_values=1)",
        "[('ann', 3), ('zoe', 4)]",
        *["SQLEXT_KAFKA_BROKER: no broker answers at 127.0.0.1:1, where silent has its topics"] * 2,
        *["SQLEXT_KAFKA_TOPIC: the brokers at BROKER have no topic missing, which missing reads"] * 2,
        "SQLEXT_KAFKA_BROKER: no broker answers at 127.0.0.1:1, where `silent` has its topics",
        "True",  # a topic made anew that has fewer records is noticed by Spark
    ]
