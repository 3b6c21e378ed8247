#!/usr/bin/env bash
# PySpark 4.2.0 with Kafka 4.1.0: a stream that resumes on a topic made anew skips its first records, and says nothing.
#
# A stream has read three records of a topic of one partition. The topic is deleted and made again under its name, as one
# does to empty it or to repair its settings, and the stream is started again with its checkpoint and with
# failOnDataLoss = true, which is also the default and promises to end the query if data may be lost.
#
# With fewer records in the new topic than were read of the old one the query ends with an error, as promised. With as
# many or more it begins at the offset that comes next in the old topic, so the first three records of the new topic are
# never read, and neither this run nor a later one has an error or a warning. Which of the two happens depends only on how
# many records producers have written until the stream looks.
#
# A topic has an identifier that is new for each topic (KIP-516, since Kafka 2.8), and clients and brokers tell it; the
# offsets that Spark keeps in its checkpoint have the name of the topic only.
#
# Needs Java 17 and Maven Central. Installs pyspark==4.2.0 and confluent-kafka==2.12.1 into a temporary folder, starts one
# broker on loopback, and fails if other records are read.
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyspark==4.2.0 confluent-kafka==2.12.1
cat > "$work/ask.py" <<'PYTHON'
import atexit
import os
import pathlib
import socket
import subprocess
import sys
import time

import pyspark
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

home = pathlib.Path(sys.argv[1])
ivy = home / "ivy.xml"
ivy.write_text("""<ivy-module version="2.0"><info organisation="x" module="broker"/>
<configurations><conf name="default"/></configurations><dependencies>
<dependency org="org.apache.kafka" name="kafka_2.13" rev="4.1.0" conf="default->default"/>
<dependency org="org.slf4j" name="slf4j-simple" rev="2.0.17" conf="default->default"/>
</dependencies></ivy-module>""")
of_spark = os.path.join(os.path.dirname(pyspark.__file__), "jars", "*")
resolve = ["java", "-cp", of_spark, "org.apache.ivy.Main", "-ivy", ivy, "-cache", home / "ivy"]
subprocess.run([*resolve, "-confs", "default", "-cachepath", home / "jars"], check=True, stdout=subprocess.DEVNULL)


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


port, controller = free_port(), free_port()
(home / "log").mkdir()
identifiers = "cluster.id=MkU3OEVBNTcwNTJENDM2Qg\ndirectory.id=Zm9yX29uZV9maW5kaW5nXw\n"
(home / "log" / "meta.properties").write_text(f"version=1\nnode.id=1\n{identifiers}")
(home / "server.properties").write_text(f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={home}/log
offsets.topic.replication.factor=1
""")
jars = (home / "jars").read_text().strip()
with (home / "broker.log").open("w") as printed:
    start = ["java", "-Xmx512m", "-cp", jars, "kafka.Kafka", home / "server.properties"]
    broker = subprocess.Popen(start, stdout=printed, stderr=printed)
atexit.register(broker.kill)
address = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
admin = AdminClient(address)
try:
    admin.list_topics(timeout=90)
except KafkaException:
    sys.exit((home / "broker.log").read_text()[-3000:])


def wait_for(topic, exists):
    while (topic in admin.list_topics(timeout=60).topics) != exists:
        time.sleep(0.2)


def make(topic, values):
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    wait_for(topic, True)
    producer = Producer(address)
    for value in values:
        producer.produce(topic, str(value), partition=0)
    assert producer.flush(30) == 0


def delete(topic):
    admin.delete_topics([topic], operation_timeout=30)[topic].result(30)
    wait_for(topic, False)


spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.jars.packages", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0").getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")


def run(topic):
    """All values that the stream has written so far, or how it ended."""
    events = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address["bootstrap.servers"])
    events = events.option("subscribe", topic).option("startingOffsets", "earliest").option("failOnDataLoss", "true")
    values = events.load().selectExpr("CAST(CAST(value AS STRING) AS INT) AS v").writeStream.format("parquet")
    values = values.option("checkpointLocation", str(home / f"{topic}.checkpoint")).option("path", str(home / topic))
    try:
        values.trigger(availableNow=True).start().awaitTermination()
    except PySparkException as error:
        return "an error" if "KAFKA_DATA_LOSS" in str(error) or "offset" in str(error).lower() else str(error)
    return sorted(row.v for row in spark.read.parquet(str(home / topic)).collect())


found = {}
for topic, anew in (("fewer", [11, 12]), ("more", [11, 12, 13, 14, 15])):
    make(topic, [1, 2, 3])
    assert run(topic) == [1, 2, 3]
    delete(topic)
    make(topic, anew)
    found[topic] = run(topic), run(topic)
    print(f"read 1, 2, 3; the topic is made anew with {anew}; two runs: {found[topic][0]}, {found[topic][1]}", flush=True)
spark.stop()
sys.exit(0 if found == {"fewer": ("an error",) * 2, "more": ([1, 2, 3, 14, 15],) * 2} else f"others than expected: {found}")
PYTHON
echo "PySpark 4.2.0, Kafka 4.1.0"
"$work/venv/bin/python" "$work/ask.py" "$work" 2> "$work/errors" || { tail -20 "$work/errors"; exit 1; }
