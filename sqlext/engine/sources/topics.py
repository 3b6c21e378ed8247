"""The topics of a query: whether they are those whose offsets its checkpoint has.

A topic that is deleted and made anew has the same name and other records. Spark's source knows the name and the offsets
only, so it would begin where the old topic ended, and the first records of the new one would be missing without a word.
Brokers give each topic an identifier, which Kafka's client tells; no other source of the public API does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlext.catalog.checkpoint import StoredQuery
from sqlext.engine.sources.tables import SourceRows
from sqlext.errors import BindError


def topics_of(sources: Sequence[SourceRows]) -> dict[str, str]:
    """The identifiers of the topics that these tables read, by table and topic; none on Connect."""
    return {f"{source.view.name} {topic}": each for source in sources for topic, each in source.topics.items()}


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
