"""Reads and writes the record beside a checkpoint, which describes the query that wrote the checkpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sqlext.errors import BindError, DataError, Place
from sqlext.expressions.calendars import UTC_NAMES
from sqlext.expressions.spark_types import TIMESTAMP_TYPE
from sqlext.rewriter.checkpoint_words.resumed_words import kept
from sqlext.spark.files import file_names, read_by_spark, where_found
from sqlext.spark.locations import path_here

_VERSION = 3
_FILE = "sqlext.json"  # in the checkpoint's folder; if Spark writes it, it is a folder with one text file
STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"  # which Spark does not keep in a checkpoint
_MERGED = "sqlext_merged"  # the number of the last micro-batch that was merged
_SCHEMA_FILE = re.compile(r'"[^"]*(/state/\d+/_stateSchema/[^"]*)"')  # in the metadata of an operator of Spark
_OLD_FILE = "_sqlext.json"  # the former name of the file, which Spark does not read


@dataclass(frozen=True)
class Checkpoint:
    """The folder of a checkpoint.

    `location`: its name in Spark; `spark`: the session that reads and writes there if it is not a folder of this
    machine.
    """

    spark: Any
    location: str

    def __str__(self) -> str:
        return str(path_here(self.spark, self.location) or self.location)

    @property
    def record(self) -> str | None:
        """The record of the query; None if there is none."""
        folder = path_here(self.spark, self.location)
        if folder is None:
            return read_by_spark(self.spark, f"{self.location.rstrip('/')}/{_FILE}")
        return next((file.read_text(encoding="utf-8") for file in _records(folder)), None)

    @property
    def has_record(self) -> bool:
        """Whether there is a record, which may be damaged."""
        folder = path_here(self.spark, self.location)
        return self.record is not None if folder is None else any(_records(folder))

    @property
    def query_id(self) -> str | None:
        """The identifier that Spark gave the query that wrote the checkpoint; None if there is none."""
        metadata = self._read("metadata")
        return None if metadata is None else str(json.loads(metadata)["id"])

    def write(self, record: str) -> None:
        """Write the record. It is written completely or not at all, even if the process is killed."""
        folder = path_here(self.spark, self.location)
        if folder is None:
            row = self.spark.createDataFrame([(record,)], "value STRING").coalesce(1)
            row.write.mode("overwrite").text(f"{self.location.rstrip('/')}/{_FILE}")
            return
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{_FILE}.part"
        part.write_text(record, encoding="utf-8")
        part.replace(folder / _FILE)

    @property
    def last_batch(self) -> Batch | None:
        """The last micro-batch that has been completed; None if there is none, or Spark writes it in another form."""
        number = self.last_number("commits")
        return None if number is None else self.batch(number)

    def last_number(self, folder: str) -> int | None:
        """The last micro-batch in a folder: "offsets" has those that have begun, "commits" the completed ones."""
        names = file_names(self.spark, f"{self.location.rstrip('/')}/{folder}")
        return max((int(name) for name in names if name.isdecimal()), default=None)

    def batch(self, number: int) -> Batch | None:
        """The micro-batch with a number; None if there is none, or Spark writes it in another form."""
        text = self._read(f"offsets/{number}")
        try:
            return None if text is None else _batch(number, text)
        except (ValueError, KeyError, IndexError):
            return None

    def _read(self, file: str) -> str | None:
        here = path_here(self.spark, self.location)
        if here is None:
            return read_by_spark(self.spark, f"{self.location.rstrip('/')}/{file}")
        return (here / file).read_text(encoding="utf-8") if (here / file).is_file() else None

    @property
    def state_format(self) -> str | None:
        """The value of STATE_FORMAT with which the state was written, under 2 the commits have the names of its files;
        None if no micro-batch with state is completed."""
        last = self.last_number("commits")
        commit = None if last is None else self._read(f"commits/{last}")
        metadata = f"{self.location.rstrip('/')}/state/0/_metadata"
        if commit is None or not (file_names(self.spark, metadata) or file_names(self.spark, f"{metadata}/v2")):
            return None
        return "2" if re.search(r'"stateUniqueIds":\{"', commit) else "1"

    @property
    def last_merged(self) -> int | None:
        """The last micro-batch with rows of UPSERT KEY; None if there is none, or it is not known."""
        number = self._read(_MERGED)
        return int(number) if number is not None and number.isdecimal() else None

    def write_merged(self, batch: int) -> None:
        """Store that the rows of a micro-batch are in the table; only on this machine."""
        folder = path_here(self.spark, self.location)
        if folder is not None:
            (folder / _MERGED).write_text(str(batch), encoding="utf-8")

    def write_own_paths(self) -> None:
        """Where the folder was moved on this machine, as by ALTER TABLE … RENAME TO, write its paths anew: Spark keeps
        whole paths of files in the metadata of its operators."""
        folder = path_here(self.spark, self.location)
        for file in () if folder is None else folder.glob("state/*/_metadata/v*/[0-9]*"):
            text = file.read_text(encoding="utf-8")
            moved = _SCHEMA_FILE.sub(lambda path: f'"{self.location.rstrip("/")}{path[1]}"', text)
            if moved != text:
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
                file.write_text(moved, encoding="utf-8")

    def remove_unfinished(self) -> None:
        """Remove the file of a process that was killed while it wrote the offsets of the first micro-batch.

        Spark does not start a query with state whose checkpoint has files but no micro-batch, so the query would never
        start again. The name of the file begins with a dot, so the folder looks empty to Spark, which empties the
        folders that it overwrites.
        """
        offsets = f"{self.location.rstrip('/')}/offsets"
        if where_found(lambda: self.spark.read.text(offsets).inputFiles()) == []:
            no_rows = self.spark.createDataFrame([], "value STRING, part STRING").write.partitionBy("part")
            no_files = {"partitionOverwriteMode": "static", "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
            no_rows.mode("overwrite").options(**no_files).text(offsets)


def _records(folder: Path) -> list[Path]:
    """The files with the record in the folder of a checkpoint, the present one first."""
    written = folder / _FILE
    files = [*(sorted(written.glob("part-*")) if written.is_dir() else [written]), folder / _OLD_FILE]
    return [file for file in files if file.is_file()]


class Batch(NamedTuple):
    """A micro-batch: when it began and its watermark, in microseconds since 1970, and where it ended in each source."""

    number: int
    at_us: int
    watermark_us: int
    offsets: tuple[str, ...]


def _batch(number: int, text: str) -> Batch:
    r"""The micro-batch that Spark has written down in `offsets`, before it ran it.

    >>> _batch(4, 'v1\n{"batchWatermarkMs":5,"batchTimestampMs":7,"conf":{}}\n{"reservoirVersion":3}\n-')
    Batch(number=4, at_us=7000, watermark_us=5000, offsets=('{"reservoirVersion":3}',))
    """
    _, metadata, *offsets = text.splitlines()
    fields = json.loads(metadata)
    at_us, watermark_us = 1000 * fields["batchTimestampMs"], 1000 * fields["batchWatermarkMs"]
    return Batch(number, at_us, watermark_us, tuple(offset for offset in offsets if offset != "-"))


@dataclass(frozen=True)
class StoredClause:
    """A clause with state of the query that wrote a checkpoint: its `PATTERN (…)` or `EMIT …` as written, its
    fingerprint, and the parts of the fingerprint by name, which are empty if an earlier version wrote the record."""

    text: str
    fingerprint: str
    parts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StoredQuery:
    """The query that wrote a checkpoint.

    `words`: its text without the clauses, word by word (see `resumed_words`); `statement`: the whole statement, "" if
    it cannot be run again because it had parameters; `upsert_key`: the columns of UPSERT KEY, empty if the query
    appends; `into`: the columns that an INSERT names, empty if it writes all by their position; `timestamp_type`: the
    value of TIMESTAMP_TYPE if the text means something else by the default, else "";
    `time_zone`: the time zone of the session if the text reads local times, else "", as in records of earlier versions;
    `settings`: the values of the settings of Spark on which its rows depend, none in records of earlier versions;
    `views`: what the views and functions mean that it names, and `spark` the version of Spark that says so; likewise;
    `identifier`: what no other query has, in the names of the folders of its late and failed rows; likewise;
    `topics`: what Kafka calls the topics that it reads, as far as it could be asked.
    """

    clauses: tuple[StoredClause, ...]
    upsert_key: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    statement: str = ""
    timestamp_type: str = ""
    time_zone: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, Sequence[str]] = field(default_factory=dict)
    spark: str = ""
    identifier: str = ""
    topics: Mapping[str, str] = field(default_factory=dict)


def stored_query(checkpoint: Checkpoint) -> StoredQuery | None:
    """The query that wrote a checkpoint; None if there is no record of it. Raises DataError CHECKPOINT_RECORD."""
    try:
        record = checkpoint.record
        return None if record is None else _query(json.loads(record))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(
            "CHECKPOINT_RECORD",
            f"the record {_FILE} in {checkpoint} cannot be read: {error}",
            hint="restore the file, or begin anew with CREATE OR REPLACE STREAMING TABLE.",
        ) from None


def _query(fields: dict[str, Any]) -> StoredQuery:
    return StoredQuery(
        clauses=tuple(StoredClause(**clause) for clause in fields["clauses"]),
        upsert_key=tuple(fields.get("upsert_key", ())),
        into=tuple(fields.get("into", ())),
        words=tuple(fields.get("words", ())),
        statement=fields.get("statement", ""),
        timestamp_type=fields.get("timestamp_type", ""),
        time_zone=fields.get("time_zone", ""),
        settings=dict(fields.get("settings", {})),
        views={name: tuple(lines) for name, lines in fields.get("views", {}).items()},
        spark=fields.get("spark", ""),
        identifier=fields.get("identifier", ""),
        topics=dict(fields.get("topics", {})),
    )


def record_query(checkpoint: Checkpoint, query: StoredQuery) -> None:
    """Record the query that begins with a checkpoint, or that resumes from it with another text."""
    if stored_query(checkpoint) != query:
        checkpoint.write(json.dumps({"version": _VERSION, **asdict(query)}))


def check_same_query(
    checkpoint: Checkpoint,
    query: StoredQuery,
    former: Sequence[Collection[str]],
    clauses: Sequence[Place],
    words: Sequence[Place | None],
    key: Place,
    anew: str,
) -> None:
    """Raise BindError if another query wrote the checkpoint.

    `former`: the fingerprints that earlier versions gave each of `query.clauses`; `clauses`: where the user wrote them;
    `words`: where the user wrote each of `query.words`; `key`: the place of the columns of UPSERT KEY or INSERT, or
    where they would be written;
    `anew`: what to write to begin anew, in words.
    """
    before = stored_query(checkpoint)
    if before is None:
        return
    hint = f"the old text resumes it; {anew}."
    if before.upsert_key != query.upsert_key:
        what = f"with UPSERT KEY ({', '.join(before.upsert_key)})" if before.upsert_key else "without UPSERT KEY"
        raise BindError("CHANGED_QUERY", f"the table was written {what}", place=key, hint=hint)
    if before.into != query.into:
        what = f"the columns {', '.join(before.into)}" if before.into else "all columns by their position"
        raise BindError("CHANGED_QUERY", f"the query wrote {what}", place=key, hint=hint)
    if before.timestamp_type != query.timestamp_type:
        place = next(iter(clauses), key)
        raise _changed_type(
            before.timestamp_type or "TIMESTAMP_LTZ", query.timestamp_type or "TIMESTAMP_LTZ", place, anew
        )
    if before.time_zone and query.time_zone and not _is_same_zone(before.time_zone, query.time_zone):
        raise _changed_zone(before.time_zone, query.time_zone, next(iter(clauses), key), anew)
    for name, value in before.settings.items():
        if query.settings.get(name, value).lower() != value.lower():
            raise _changed_setting(name, value, query.settings[name], next(iter(clauses), key), anew)
    if len(before.clauses) != len(query.clauses):
        counts = (
            f"{len(before.clauses)} clauses that keep state wrote the checkpoint, this one has {len(query.clauses)}"
        )
        raise BindError("CHANGED_QUERY", f"a query with {counts}", place=clauses[0] if clauses else None, hint=hint)
    for old, new, earlier, place in zip(before.clauses, query.clauses, former, clauses):
        if old.fingerprint != new.fingerprint and old.fingerprint not in earlier:
            what = old.text if old.text != new.text else "another query"
            changes = "; ".join(changed_parts(old.parts, new.parts)) if old.parts else "columns or conditions"
            message = f"the checkpoint was written by {what}; what differs: {changes}"
            raise BindError("CHANGED_QUERY", message, place=place, hint=hint)
    _check_views(before, query, next(iter(clauses), key), hint)
    same = tuple(before.words[i] for i in kept(before.words))
    if before.words and same != query.words:
        raise _changed_text(same, query.words, words, hint)


def _changed_type(before: str, now: str, place: Place, anew: str) -> BindError:
    message = f"the checkpoint was written where TIMESTAMP means {before}, and here it means {now}"
    hint = f"SET {TIMESTAMP_TYPE} = {before} resumes it; {anew}."
    return BindError("CHANGED_QUERY", message, place=place, hint=hint)


def _is_same_zone(before: str, now: str) -> bool:
    """
    >>> _is_same_zone("Etc/UTC", "UTC"), _is_same_zone("Europe/Berlin", "UTC")
    (True, False)
    """
    return before == now or {before, now} <= UTC_NAMES


def _changed_zone(before: str, now: str, place: Place, anew: str) -> BindError:
    message = (
        f"the checkpoint was written in the time zone {before}, the session's is {now}, and the query reads local times"
    )
    hint = f"SET spark.sql.session.timeZone = {before} resumes it; {anew}."
    return BindError("CHANGED_QUERY", message, place=place, hint=hint)


def _changed_setting(name: str, before: str, now: str, place: Place, anew: str) -> BindError:
    message = (
        f"the checkpoint was written with {name} = {before}, on which values of the query depend, and now it is {now}"
    )
    hint = f"SET {name} = {before} resumes it; {anew}."
    return BindError("CHANGED_QUERY", message, place=place, hint=hint)


def _check_views(before: StoredQuery, query: StoredQuery, place: Place, hint: str) -> None:
    """Raise BindError if a view or table means something else. Another version of Spark may write the same plan
    otherwise."""
    is_same_spark = before.spark == query.spark
    for name, lines in before.views.items():
        if not is_same_spark and not name.startswith("table "):
            continue
        now = query.views.get(name, lines)
        if tuple(now) != tuple(lines):
            was, is_now = (", ".join(_only_in(*both)) or "in another order" for both in ((lines, now), (now, lines)))
            message = f"the {name} means something else than when the checkpoint was written: {was}; now: {is_now}"
            raise BindError("CHANGED_QUERY", message, place=place, hint=hint)


def _only_in(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """The lines, or words, that others lack, at most three, without the numbers of columns."""
    return [re.sub(r"#\d+", "", line) for line in lines if line not in others][:3]


def changed_parts(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The differences between the parts of two fingerprints, in words.

    >>> changed_parts({"PATTERN": "1a", "column v": "int", "column w": "int"}, {"PATTERN": "2b", "column v": "bigint"})
    ['PATTERN', 'column v is bigint and was int', 'column w is not read any more']
    """
    changes = []
    for name in dict.fromkeys((*before, *now)):
        if before.get(name) != now.get(name):
            is_column = name.startswith("column ")
            changes.append(_changed_column(name, before.get(name), now.get(name)) if is_column else name)
    return changes


def _changed_column(name: str, before: str | None, now: str | None) -> str:
    if before is None:
        return f"{name} is read, and was not"
    return f"{name} is {now} and was {before}" if now is not None else f"{name} is not read any more"


def _changed_text(before: Sequence[str], now: Sequence[str], places: Sequence[Place | None], hint: str) -> BindError:
    """The error that shows the first word that differs."""
    same = next((i for i, (old, new) in enumerate(zip(before, now)) if old != new), min(len(before), len(now)))
    old = " ".join(before[same : same + 6]) or "the end of the query"
    place = next((p for p in [*places[same:], *reversed(places)] if p is not None), None)
    message = f"the checkpoint was written by a query with other text here: {old}"
    return BindError("CHANGED_QUERY", message, place=place, hint=hint)
