"""The peers of the clauses: other systems (trino, flink, duckdb, polars), and what a Spark user would write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from benchmarks.tables import warehouse
from benchmarks.workload import Workload

FLINK_ORDER = ("ts",)  # Flink sorts by a time attribute only; the export of a table has one, made from i


class External(Protocol):
    """Another system that answers the queries of workloads."""

    def prepare(self, workload: Workload, rows: int, path: Path) -> Callable[[], list[tuple]]:
        """The workload's query on the Delta table in `path`, as a function that can be called repeatedly."""


def open_external(name: str, spark) -> AbstractContextManager:
    """Start one of SYSTEMS. They need downloads, so each is imported only when it is requested."""
    return SYSTEMS[name](spark)


@contextmanager
def _trino(spark) -> Iterator[External]:
    from benchmarks.peers.trino import Trino

    with Trino(warehouse()) as system:
        yield _Trino(system)


@contextmanager
def _flink(spark) -> Iterator[External]:
    from benchmarks.peers.flink import Flink

    with Flink(warehouse() / "flink") as system:
        yield _Flink(system, spark)


@contextmanager
def _duckdb(spark) -> Iterator:
    from benchmarks.peers.duckdb import DuckDB

    with DuckDB(warehouse() / "duckdb") as system:
        yield _DuckDB(system)


@contextmanager
def _polars(spark) -> Iterator:
    from benchmarks.peers.polars import Polars

    with Polars(warehouse() / "polars") as system:
        yield _Polars(system)


class _Trino:
    def __init__(self, system):
        self.system = system

    def prepare(self, workload: Workload, rows: int, path: Path) -> Callable[[], list[tuple]]:
        self.system.prepare(path.name)
        sql = workload.peer_query(path.name, rows)
        return lambda: self.system.query(sql)


class _Flink:
    def __init__(self, system, spark):
        self.system, self.spark = system, spark

    def prepare(self, workload: Workload, rows: int, path: Path) -> Callable[[], list[tuple]]:
        self.system.prepare(self.spark, path.name, path, workload.order[0])
        sql = workload.peer_query(path.name, rows, FLINK_ORDER)
        return lambda: self.system.query(sql)


class _DuckDB:
    """DuckDB has no MATCH_RECOGNIZE: it runs the form with window functions."""

    def __init__(self, system):
        self.query = system.query

    def prepare(self, workload: Workload, rows: int, path: Path) -> Callable[[], list[tuple]]:
        from benchmarks.peers.duckdb import scan

        sql = workload.lead_query(scan(path))
        return lambda: self.query(sql)


class _Polars:
    """Polars has no MATCH_RECOGNIZE either, and joins by a call of its own."""

    def __init__(self, system):
        self.system, self.asof = system, system.asof

    def prepare(self, workload: Workload, rows: int, path: Path) -> Callable[[], list[tuple]]:
        sql = workload.lead_query("files")
        return lambda: self.system.query(sql, path)


SYSTEMS = {"trino": _trino, "flink": _flink, "duckdb": _duckdb, "polars": _polars}
