"""A stateful operator without Spark: micro-batches of rows with watermarks, and a restart after each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from sqlext.operators.stateful import state_log
from sqlext.operators.stateful.bucket import Bucket
from sqlext.operators.stateful.operator import FIRST_WATERMARK, ROWS, Clock, Operator, State, Step
from sqlext.operators.stateful.parcels import mark, stream_of
from sqlext.operators.stateful.state_log import Stored


class Driven:
    """One bucket of an operator, whose state is stored in bytes after each micro-batch and read before the next.

    Another `operator` may take its place, as that of a query which resumes. `steps`: all so far; `watermark`: up to
    which rows are late from the first step on; `folders`: where late rows and failures are written, see `Bucket`.
    """

    def __init__(
        self,
        operator: Operator,
        stored: Stored | None = None,
        *,
        watermark: int = FIRST_WATERMARK,
        folders: Mapping[str, str] | None = None,
    ):
        self.operator, self.folders = operator, folders or {}
        self.steps: list[Step] = []
        self._chunks: dict[int, bytes] = {}
        first = state_log.empty(operator.tables)
        self._write(None, stored or replace(first, header=replace(first.header, watermark=watermark)))

    def step(self, watermark: int, *, now: int = 0, **arrived: pa.Table) -> Step:
        """One micro-batch: what has arrived, by the names of the operator's inputs, and the watermark after it."""
        before = self.stored
        bucket = Bucket(operator=self.operator, fingerprint="golden", buckets=1, folders=self.folders)
        parcels = [_parcel(name, table) for name, table in arrived.items() if table.num_rows]
        step, after = bucket.answer(0, before, parcels, Clock(watermark=watermark, now=now))
        self._write(before, after)
        self.steps.append(step)
        return step

    @property
    def stored(self) -> Stored:
        return state_log.read(self._header, self._chunks.__getitem__)

    @property
    def state(self) -> State:
        """The state that the next step begins with."""
        tables = self.operator.tables
        return self.stored.fitted(tables).state(tables)

    @property
    def results(self) -> list[tuple[np.ndarray, pa.RecordBatch]]:
        """What all steps emitted, with its times."""
        return [result for step in self.steps for result in step.results]

    @property
    def failures(self) -> pa.Table:
        return pa.concat_tables([step.failures for step in self.steps])

    def _write(self, before: Stored | None, after: Stored) -> None:
        added, removed = state_log.changes(before, after)
        self._chunks |= {chunk.number: state_log.chunk_bytes(chunk) for chunk in added}
        for number in removed:
            del self._chunks[number]
        self._header = after.header_bytes()


def _parcel(name: str, table: pa.Table) -> bytes:
    marked = table.replace_schema_metadata(None if name == ROWS else mark(name))
    return stream_of(marked.combine_chunks().to_batches()[0]).to_pybytes()


def read_golden(folder: Path) -> Stored:
    """The state in the files of a folder."""
    return state_log.read((folder / "header").read_bytes(), lambda number: (folder / f"chunk_{number}").read_bytes())


def write_golden(folder: Path, stored: Stored) -> None:
    """Write the state into the files of a folder, which must not exist yet: another format has another version."""
    folder.mkdir(parents=True)
    (folder / "header").write_bytes(stored.header_bytes())
    for log in stored.logs.values():
        for chunk in log.chunks:
            (folder / f"chunk_{chunk.number}").write_bytes(state_log.chunk_bytes(chunk))


def row_texts(names: Mapping[str, str]) -> Callable[[pa.Table], list[str]]:
    """Writes rows as JSON, as Spark does for users, with these names of columns; what is NULL is left out."""

    def texts(rows: pa.Table) -> list[str]:
        own = ({names[c]: v for c, v in row.items() if c in names and v is not None} for row in rows.to_pylist())
        return [json.dumps(row, separators=(",", ":"), default=str) for row in own]

    return texts
