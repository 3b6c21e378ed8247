"""State as chunks of rows that are appended and marked dead, and rewritten only when enough of their rows are dead.

A `Log` is a table whose rows are in chunks. New rows form a new chunk. A chunk is rewritten, together with the new
rows, when more than half of it is dead, or when it has at most twice as many rows as there are new ones. So a log of n
rows has about log n chunks, and a row is rewritten about log n times in its life.

The stored form is binary and begins with a version byte. A chunk is an Arrow stream (LZ4); a header lists the chunks
and which of their rows are alive. A changed format needs another version and a golden file in tests/streams.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.operators.stateful.operator import FIRST_WATERMARK, ROWS, State, Step, fitted

VERSION = 2


@dataclass(frozen=True)
class Chunk:
    """`is_alive: bool[n]`: which of the chunk's rows are still in the table."""

    number: int
    rows: pa.Table
    is_alive: np.ndarray

    @property
    def count(self) -> int:
        return int(self.is_alive.sum())

    def alive(self) -> pa.Table:
        return self.rows if self.is_alive.all() else self.rows.filter(pa.array(self.is_alive))


@dataclass(frozen=True)
class Log:
    """The chunks of one table, oldest first."""

    chunks: tuple[Chunk, ...] = ()

    def fitted(self, schema: pa.Schema) -> Log:
        """The log with the columns of the schema in each chunk, which may be from a version or a query without them."""
        return Log(tuple(replace(chunk, rows=fitted(chunk.rows, schema)) for chunk in self.chunks))

    @property
    def count(self) -> int:
        """The number of rows that are alive."""
        return sum(chunk.count for chunk in self.chunks)

    def table(self, schema: pa.Schema) -> pa.Table:
        """The rows that are alive."""
        return pa.concat_tables([schema.empty_table(), *(chunk.alive() for chunk in self.chunks)])

    def changed(self, is_kept: np.ndarray, added: pa.Table, number: int) -> Log:
        """The log that keeps the rows where `is_kept: bool[n]`, with the rows `added` in a chunk of this number.

        >>> rows = pa.table({"x": [1, 2, 3, 4, 5]})
        >>> log = Log().changed(np.zeros(0, bool), rows, 0)
        >>> later = log.changed(np.array([True, False, True, True, True]), pa.table({"x": [6]}), 1)
        >>> [(c.number, c.count) for c in later.chunks], later.table(rows.schema)["x"].to_pylist()
        ([(0, 4), (1, 1)], [1, 3, 4, 5, 6])
        """
        chunks, at = [], 0
        for chunk in self.chunks:
            is_alive = chunk.is_alive.copy()
            is_alive[is_alive] = is_kept[at : at + chunk.count]
            at += chunk.count
            if is_alive.any():
                chunks.append(Chunk(chunk.number, chunk.rows, is_alive))
        is_dead = [2 * chunk.count < len(chunk.is_alive) for chunk in chunks]
        rewritten = [chunk for chunk, dead in zip(chunks, is_dead) if dead]
        chunks = [chunk for chunk, dead in zip(chunks, is_dead) if not dead]
        size = added.num_rows + sum(chunk.count for chunk in rewritten)
        while size and chunks and chunks[-1].count <= 2 * size:
            rewritten.append(chunks.pop())
            size += rewritten[-1].count
        if size:
            rows = pa.concat_tables([*(c.alive() for c in sorted(rewritten, key=lambda c: c.number)), added])
            chunks.append(Chunk(number, rows.combine_chunks(), np.ones(size, np.bool_)))
        return Log(tuple(chunks))


@dataclass(frozen=True, kw_only=True)
class Header:
    """What is stored of a bucket besides its chunks.

    `plan`: the fingerprint of the query; `watermark`: int64 microseconds; `next_number`: the number of the next chunk;
    `late`: how many rows have come too late so far; `failed`: on how many rows something has failed so far; `buckets`:
    how many buckets the query has.
    """

    plan: str
    watermark: int
    next_number: int = 0
    late: int = 0
    failed: int = 0
    buckets: int = 0


@dataclass(frozen=True)
class Stored:
    """The state of one bucket."""

    header: Header
    logs: Mapping[str, Log] = field(default_factory=dict)

    def fitted(self, tables: Mapping[str, pa.Schema]) -> Stored:
        """The same state in tables with these columns."""
        return replace(self, logs={name: log.fitted(tables[name]) for name, log in self.logs.items()})

    def state(self, tables: Mapping[str, pa.Schema]) -> State:
        """The state as a step reads it, in tables with exactly these columns."""
        return State({name: self.logs[name].table(schema) for name, schema in tables.items()}, self.header.watermark)

    def after(self, step: Step, fingerprint: str) -> Stored:
        """The state to store after a step; `fingerprint`: the fingerprint of the query."""
        number, header = self.header.next_number, self.header
        changed = {
            name: self.logs[name].changed(change.keeps, change.added, number + i)
            for i, (name, change) in enumerate(step.changes.items())
        }
        header = replace(
            header,
            plan=fingerprint,
            watermark=step.watermark,
            next_number=number + len(self.logs),
            late=header.late + step.late.num_rows,
            failed=header.failed + step.failures.num_rows,
        )
        return Stored(header, {**self.logs, **changed})

    def header_bytes(self) -> bytes:
        """The header with the live rows of every chunk."""
        chunks = {name: [(c.number, len(c.is_alive)) for c in log.chunks] for name, log in self.logs.items()}
        text = json.dumps({**vars(self.header), "chunks": chunks}, sort_keys=True).encode()
        bits = [np.packbits(c.is_alive).tobytes() for name in sorted(self.logs) for c in self.logs[name].chunks]
        return struct.pack("<BI", VERSION, len(text)) + text + b"".join(bits)


def empty(tables: Iterable[str], buckets: int = 1) -> Stored:
    """The state before any step. `tables`: the names of its tables; `buckets`: how many buckets the query has."""
    return Stored(Header(plan="", watermark=FIRST_WATERMARK, buckets=buckets), {name: Log() for name in tables})


def chunk_bytes(chunk: Chunk) -> bytes:
    """All rows of a chunk, dead ones included. A chunk is stored only once, when none of its rows is dead."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, chunk.rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(chunk.rows)
    return bytes([VERSION]) + sink.getvalue().to_pybytes()


def read(header: bytes, read_chunk: Callable[[int], bytes]) -> Stored:
    """The state from the bytes of its header and its chunks. Raises DataError (STATE_VERSION) for another version."""
    fields, alive = _read_header(header)
    logs = {
        name: Log(tuple(Chunk(number, _rows(read_chunk(number)), is_alive) for number, is_alive in chunks))
        for name, chunks in alive.items()
    }
    return Stored(Header(**fields), logs)


def _read_header(header: bytes) -> tuple[dict[str, Any], dict[str, list[tuple[int, np.ndarray]]]]:
    """The fields of a header, and for each table its chunks: the number of each, and which of its rows are alive."""
    fields, at = _fields(header)
    stored_chunks, alive = fields.pop("chunks"), dict[str, list[tuple[int, np.ndarray]]]()
    for name in sorted(stored_chunks):
        alive[name] = []
        for number, rows in stored_chunks[name]:
            size = -(-rows // 8)
            bits = np.unpackbits(np.frombuffer(header, np.uint8, size, at), count=rows)
            alive[name].append((number, bits.astype(np.bool_)))
            at += size
    return fields, alive


def plan_of(header: bytes) -> str:
    """The fingerprint of the query that wrote a header. Raises DataError (STATE_VERSION) for another version."""
    return str(_fields(header)[0]["plan"])


class StateCounts(NamedTuple):
    """What the headers of an operator's buckets tell of its state: the kept rows, and those that were late or failed.
    The rest is known only to who has read the chunks."""

    rows: int
    late_rows: int
    failed_rows: int
    bytes: None = None
    oldest_us: None = None
    windows: None = None
    emitted: None = None


def counts(headers: Iterable[bytes]) -> StateCounts:
    """The counts of all buckets together. Raises DataError (STATE_VERSION) for another version.

    >>> log = Log().changed(np.zeros(0, bool), pa.table({"x": [1, 2, 3]}), 0)
    >>> log = log.changed(np.array([True, False, True]), pa.table({"x": [4]}), 1)
    >>> stored = Stored(Header(plan="", watermark=0, late=5), {ROWS: log, "keys": Log()})
    >>> counts([stored.header_bytes(), stored.header_bytes()])[:3]
    (6, 10, 0)
    """
    buckets = [_read_header(header) for header in headers]
    rows = sum(int(is_alive.sum()) for _, alive in buckets for _, is_alive in alive[ROWS])
    return StateCounts(
        rows, sum(fields["late"] for fields, _ in buckets), sum(fields["failed"] for fields, _ in buckets)
    )


def _fields(header: bytes) -> tuple[dict[str, Any], int]:
    """The fields of a header, and the offset of the bits that follow them."""
    _check(header[0])
    _, length = struct.unpack_from("<BI", header)
    at = struct.calcsize("<BI") + length
    return json.loads(header[at - length : at]), at


def _rows(stored: bytes) -> pa.Table:
    _check(stored[0])
    with pa.ipc.open_stream(pa.py_buffer(memoryview(stored)[1:])) as stream:
        return stream.read_all()


def _check(version: int) -> None:
    if version != VERSION:
        raise DataError(
            "STATE_VERSION",
            f"the checkpoint holds state of version {version}, but this version of sqlext reads version {VERSION}",
            hint="start the query with a new checkpoint, or resume it with the version of sqlext that wrote this one.",
        )


def changes(before: Stored | None, after: Stored) -> tuple[list[Chunk], list[int]]:
    """The chunks that `after` adds, and the numbers of the chunks that it no longer has."""
    old = {c.number for log in before.logs.values() for c in log.chunks} if before else set()
    new = {c.number: c for log in after.logs.values() for c in log.chunks}
    return [new[number] for number in sorted(new.keys() - old)], sorted(old - new.keys())
