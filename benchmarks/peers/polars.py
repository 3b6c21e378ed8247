"""Polars on two threads, in a process of its own, on the Parquet files of the Delta tables that Spark wrote.

It needs the package `polars` from PyPI (50 MB, once) for a virtual environment of its own. It has no SQL for an ASOF
join, so the process knows the join: sort both tables by time, then `join_asof`.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.peers.answering import Answering, environment

VERSION = "2.1.0"
THREADS = "2"  # Spark has local[2]


class Polars:
    """Queries over Delta tables, answered by a process that stays warm until the block ends.

    `work` is for its messages. A query that takes longer than `limit_s` seconds raises TimeoutError.
    """

    def __init__(self, work: Path, limit_s: float = 600):
        self.work, self.limit_s = Path(work).resolve(), limit_s

    def __enter__(self) -> Polars:
        self.work.mkdir(parents=True, exist_ok=True)
        python = environment(f"polars-{VERSION}", f"polars=={VERSION}")
        command = [str(python), str(Path(__file__).with_name("polars_server.py"))]
        variables = {**os.environ, "POLARS_MAX_THREADS": THREADS, "PYTHONPATH": ""}
        self._process = Answering("Polars", command, self.work / "polars.err", self.limit_s, variables)
        self._process.start()
        return self

    def __exit__(self, *_) -> None:
        self._process.stop()

    def query(self, sql: str, table: Path) -> list[tuple]:
        """The rows of SQL over the files of a table, which is called `files` there."""
        return self._process.ask({"sql": sql, "table": str(table)})

    def asof(self, left: Path, right: Path, *, keys: list[str], is_left: bool) -> list[tuple]:
        """The totals of an ASOF join by >= on `ts`, as `benchmarks.joins` defines them."""
        return self._process.ask({"left": str(left), "right": str(right), "keys": keys, "is_left": is_left})
