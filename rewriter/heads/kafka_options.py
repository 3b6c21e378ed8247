"""The options of a table of Kafka: which there are, which values they have, and who may write them.

The names and meanings are Spark's, except for `value.format`, `value.schema` and `key.columns`. A table keeps its
options in the catalog, where everybody who reads it sees them. So a secret is written as a reference, which Kafka's
client resolves on each machine: `${env:NAME}`, `${file:/path:key}` or `${directory:/path:file}`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError, all_of

RAW, JSON, AVRO = "raw", "json", "avro"  # what the values of a topic are
FORMATS = (RAW, JSON, AVRO)
CLIENT = "kafka."  # the prefix of the options of Kafka's own client
SERVERS = "kafka.bootstrap.servers"
FORMAT, SCHEMA, TOPIC = "value.format", "value.schema", "topic"
KEY_COLUMNS = "key.columns"  # the columns that are in the keys of the records that are written
TOPICS = ("subscribe", "subscribepattern", "assign")  # which topics are read; `topic` names one that is written, too
_FROM = ("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp")
_TO = ("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp")
BATCH, STREAM, BOTH = "a batch query", "a stream", ""

_COUNT, _FLAG, _OFFSETS, _TIME, _TIMES, _TEXT = "count", "flag", "offsets", "time", "times", "text"
# Spark's options by their names in lower case: as Spark writes it, its kind of value, and the only kind of query that
# has it.
_OPTIONS: Mapping[str, tuple[str, str, str]] = {
    name.lower(): (name, kind, reader)
    for name, kind, reader in (
        ("subscribe", _TEXT, BOTH),
        ("subscribePattern", _TEXT, BOTH),
        ("assign", _TEXT, BOTH),
        (TOPIC, _TEXT, BOTH),
        (FORMAT, _TEXT, BOTH),
        (SCHEMA, _TEXT, BOTH),
        (KEY_COLUMNS, _TEXT, BOTH),
        ("startingOffsets", _OFFSETS, BOTH),
        ("startingTimestamp", _TIME, BOTH),
        ("startingOffsetsByTimestamp", _TIMES, BOTH),
        ("startingOffsetsByTimestampStrategy", _TEXT, BOTH),
        ("endingOffsets", _OFFSETS, BATCH),
        ("endingTimestamp", _TIME, BATCH),
        ("endingOffsetsByTimestamp", _TIMES, BATCH),
        ("failOnDataLoss", _FLAG, BOTH),
        ("includeHeaders", _FLAG, BOTH),
        ("minPartitions", _COUNT, BOTH),
        ("maxRecordsPerPartition", _COUNT, BOTH),
        ("maxOffsetsPerTrigger", _COUNT, STREAM),
        ("minOffsetsPerTrigger", _COUNT, STREAM),
        ("maxTriggerDelay", _TEXT, STREAM),
        ("groupIdPrefix", _TEXT, BOTH),
        ("kafkaConsumer.pollTimeoutMs", _COUNT, BOTH),
        ("fetchOffset.numRetries", _COUNT, BOTH),
        ("fetchOffset.retryIntervalMs", _COUNT, BOTH),
    )
}
# What decides which records a table has and what they mean. Everything else only says how they are read.
_OF_TABLE = frozenset({*TOPICS, TOPIC, FORMAT, SCHEMA, KEY_COLUMNS, "includeheaders"})
READ_OPTIONS = frozenset(_OPTIONS) - _OF_TABLE
_SET_BY_SPARK = {
    "auto.offset.reset": "write startingOffsets instead.",
    "key.deserializer": "keys and values are read as bytes.",
    "value.deserializer": "write 'value.format' instead.",
    "key.serializer": "keys and values are written as bytes.",
    "value.serializer": "keys and values are written as bytes.",
    "enable.auto.commit": "the checkpoint of a stream keeps the offsets.",
    "interceptor.classes": "Spark's source has no interceptors.",
}
_OTHER_NAMES = {
    "groupid": "kafka.group.id, or groupIdPrefix",
    "group.id": "kafka.group.id, or groupIdPrefix",
    "bootstrap.servers": SERVERS,
    "bootstrapservers": SERVERS,
    "properties.bootstrap.servers": SERVERS,
    "connector": "USING kafka",
    "topics": "subscribe",
    "scan.startup.mode": "startingOffsets",
    "format": FORMAT,
}
_SECRET = re.compile(r"password|passphrase|secret|jaas|private\.key$|keystore\.key$", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{(\w+):[^}]*\}")
_SECRET_IN_JAAS = re.compile(r"""(password|secret|token)\w*\s*=\s*"?[^\s";]""", re.IGNORECASE)
_PROVIDERS = {
    "env": "EnvVarConfigProvider",
    "file": "FileConfigProvider",
    "directory": "DirectoryConfigProvider",
}


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a table or of a query, with its place in the statement. `key`: its name in lower case."""

    name: str
    value: str
    place: Place

    @property
    def key(self) -> str:
        return self.name.lower()


def check_table(options: Sequence[Option], place: Place) -> None:
    """Raise the errors of the options of CREATE TABLE, together. `place`: where an option that is missing belongs."""
    all_of(options, _check)
    by_key = {option.key: option for option in options}
    topics = [by_key[key] for key in TOPICS if key in by_key]
    if len(topics) > 1:
        raise _error(
            topics[1], f"{topics[0].name} and {topics[1].name} exclude each other", hint="leave one of them out."
        )
    if not topics and TOPIC not in by_key:
        raise BindError(
            "KAFKA_OPTION",
            "the options name no topic",
            place=place,
            hint="add subscribe = 'topic', or subscribePattern or assign, as in Spark.",
        )
    if SERVERS not in by_key:
        raise BindError(
            "KAFKA_OPTION",
            "the options name no broker",
            place=place,
            hint=f"add '{SERVERS}' = 'host:9092'.",
        )
    kind = by_key.get(FORMAT)
    if SCHEMA in by_key and (kind is None or kind.value.lower() != AVRO):
        raise _error(by_key[SCHEMA], f"{SCHEMA} is the schema of Avro", hint=f"add '{FORMAT}' = '{AVRO}'.")
    if KEY_COLUMNS in by_key and (kind is None or kind.value.lower() == RAW):
        raise _error(
            by_key[KEY_COLUMNS],
            "the key of a raw record is the column key",
            hint=f"leave {KEY_COLUMNS} out, or add '{FORMAT}' = '{JSON}'.",
        )
    if kind is not None and kind.value.lower() == AVRO and SCHEMA not in by_key:
        raise _error(kind, "values in Avro need their schema", hint=f"add '{SCHEMA}' = '{{\"type\": \"record\", …}}'.")


def check_query(options: Sequence[Option], reader: str) -> None:
    """Raise the errors of the options in `WITH (…)` after the name of a table, together. `reader`: BATCH or STREAM."""
    all_of(options, lambda option: _check_in_query(option, reader))


def _check_in_query(option: Option, reader: str) -> None:
    if option.key in _OF_TABLE or option.key.startswith(CLIENT):
        raise _error(
            option,
            f"{option.name} belongs to the table",
            hint="write it in the OPTIONS of CREATE TABLE; a query may change where it begins and how it reads.",
        )
    _check(option)
    name, _, only = _OPTIONS[option.key]
    if only not in (BOTH, reader):
        raise _error(option, f"{name} is an option of {only}, and this is {reader}", hint="leave it out.")
    if reader == BATCH and _is_latest(option):
        raise _error(option, "a batch query that begins at the latest offsets has no rows", hint="leave it out.")


def _check(option: Option) -> None:
    """Raise the error of an option, if it has one."""
    if option.key.startswith(CLIENT):
        _check_client(option)
        return
    if option.key not in _OPTIONS:
        raise _error(option, f"a table of Kafka has no option {option.name}", hint=_proposal(option.key))
    name, kind, _ = _OPTIONS[option.key]
    fault = _fault(option.key, kind, option.value)
    if fault:
        raise _error(option, f"{name} cannot be {option.value!r}", hint=fault)


def _check_client(option: Option) -> None:
    name = option.key.removeprefix(CLIENT)
    if name in _SET_BY_SPARK:
        raise _error(option, f"Spark sets {option.name} itself", hint=_SET_BY_SPARK[name])
    if _SECRET.search(name) and _is_plain(name, option.value):
        raise UnsupportedError(
            "KAFKA_SECRET",
            f"{option.name} would be a secret in the catalog, which everybody who reads the table sees",
            place=option.place,
            hint="write a reference that Kafka resolves on each machine: ${env:NAME} for a variable of the "
            "environment, ${file:/path/of.properties:key}, or ${directory:/path:file}, also within the value.",
        )
    for provider in _REFERENCE.findall(option.value):
        if provider not in _PROVIDERS and "config.providers" not in name:
            raise _error(
                option,
                f"there is no provider of secrets {provider!r}",
                hint=f"the providers are {', '.join(_PROVIDERS)}.",
            )


def _is_plain(name: str, value: str) -> bool:
    """Return True if a value has a secret in it that is no reference.

    >>> jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password='
    >>> [_is_plain("sasl.jaas.config", jaas + value) for value in ('"x";', '"${env:P}";')]
    [True, False]
    >>> [_is_plain("ssl.key.password", value) for value in ("x", "${file:/run/kafka:key}", "${env:A}x")]
    [True, False, True]
    """
    rest = _REFERENCE.sub("", value)
    return _SECRET_IN_JAAS.search(rest) is not None if "jaas" in name else bool(rest.strip())


def _proposal(key: str) -> str:
    if key in _OTHER_NAMES:
        return f"write {_OTHER_NAMES[key]}."
    known = {**{k: name for k, (name, _, _) in _OPTIONS.items()}, SERVERS: SERVERS}
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {known[near[0]]}?" if near else f"it has {', '.join(known.values())} and others of {CLIENT}*."


def _fault(key: str, kind: str, value: str) -> str:
    """What is wrong with a value, as a hint; "" if it is right.

    >>> _fault("startingoffsets", "offsets", '{"t": {"0": 7}}'), _fault("minpartitions", "count", "-1")
    ('', 'it is a whole number from 1 on.')
    """
    if kind == _COUNT and not re.fullmatch(r"0*[1-9]\d*", value):
        return "it is a whole number from 1 on."
    if kind == _FLAG and value.lower() not in ("true", "false"):
        return "it is true or false."
    if key == FORMAT and value.lower() not in FORMATS:
        return f"the formats are {', '.join(FORMATS)}."
    if kind == _OFFSETS:
        word = "latest" if key in _TO else "earliest"
        words = ("latest",) if key in _TO else ("earliest", "latest")
        if value.lower() not in words and not _is_offsets(value):
            return f'it is {word}, or offsets by topic and partition: {{"topic": {{"0": 23, "1": -2}}}}.'
    if kind == _TIMES and not _is_offsets(value):
        return 'it has milliseconds since 1970 by topic and partition: {"topic": {"0": 1700000000000}}.'
    if kind == _TEXT and not value.strip():
        return "it must not be empty."
    return ""


def _is_offsets(value: str) -> bool:
    try:
        offsets = json.loads(value)
    except ValueError:
        return False
    return isinstance(offsets, dict) and all(
        isinstance(by, dict) and all(re.fullmatch(r"\d+", p) and isinstance(n, int) for p, n in by.items())
        for by in offsets.values()
    )


def is_time(option: str) -> bool:
    """Return True if the value of an option is a time, which Spark wants in milliseconds since 1970."""
    return option.lower() in _OPTIONS and _OPTIONS[option.lower()][1] == _TIME


def is_end(option: str) -> bool:
    """Return True if an option says where the records end that are read."""
    return option.lower() in _TO


def meaning(options: Iterable[Option]) -> tuple[str, ...]:
    """The options that decide which records a table has, and what they mean: a part of the record of a query.

    A table that names its topic by `topic` has the records of one that subscribes to it. The schema of Avro is left
    out: it may get new fields, and the columns that a query reads are recorded with their types.
    """
    others = (SCHEMA, KEY_COLUMNS, "includeheaders")
    kept = {o.key: o.value for o in options if o.key in _OF_TABLE and o.key not in others}
    if not any(key in kept for key in TOPICS):
        kept["subscribe"] = kept.get(TOPIC, "")
    kept.pop(TOPIC, None)
    kept[FORMAT] = kept.get(FORMAT, RAW).lower()
    if "subscribe" in kept:
        kept["subscribe"] = ",".join(sorted(topic.strip() for topic in kept["subscribe"].split(",")))
    return tuple(f"{key} = {value}" for key, value in sorted(kept.items()))


def reader_options(table: Sequence[Option], query: Sequence[Option], reader: str) -> dict[str, str]:
    """The options of Spark's reader: those of the table, with those of a query in their places. `reader`: BATCH or
    STREAM. A query that says where it begins or ends replaces all that the table says about that.

    Without a start both begin at the earliest record, so that a stream and a batch query have the same rows. That a
    table begins at the latest is for streams only, because a batch query would have no rows.

    >>> def options(**values):
    ...     return [Option(name=name, value=value, place=Place("", 0, 0)) for name, value in values.items()]
    >>> table = options(topic="t", startingTimestamp="7", maxOffsetsPerTrigger="9")
    >>> reader_options(table, options(startingOffsets="latest"), STREAM)
    {'maxOffsetsPerTrigger': '9', 'startingOffsets': 'latest', 'subscribe': 't', 'includeHeaders': 'true'}
    >>> reader_options(table, [], BATCH)
    {'startingTimestamp': '7', 'subscribe': 't', 'includeHeaders': 'true'}
    """
    chosen = {option.key for option in query}
    replaced = {key for group in (_FROM, _TO) if chosen & set(group) for key in group}
    kept = [o for o in table if o.key not in replaced and _is_for(o.key, reader)]
    kept = [o for o in kept if reader == STREAM or not _is_latest(o)]
    values = {_OPTIONS.get(o.key, (o.name,))[0]: o.value for o in [*kept, *query]}
    values.pop(FORMAT, None)
    values.pop(SCHEMA, None)
    values.pop(KEY_COLUMNS, None)
    topic = values.pop(TOPIC, None)
    keys = {name.lower() for name in values}
    if not keys & set(TOPICS):
        values["subscribe"] = topic or ""
    if not keys & set(_FROM):
        values["startingOffsets"] = "earliest"
    values.setdefault("includeHeaders", "true")
    return {**values, **_providers(values)}


def _is_latest(option: Option) -> bool:
    return option.key == "startingoffsets" and option.value.lower() == "latest"


def writer_options(table: Sequence[Option]) -> dict[str, str]:
    """The options of Spark's writer: the topic, and those of Kafka's client.

    >>> options = [("topic", "t"), ("kafka.acks", "all"), ("value.format", "json"), ("startingOffsets", "latest")]
    >>> writer_options([Option(name=name, value=value, place=Place("", 0, 0)) for name, value in options])
    {'topic': 't', 'kafka.acks': 'all'}
    """
    values = {o.name if o.key != TOPIC else TOPIC: o.value for o in table if o.key == TOPIC or o.key.startswith(CLIENT)}
    return {**values, **_providers(values)}


def _is_for(key: str, reader: str) -> bool:
    return key.startswith(CLIENT) or _OPTIONS[key][2] in (BOTH, reader)


def _providers(values: Mapping[str, str]) -> dict[str, str]:
    """The options with which Kafka's client resolves the references in the values of others.

    >>> _providers({"kafka.ssl.key.password": "${env:P}"})
    {'kafka.config.providers': 'env', \
'kafka.config.providers.env.class': 'org.apache.kafka.common.config.provider.EnvVarConfigProvider'}
    """
    used = {name for key, value in values.items() if key.startswith(CLIENT) for name in _REFERENCE.findall(value)}
    if not used or "kafka.config.providers" in {key.lower() for key in values}:
        return {}
    names = sorted(used)
    package = "org.apache.kafka.common.config.provider"
    classes = {f"kafka.config.providers.{name}.class": f"{package}.{_PROVIDERS[name]}" for name in names}
    return {"kafka.config.providers": ",".join(names), **classes}


def _error(option: Option, message: str, *, hint: str) -> SqlExtError:
    return BindError("KAFKA_OPTION", message, place=option.place, hint=hint)
