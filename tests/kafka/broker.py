"""A Kafka broker on this machine: one process on loopback and a free port, with its files in a folder of its own.

    with broker() as kafka:
        kafka.create("events", partitions=4)
        kafka.produce("events", [Record(value={"card": 1}, key="1")])
        kafka.records("events")

A second listener lets in the name USER with its PASSWORD only, by SASL_PLAINTEXT and PLAIN. The broker ends with the
block, and with the process that started it, however that ends. Its jars are from Maven Central (`jars.py`); without
them `broker` raises NoJars.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.cluster.standalone import free_port

from .jars import BROKER, JAVA, jars

# Records may have any time, so none is too old to be kept.
_SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},GUARDED://127.0.0.1:{guarded},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,GUARDED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.name.guarded.sasl.enabled.mechanisms=PLAIN
listener.name.guarded.plain.sasl.jaas.config={module} required user_{user}="{password}";
log.dirs={folder}/log
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
log.retention.check.interval.ms=1000
log.segment.delete.delay.ms=0
log.initial.task.delay.ms=0
"""
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
USER, PASSWORD = "app", "word-of-the-broker"
# What `kafka-storage format` writes: it would be a second JVM.
_META = "version=1\nnode.id=1\ncluster.id={cluster}\ndirectory.id={directory}\n"
# The shell waits for the end of its input, which is the end of the process that holds the other end.
_WITH_PARENT = '"$@" & read _; kill -9 $!; wait'
_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_STARTS = 60  # seconds
_CLIENT_WORKS = 30  # seconds


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record of a topic. Texts are UTF-8, and a value that is no text is JSON; None is a tombstone.

    `partition`: None lets the client choose it by the key; `timestamp_ms`: None is now; `offset`: of a record that was
    read.
    """

    value: Any = None
    key: str | bytes | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: Mapping[str, str | bytes | None] = field(default_factory=dict)
    offset: int | None = None


@dataclass(frozen=True)
class Broker:
    """A broker that runs. `address`: for `kafka.bootstrap.servers`; `guarded`: for clients with USER and PASSWORD."""

    address: str
    guarded: str

    @cached_property
    def admin(self) -> AdminClient:
        """A client for all that is not here."""
        return AdminClient(self._client)

    @property
    def _client(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.address, "log_level": 0}

    def create(self, topic: str, partitions: int = 1, **config: str) -> None:
        """Create a topic; `config`: its settings, with _ for the dots (`retention_ms`)."""
        settings = {name.replace("_", "."): value for name, value in config.items()}
        _done(self.admin.create_topics([NewTopic(topic, partitions, 1, config=settings)]))

    def delete(self, topic: str) -> None:
        _done(self.admin.delete_topics([topic], operation_timeout=_CLIENT_WORKS))

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Let a topic have this number of partitions, which is more than before."""
        _done(self.admin.create_partitions([NewPartitions(topic, partitions)]))

    def produce(self, topic: str, records: Iterable[Record]) -> None:
        """Write records, in their order in each partition; all are there when it returns."""
        failures: list[KafkaError] = []
        producer = Producer({**self._client, "enable.idempotence": True, "linger.ms": 5})
        for record in records:
            others: dict[str, Any] = {}
            if record.partition is not None:
                others["partition"] = record.partition
            if record.timestamp_ms is not None:
                others["timestamp"] = record.timestamp_ms
            while True:
                try:
                    producer.produce(
                        topic,
                        _bytes(record.value),
                        record.key,
                        headers=dict(record.headers),
                        on_delivery=lambda error, _: failures.append(error) if error else None,
                        **others,
                    )
                    break
                except BufferError:  # the queue is full
                    producer.poll(1)
            producer.poll(0)
        left = producer.flush(_CLIENT_WORKS)
        if left or failures:
            raise RuntimeError(f"{left} records of {topic} were not written, {len(failures)} failed: {failures[:1]}")

    def records(self, topic: str) -> list[Record]:
        """All committed records of a topic, by partition and offset. Keys, values and headers are texts if they are
        UTF-8, and else bytes."""
        consumer = Consumer(
            {
                **self._client,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            }
        )
        records: list[Record] = []
        try:
            partitions = consumer.list_topics(topic, _CLIENT_WORKS).topics[topic].partitions
            consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
            open_partitions = set(partitions)
            while open_partitions:
                message = consumer.poll(_CLIENT_WORKS)
                if message is None:
                    raise TimeoutError(f"no end of {topic} in partitions {sorted(open_partitions)}")
                if (error := message.error()) is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise RuntimeError(str(error))
                    open_partitions.discard(message.partition())
                    continue
                kind, at = message.timestamp()
                records.append(
                    Record(
                        value=_text(message.value()),
                        key=_text(message.key()),
                        partition=message.partition(),
                        timestamp_ms=None if kind == TIMESTAMP_NOT_AVAILABLE else at,
                        headers={name: _text(value) for name, value in message.headers() or ()},
                        offset=message.offset(),
                    )
                )
        finally:
            consumer.close()
        return sorted(records, key=lambda record: (record.partition, record.offset))


@contextmanager
def broker(folder: Path | None = None, port: int | None = None) -> Iterator[Broker]:
    """A broker that is ended after the block. `folder`: where its files are, None takes a temporary one; `port`: where
    it listens, None takes a free one.

    Raises NoJars, and RuntimeError with what the broker wrote if it does not start.
    """
    classpath = os.pathsep.join(map(str, jars(BROKER)))
    place = Path(folder or tempfile.mkdtemp(prefix="sqlext-kafka-"))
    port, guarded = port or free_port(), free_port()
    settings = place / "server.properties"
    if not (place / "log" / "meta.properties").exists():
        (place / "log").mkdir(parents=True)
        meta = _META.format(cluster=_identifier(), directory=_identifier())
        (place / "log" / "meta.properties").write_text(meta)
    ports = {"port": port, "guarded": guarded, "controller": free_port()}
    settings.write_text(_SETTINGS.format(**ports, folder=place, module=MODULE, user=USER, password=PASSWORD))
    java = (JAVA, *_OPTIONS, "-cp", classpath, "kafka.Kafka", str(settings))
    try:
        with with_parent(java, place / "printed"):
            yield _started(Broker(f"127.0.0.1:{port}", f"127.0.0.1:{guarded}"), place / "printed")
    finally:
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)


@contextmanager
def with_parent(
    command: Sequence[str], printed: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended after the block, and with this process, however that ends. What it prints goes into the
    file `printed`."""
    with printed.open("w") as file:
        process = subprocess.Popen(
            ("sh", "-c", _WITH_PARENT, "sh", *command), stdin=subprocess.PIPE, stdout=file, stderr=file, env=environment
        )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_CLIENT_WORKS)


def _started(started: Broker, printed: Path) -> Broker:
    """The broker, as soon as it answers."""
    try:
        started.admin.list_topics(timeout=_STARTS)
    except KafkaException:
        raise RuntimeError(f"Kafka did not start: {printed.read_text()[-3000:]}") from None
    return started


def _identifier() -> str:
    """A random identifier, as Kafka writes them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _done(futures: Mapping[str, Any]) -> None:
    for each in futures.values():
        each.result(_CLIENT_WORKS)


def _bytes(value: Any) -> str | bytes | None:
    return value if value is None or isinstance(value, (str, bytes)) else json.dumps(value)


def _text(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value
