"""Asks the brokers of a table before records are read or written.

Spark's source and sink wait for minutes for brokers that do not answer, and their errors name neither brokers nor
topics. Kafka's client, which is in the jar of Spark's source, knows within seconds; on Connect, which has no JVM, a
query that reads no record does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.catalog import streams
from sqlext.errors import BindError, Place, SetupError, SqlExtError
from sqlext.rewriter.heads.kafka_options import CLIENT, SERVERS, TOPICS
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.kind import is_connect
from sqlext.spark.quiet_probes import quiet_probes

_WAITS = {f"{CLIENT}request.timeout.ms": "10000", f"{CLIENT}default.api.timeout.ms": "10000"}
_NO_TOPIC = {"subscribepattern": "(?!)"}  # a pattern that no name matches
_UNKNOWN = "UnknownTopicOrPartitionException"
_SILENT = re.compile(r"\.errors\.(?:Timeout|Disconnect|BrokerNotAvailable)Exception")
_REFUSED = re.compile(r"\.errors\.\w*Auth(?:entication|orization)Exception")
_MESSAGE = re.compile(r"(?:Exception|Error)[:)] (?!\S+(?:Exception|Error):)([^\n]+)")
_OF_JAAS = re.compile(r"JAAS config$|login module", re.IGNORECASE)  # it may quote a part of a password


def ask_brokers(spark: SparkSession, options: Mapping[str, str], table: str, place: Place) -> dict[str, str]:
    """The identifiers of the topics that a table reads, by their names; none on Connect.

    `options`: of Spark's source, or of its sink, of which only the brokers are asked; `table`: the name of the table,
    which a statement reads or writes at `place`.

    Raises SetupError KAFKA_BROKER if no broker answers or lets the client in, and BindError KAFKA_TOPIC for a topic
    that does not exist.
    """
    all_options = {name.lower(): value for name, value in options.items()}
    if not _WAITS.keys() & all_options:
        all_options |= _WAITS
    if not set(TOPICS) & all_options.keys():
        all_options |= _NO_TOPIC
    asked = {name: value for name, value in all_options.items() if name.startswith(CLIENT) or name in TOPICS}
    try:
        with quiet_probes():
            return _by_query(spark, asked) if is_connect(spark) else _by_client(spark, asked)
    except (PySparkException, Py4JError) as error:
        raise _about(streams.whole_text(error), asked, table, place) from None


def _by_client(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    """The identifiers of the topics, by Kafka's client."""
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    for name, value in options.items():
        if name.startswith(CLIENT):
            properties.setProperty(name.removeprefix(CLIENT), value)
    client = jvm.org.apache.kafka.clients.admin.Admin.create(properties)
    try:
        topics = _named(options)
        if "subscribepattern" in options:
            there = jvm.java.lang.String.join("\n", client.listTopics().names().get())
            topics = [topic for topic in there.split("\n") if re.fullmatch(options["subscribepattern"], topic)]
        described = client.describeTopics(topics).topicNameValues()
        return {topic: described[topic].get().topicId().toString() for topic in topics}
    finally:
        client.close()


def _by_query(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    """Let Spark's source ask for offsets, by a query that ends where it begins."""
    own = {"startingOffsets": "earliest", "endingTimestamp": "0", "fetchOffset.numRetries": "1"}
    spark.read.format("kafka").options(**options, **own).load().select("offset").limit(1).collect()
    return {}


def _named(options: Mapping[str, str]) -> list[str]:
    """The topics that options name, which are in lower case.

    >>> _named({"subscribe": "a, b"}), _named({"assign": '{"b": [0]}'}), _named({"subscribepattern": "a.*"})
    (['a', 'b'], ['b'], [])
    """
    if "assign" in options:
        return list(json.loads(options["assign"]))
    return [topic.strip() for topic in options.get("subscribe", "").split(",") if topic.strip()]


def _about(text: str, options: Mapping[str, str], table: str, place: Place) -> SqlExtError:
    """What an error of Kafka's client means for a table. `text`: the error with its causes."""
    servers, topics = options[SERVERS], _named(options)
    causes = _MESSAGE.findall(text)
    cause = causes[-1].rstrip(". ") if causes else text.partition("\n")[0]
    if _UNKNOWN in text:
        missing = f"no topic {topics[0]}" if len(topics) == 1 else f"not all of the topics {', '.join(topics)}"
        return BindError(
            "KAFKA_TOPIC",
            f"the brokers at {servers} have {missing}, which {table} reads",
            place=place,
            hint="create it, or name another one by CREATE OR REPLACE TABLE. A topic that this client may not see does "
            "not exist for it.",
        )
    if _REFUSED.search(text):
        return SetupError(
            "KAFKA_BROKER",
            f"the brokers at {servers} refuse the client of {table}: {cause}",
            place=place,
            hint="check 'kafka.security.protocol' and 'kafka.sasl.*' of the table, and the secrets to which they "
            "refer, on the driver and on the executors.",
        )
    if _SILENT.search(text):
        return SetupError(
            "KAFKA_BROKER",
            f"no broker answers at {servers}, where {table} has its topics",
            place=place,
            hint="check 'kafka.bootstrap.servers' of the table, and that the driver and the executors reach this "
            "address. Brokers that expect another 'kafka.security.protocol' do not answer either.",
        )
    reason = "the value of kafka.sasl.jaas.config is malformed" if _OF_JAAS.search(cause) else cause
    return SetupError(
        "KAFKA_BROKER",
        f"Kafka's client cannot use the options of {table} for the brokers at {servers}: {reason}",
        place=place,
        hint="CREATE OR REPLACE TABLE gives the table other options.",
    )
