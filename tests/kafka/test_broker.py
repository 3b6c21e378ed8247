"""The broker that the other tests start: what the client writes Spark reads, and the reverse."""

from __future__ import annotations

from .broker import Record


def test_records_keep_their_partition_key_time_and_headers(kafka):
    kafka.create("kept", partitions=2)
    written = [
        Record(value={"n": 1}, key="a", partition=1, timestamp_ms=1_000, headers={"h": "x"}),
        Record(value=None, key="a", partition=1, timestamp_ms=2_000),
        Record(value=b"\xff", partition=0, timestamp_ms=3_000),
    ]
    kafka.produce("kept", written)
    read = [(r.partition, r.offset, r.key, r.value, r.timestamp_ms, dict(r.headers)) for r in kafka.records("kept")]
    assert read == [
        (0, 0, None, b"\xff", 3_000, {}),
        (1, 0, "a", '{"n": 1}', 1_000, {"h": "x"}),
        (1, 1, "a", None, 2_000, {}),
    ]


def test_spark_writes_a_topic_and_reads_it(spark, kafka):
    kafka.create("by_spark")
    options = {"kafka.bootstrap.servers": kafka.address}
    rows = spark.createDataFrame([("k", "v")], "key STRING, value STRING")
    rows.write.format("kafka").options(**options, topic="by_spark").save()
    assert [(r.key, r.value) for r in kafka.records("by_spark")] == [("k", "v")]
    read = spark.read.format("kafka").options(**options, subscribe="by_spark").load()
    assert [(bytes(r.key), bytes(r.value)) for r in read.collect()] == [(b"k", b"v")]


def test_a_topic_grows_and_is_made_anew(kafka):
    kafka.create("anew")
    kafka.produce("anew", [Record(value="1")])
    kafka.add_partitions("anew", 2)
    kafka.produce("anew", [Record(value="2", partition=1)])
    assert [r.value for r in kafka.records("anew")] == ["1", "2"]
    kafka.delete("anew")
    kafka.create("anew")
    assert kafka.records("anew") == []
