"""Run the runners of a workload in turn and compare their answers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.processes import Watch
from benchmarks.runners import FLOOR, OURS, Runner
from benchmarks.workload import Result, Workload


class WrongResult(Exception):
    """A runner gives other totals than the known ones, or than the other runners."""


@dataclass(frozen=True)
class Measurement:
    """One runner on one workload. Ratios use `ours_s`, the median of our runner in the same turns.

    failure: the reason why another program gave no answer; its times then have no meaning.
    """

    workload: str
    rows: int
    runner: str
    first_s: float
    seconds: tuple[float, ...]
    median_s: float
    ours_s: float
    cpu_s: float  # the median processor time of the JVM and the workers
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
    """Run each runner once, then take `runs` turns of all of them. A runner that failed has no more turns.

    Raises WrongResult: a result is not the known one, or runners disagree.
    """
    turns: dict[str, list[Turn]] = {name: [] for name in runners}
    for _ in range(1 + runs):
        for name, run in runners.items():
            if not (turns[name] and turns[name][-1].failure):
                turns[name].append(take_turn(run, may_fail=name not in (OURS, FLOOR)))
        check(workload, rows, {name: t[-1].result for name, t in turns.items() if not t[-1].failure})
    ours_s = median(turns[OURS])
    return [summary(workload.name, rows, name, t, ours_s) for name, t in turns.items()]


def take_turn(run: Runner, *, may_fail: bool) -> Turn:
    result: Result = ()
    failure = ""
    with Watch() as watch:
        start = time.perf_counter()
        try:
            result = run()
        except Exception as error:  # another system may raise anything: out of time, out of memory, not supported
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
    """The median of the seconds after the first run, or those of the first run if it is the only one."""
    return statistics.median(turn.seconds for turn in turns[1:] or turns)


def check(workload: Workload, rows: int, results: Mapping[str, Result]) -> None:
    """Check that all runners give the known result or, if none is known, the same one. The floor counts all rows."""
    wanted = workload.expected(rows) or results[OURS]
    for name, result in results.items():
        if result != ((rows,) if name == FLOOR else wanted):
            raise WrongResult(f"{workload.name}, {rows:,} rows: {name} gives {result}, not {wanted}")
