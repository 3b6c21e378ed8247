"""Runs a workload's runners in turn and compares their answers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.processes import Watch
from benchmarks.runners import FLOOR, OURS, Runner
from benchmarks.workload import Result, Workload


class WrongResult(Exception):
    """Wrong is not fast."""


@dataclass(frozen=True)
class Measurement:
    """One runner on one workload. Ratios are taken with `ours_s`: medians of the same turns.

    failure: why another program gave no answer; its times mean nothing then.
    """

    workload: str
    rows: int
    runner: str
    first_s: float
    seconds: tuple[float, ...]
    median_s: float
    ours_s: float
    cpu_s: float  # median of what JVM and workers computed
    jvm_mb: int
    workers_mb: int
    result: Result
    failure: str = ""


@dataclass(frozen=True)
class Turn:
    """One run of one runner; memory in bytes."""

    seconds: float
    cpu_s: float
    jvm: int
    workers: int
    result: Result = ()
    failure: str = ""


def measure(workload: Workload, rows: int, runners: Mapping[str, Runner], runs: int) -> list[Measurement]:
    """One first run of each, then `runs` turns of all, each result checked. Who fails has no more turns.

    Raises WrongResult: a result is not the one that is known, or runners disagree.
    """
    turns: dict[str, list[Turn]] = {name: [] for name in runners}
    for _ in range(1 + runs):
        for name, run in runners.items():
            if not (turns[name] and turns[name][-1].failure):
                turns[name].append(take_turn(run, may_fail=name not in (OURS, FLOOR)))
        check(workload, rows, {name: t[-1].result for name, t in turns.items() if not t[-1].failure})
    ours_s = median(turns[OURS])
    return [summary(workload.name, rows, name, t, ours_s) for name, t in turns.items()]


def take_turn(run: Runner, may_fail: bool) -> Turn:
    result: Result = ()
    failure = ""
    with Watch() as watch:
        start = time.perf_counter()
        try:
            result = run()
        except Exception as error:  # whatever another system may raise: out of time, out of memory, not supported
            if not may_fail:
                raise
            failure = str(error).strip().partition("\n")[0] or type(error).__name__
        seconds = time.perf_counter() - start
    return Turn(seconds, watch.cpu_s, watch.jvm, watch.workers, result, failure)


def summary(workload: str, rows: int, runner: str, turns: list[Turn], ours_s: float) -> Measurement:
    return Measurement(
        workload=workload,
        rows=rows,
        runner=runner,
        first_s=turns[0].seconds,
        seconds=tuple(turn.seconds for turn in turns[1:]),
        median_s=median(turns),
        ours_s=ours_s,
        cpu_s=statistics.median(turn.cpu_s for turn in turns[1:] or turns),
        jvm_mb=max(turn.jvm for turn in turns) >> 20,
        workers_mb=max(turn.workers for turn in turns) >> 20,
        result=turns[-1].result,
        failure=turns[-1].failure,
    )


def median(turns: list[Turn]) -> float:
    """Of the seconds behind the first run; the first run's if there is no other."""
    return statistics.median(turn.seconds for turn in turns[1:] or turns)


def check(workload: Workload, rows: int, results: Mapping[str, Result]) -> None:
    """Everybody gives the known result, or, where none is known, the same; the floor counts all rows."""
    wanted = workload.expected(rows) or results[OURS]
    for name, result in results.items():
        if result != ((rows,) if name == FLOOR else wanted):
            raise WrongResult(f"{workload.name}, {rows:,} rows: {name} gives {result}, not {wanted}")
