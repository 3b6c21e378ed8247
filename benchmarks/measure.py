"""Runs a workload's runners in turn and compares their answers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.memory import PeakMemory
from benchmarks.runners import FLOOR, OURS, Runner
from benchmarks.workload import Result, Workload


class WrongResult(Exception):
    """Wrong is not fast."""


@dataclass(frozen=True)
class Measurement:
    """One runner on one workload. Ratios are taken with `ours_s`: medians of the same turns."""

    workload: str
    rows: int
    runner: str
    first_s: float
    seconds: tuple[float, ...]
    median_s: float
    ours_s: float
    jvm_mb: int
    workers_mb: int
    result: Result


def measure(workload: Workload, rows: int, runners: Mapping[str, Runner], runs: int) -> list[Measurement]:
    """One first run of each, then `runs` turns of all, each result checked.

    Raises WrongResult: a result is not the one that is known, or runners disagree.
    """
    results: dict[str, Result] = {}
    times: dict[str, list[float]] = {name: [] for name in runners}
    memory: dict[str, list[tuple[int, int]]] = {name: [] for name in runners}
    for _ in range(1 + runs):
        for name, run in runners.items():
            with PeakMemory() as peak:
                start = time.perf_counter()
                results[name] = run()
                times[name].append(time.perf_counter() - start)
            memory[name].append((peak.jvm, peak.workers))
        check(workload, rows, results)
    medians = {name: statistics.median(t[1:]) for name, t in times.items()}
    return [
        Measurement(
            workload=workload.name,
            rows=rows,
            runner=name,
            first_s=times[name][0],
            seconds=tuple(times[name][1:]),
            median_s=medians[name],
            ours_s=medians[OURS],
            jvm_mb=max(jvm for jvm, _ in memory[name]) >> 20,
            workers_mb=max(workers for _, workers in memory[name]) >> 20,
            result=results[name],
        )
        for name in runners
    ]


def check(workload: Workload, rows: int, results: Mapping[str, Result]) -> None:
    """Everybody gives the known result, or, where none is known, the same; the floor counts all rows."""
    wanted = workload.expected(rows) or results[OURS]
    for name, result in results.items():
        if result != ((rows,) if name == FLOOR else wanted):
            raise WrongResult(f"{workload.name}, {rows:,} rows: {name} gives {result}, not {wanted}")
