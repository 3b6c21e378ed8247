"""Streams for tests: a folder of files, each of which is one micro-batch."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

START = datetime(2024, 5, 1, tzinfo=timezone.utc)
_SCHEMA = pa.schema([("k", pa.string()), ("id", pa.int32()), ("at", pa.timestamp("us", tz="UTC"))])
Row = tuple[str | None, int, int | None]  # (k, id, seconds after START or NULL)


class Stream:
    """Rows in files of one folder, read one file a micro-batch through the view `name`."""

    def __init__(self, spark, name: str, folder: Path):
        self.folder, self.files = folder / name, 0
        self.folder.mkdir()
        source = spark.readStream.schema("k STRING, id INT, at TIMESTAMP").option("maxFilesPerTrigger", 1)
        source.parquet(str(self.folder)).createOrReplaceTempView(name)

    def add(self, rows: Iterable[Row]) -> None:
        """One more micro-batch."""
        timed = ((k, i, None if s is None else START + timedelta(seconds=s)) for k, i, s in rows)
        columns = list(zip(*timed)) or [(), (), ()]
        path = self.folder / f"{self.files:04}.parquet"
        pq.write_table(pa.table([pa.array(c, f.type) for c, f in zip(columns, _SCHEMA)], _SCHEMA), path)
        os.utime(path, (1_700_000_000 + self.files,) * 2)  # Spark reads the oldest first
        self.files += 1


@dataclass(frozen=True)
class Emitted:
    """`batches`: the rows of each micro-batch that had some. Of all micro-batches `states`: how many rows the state had
    after it, and `late`: how many rows came late."""

    batches: list[list[tuple]]
    states: list[int]
    late: list[int]

    @property
    def rows(self) -> list[tuple]:
        return [row for batch in self.batches for row in batch]


def run(frame, checkpoint: Path) -> Emitted:
    """What the query emits for all files that are there, going on where it stopped."""
    batches: list[list[tuple]] = []

    def take(batch, _) -> None:
        rows = [tuple(row) for row in batch.collect()]
        batches.extend([rows] if rows else [])

    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    operators = [progress.stateOperators for progress in query.recentProgress]
    return Emitted(
        batches,
        [sum(operator.numRowsTotal for operator in of_batch) for of_batch in operators],
        [sum(operator.numRowsDroppedByWatermark for operator in of_batch) for of_batch in operators],
    )
