"""The topics of a query: whether they are those whose offsets its checkpoint has.

A topic that is deleted and made anew has the same name and other records. Spark's source knows the name and the offsets
only, so it would begin where the old topic ended, and the first records of the new one would be missing without a word.
Brokers give each topic an identifier, which Kafka's client tells; no other source of the public API does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pyspark.sql import SparkSession

from sqlext.catalog.checkpoint import StoredQuery
from sqlext.engine.sources.tables import SourceRows
from sqlext.errors import BindError
from sqlext.rewriter.heads.kafka_options import CLIENT
from sqlext.spark.kind import is_connect

_WAITS_MS = 10_000  # for brokers; Spark's source waits longer and says what is wrong


def topics_of(spark: SparkSession, sources: Sequence[SourceRows]) -> dict[str, str]:
    """The identifiers of the topics that these tables read, by table and topic. None where brokers cannot be asked: on
    Connect, which has no JVM, and if they do not answer."""
    found: dict[str, str] = {}
    for source in sources:
        found |= {f"{source.view.name} {topic}": each for topic, each in _identifiers(spark, source.options).items()}
    return found


def check_topics(before: StoredQuery | None, now: Mapping[str, str], sources: Sequence[SourceRows], anew: str) -> None:
    """Raise BindError if a topic is not the one whose offsets the checkpoint has, unless data may be lost."""
    for source in sources:
        if source.options.get("failOnDataLoss", "true").lower() == "false":
            continue
        for name, identifier in (before.topics if before is not None else {}).items():
            table, _, topic = name.rpartition(" ")
            if table == source.view.name and now.get(name, identifier) != identifier:
                raise BindError(
                    "CHANGED_QUERY",
                    f"the topic {topic} was deleted and made anew, and the checkpoint has the offsets of the old one: "
                    "the first records of the new one would be missing",
                    place=source.place,
                    hint=f"{anew}; WITH (failOnDataLoss = false) goes on without these records.",
                )


def _identifiers(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    jvm = None if is_connect(spark) else spark._jvm
    if jvm is None:
        return {}
    properties = jvm.java.util.Properties()
    for name, value in options.items():
        if name.startswith(CLIENT):
            properties.setProperty(name.removeprefix(CLIENT), value)
    properties.setProperty("default.api.timeout.ms", str(_WAITS_MS))
    properties.setProperty("request.timeout.ms", str(_WAITS_MS))
    with suppress(Exception):  # Py4J's; what is wrong with the brokers is said by Spark's source
        client = jvm.org.apache.kafka.clients.admin.Admin.create(properties)
        try:
            listed = client.listTopics().namesToListings().get()
        finally:
            client.close()
        return {topic: listed[topic].topicId().toString() for topic in listed if _is_read(topic, options)}
    return {}


def _is_read(topic: str, options: Mapping[str, str]) -> bool:
    """Whether these options of Spark's source read a topic.

    >>> [_is_read("ab", {name: "a., ab"}) for name in ("subscribe", "subscribePattern")]
    [True, False]
    >>> _is_read("a", {"assign": '{"b": [0]}'})
    False
    """
    by_name = {name.lower(): value for name, value in options.items()}
    if "subscribe" in by_name:
        return topic in [name.strip() for name in by_name["subscribe"].split(",")]
    if "assign" in by_name:
        return topic in json.loads(by_name["assign"])
    return re.fullmatch(by_name.get("subscribepattern", ""), topic) is not None
