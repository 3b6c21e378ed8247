"""DuckDB on two threads, in a process of its own, on the Parquet files of the Delta tables that Spark wrote.

It needs the package `duckdb` from PyPI (20 MB, once) for a virtual environment of its own. The tables were written
once, so their folders hold the files of one version only.

How its SQL differs from Spark's: `ASOF [LEFT] JOIN r ON keys AND l.t >= r.t`; `//` is the division of integers.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.answering import Answering, environment

VERSION = "2.0.0"


class DuckDB:
    """Queries over Delta tables, answered by a process that stays warm until the block ends.

    `work` is for DuckDB's own files. A query that takes longer than `limit_s` seconds raises TimeoutError and ends the
    process; the next query starts another one.

    >>> with DuckDB(Path("/tmp/duckdb")) as duckdb:                                         # doctest: +SKIP
    ...     duckdb.query(f"SELECT count(*) FROM {scan(Path('/tmp/warehouse/ticker'))}")
    [(9,)]
    """

    def __init__(self, work: Path, limit_s: float = 600):
        self.work, self.limit_s = Path(work).resolve(), limit_s

    def __enter__(self) -> DuckDB:
        self.work.mkdir(parents=True, exist_ok=True)
        python = environment(f"duckdb-{VERSION}", f"duckdb=={VERSION}")
        command = [str(python), str(Path(__file__).with_name("duckdb_server.py")), str(self.work)]
        self._process = Answering("DuckDB", command, self.work / "duckdb.err", self.limit_s)
        self._process.start()
        return self

    def __exit__(self, *_) -> None:
        self._process.stop()

    def query(self, sql: str) -> list[tuple]:
        """All rows of the result. Values other than numbers, text, Booleans and NULL are text.

        Raises PeerError: DuckDB refuses the statement or fails. TimeoutError: it took longer than the limit.
        """
        return self._process.ask({"sql": sql})


def scan(table: Path) -> str:
    """The relation that reads the files of a Delta table.

    >>> scan(Path("/tmp/t"))
    "read_parquet('/tmp/t/*.parquet')"
    """
    return f"read_parquet('{table}/*.parquet')"
