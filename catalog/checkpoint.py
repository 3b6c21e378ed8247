"""The record beside a checkpoint: which query wrote it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlext.catalog.warehouse import path_here
from sqlext.errors import BindError, Place
from sqlext.quiet import quiet_probes
from sqlext.session_kind import is_connect

_VERSION = 2
_FILE = "sqlext.json"  # in the checkpoint's folder; where Spark writes it, a folder with one text file
_OLD_FILE = "_sqlext.json"  # the name before, which Spark does not read


@dataclass(frozen=True)
class Checkpoint:
    """The folder of a checkpoint. `location`: as Spark names it; `spark`: the session that reads and writes there where
    it is not a folder of this machine."""

    spark: Any
    location: str

    def __str__(self) -> str:
        return str(path_here(self.spark, self.location) or self.location)

    @property
    def record(self) -> str | None:
        """The record of the query; None if there is none."""
        folder = path_here(self.spark, self.location)
        if folder is None:
            return _read_by_spark(self.spark, f"{self.location.rstrip('/')}/{_FILE}")
        written = folder / _FILE
        files = [*(sorted(written.glob("part-*")) if written.is_dir() else [written]), folder / _OLD_FILE]
        return next((file.read_text() for file in files if file.is_file()), None)

    def write(self, record: str) -> None:
        """Write the record, whole or not at all, whenever the process is killed."""
        folder = path_here(self.spark, self.location)
        if folder is None:
            row = self.spark.createDataFrame([(record,)], "value STRING").coalesce(1)
            row.write.mode("overwrite").text(f"{self.location.rstrip('/')}/{_FILE}")
            return
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{_FILE}.part"
        part.write_text(record)
        part.replace(folder / _FILE)

    def remove_unfinished(self) -> None:
        """Remove the file of a process that was killed while it wrote the offsets of the first micro-batch.

        Spark starts no query with state whose checkpoint has files but no micro-batch: it would never start again. On
        Connect the file can be removed by the server's own means only.
        """
        if is_connect(self.spark):
            return
        offsets = self.spark._jvm.org.apache.hadoop.fs.Path(self.location.rstrip("/") + "/offsets")
        files = offsets.getFileSystem(self.spark._jsc.hadoopConfiguration())
        paths = [status.getPath() for status in files.listStatus(offsets)] if files.exists(offsets) else []
        if all(path.getName().startswith(".") for path in paths):
            for path in paths:
                files.delete(path, False)


def _read_by_spark(spark: Any, location: str) -> str | None:
    """The text in a file, or in the files of a folder, that Spark reaches; None if there is none."""
    try:
        with quiet_probes():
            rows = spark.read.option("wholetext", True).text(location).collect()
    except Exception as error:  # Spark's AnalysisException, which this module does not load
        if "PATH_NOT_FOUND" not in str(error):
            raise
        return None
    return "".join(row[0] for row in rows) or None


@dataclass(frozen=True)
class StoredClause:
    """A clause with state of the query that wrote a checkpoint: its `PATTERN (…)` or `EMIT …` as written, and the
    fingerprint of its state."""

    text: str
    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class StoredQuery:
    """The query that wrote a checkpoint.

    `words`: its text without the clauses, word by word; `statement`: the whole statement, "" if it cannot be run again
    because it had parameters; `upsert_key`: the columns of UPSERT KEY, empty if the query appends.
    """

    clauses: tuple[StoredClause, ...]
    upsert_key: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    statement: str = ""


def stored_query(checkpoint: Checkpoint) -> StoredQuery | None:
    """The query that wrote a checkpoint; None if there is no record of it."""
    record = checkpoint.record
    if record is None:
        return None
    fields = json.loads(record)
    return StoredQuery(
        clauses=tuple(StoredClause(**clause) for clause in fields["clauses"]),
        upsert_key=tuple(fields.get("upsert_key", ())),
        words=tuple(fields.get("words", ())),
        statement=fields.get("statement", ""),
    )


def check_same_query(
    checkpoint: Checkpoint, query: StoredQuery, clauses: Sequence[Place], words: Sequence[Place | None], key: Place
) -> None:
    """Raise BindError if another query wrote the checkpoint; record this one if it is new.

    `clauses`: where the user wrote each of `query.clauses`; `words`: where the user wrote each of `query.words`;
    `key`: where UPSERT KEY stands, or would.
    """
    before = stored_query(checkpoint)
    if before is None:
        checkpoint.write(json.dumps({"version": _VERSION, **asdict(query)}))
        return
    hint = "the old text resumes it; CREATE OR REPLACE STREAMING TABLE begins anew, without the table's rows."
    if before.upsert_key != query.upsert_key:
        what = f"with UPSERT KEY ({', '.join(before.upsert_key)})" if before.upsert_key else "without UPSERT KEY"
        raise BindError("CHANGED_QUERY", f"the table was written {what}", place=key, hint=hint)
    if len(before.clauses) != len(query.clauses):
        counts = (
            f"{len(before.clauses)} clauses that keep state wrote the checkpoint, this one has {len(query.clauses)}"
        )
        raise BindError("CHANGED_QUERY", f"a query with {counts}", place=clauses[0] if clauses else None, hint=hint)
    for old, new, place in zip(before.clauses, query.clauses, clauses):
        if old.fingerprint != new.fingerprint:
            what = old.text if old.text != new.text else "other columns or conditions"
            message = f"the checkpoint was written by {what}: it may lack rows that this query needs"
            raise BindError("CHANGED_QUERY", message, place=place, hint=hint)
    if before.words and before.words != query.words:
        raise _changed_text(before.words, query.words, words, hint)


def _changed_text(before: Sequence[str], now: Sequence[str], places: Sequence[Place | None], hint: str) -> BindError:
    """The error that shows the first word that differs."""
    same = next((i for i, (old, new) in enumerate(zip(before, now)) if old != new), min(len(before), len(now)))
    old = " ".join(before[same : same + 6]) or "the end of the query"
    place = next((p for p in [*places[same:], *reversed(places)] if p is not None), None)
    message = f"the checkpoint was written by a query with other text here: {old}"
    return BindError("CHANGED_QUERY", message, place=place, hint=hint)
