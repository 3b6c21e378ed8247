"""The jobs that Spark runs for one thread: their stages, and their end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from sqlext.spark.kind import is_connect

R = TypeVar("R")


@dataclass(frozen=True)
class Stage:
    """A stage that has begun: `done` of its `tasks` have ended."""

    number: int
    tasks: int
    done: int


class RunningJobs(Protocol):
    """The jobs that this thread starts between `begin` and `end`, and those of the threads that Spark starts for them,
    but not those of streams, which go on."""

    def begin(self) -> None: ...

    def end(self) -> None: ...

    def cancel(self) -> None:
        """Cancel what runs now. May be called from any thread."""

    def stages(self) -> list[Stage]:
        """The stages of all jobs so far. May be called from any thread."""


def running_jobs(spark: Any) -> RunningJobs:
    """The jobs of this thread in a session."""
    return _ConnectJobs(spark) if is_connect(spark) else _ClassicJobs(spark)


def as_this_thread(spark: Any, function: Callable[..., R]) -> Callable[..., R]:
    """The function for another thread, whose jobs belong to those of this one."""
    from pyspark import inheritable_thread_target

    return inheritable_thread_target(spark)(function)  # type: ignore[no-any-return]


def _new_tag() -> str:
    return f"sqlext-{uuid4()}"


class _ClassicJobs:
    """Spark gives the tags of a thread to its jobs, and hands them on to the threads that it starts for them, which
    are also those of streams. Each stream has a group of jobs."""

    def __init__(self, spark: Any):
        self.spark, self.context, self.tag = spark, spark.sparkContext, _new_tag()
        self.ended: dict[int, list[Stage]] = {}  # by job

    def begin(self) -> None:
        self.context.addJobTag(self.tag)

    def end(self) -> None:
        self.context.removeJobTag(self.tag)

    def cancel(self) -> None:
        if not self.spark.streams.active:
            self.context.cancelJobsWithTag(self.tag)
            return
        for job in self._jobs():
            self.context._jsc.sc().cancelJob(job)

    def stages(self) -> list[Stage]:
        return [stage for job in self._jobs() for stage in self.ended.get(job) or self._stages_of(job)]

    def _jobs(self) -> list[int]:
        tracker = self.context._jsc.sc().statusTracker()
        groups = [str(query.runId) for query in self.spark.streams.active]
        of_streams = {job for group in groups for job in tracker.getJobIdsForGroup(group)}
        return [job for job in tracker.getJobIdsForTag(self.tag) if job not in of_streams]

    def _stages_of(self, job: int) -> list[Stage]:
        tracker = self.context.statusTracker()
        known = tracker.getJobInfo(job)
        if known is None:
            return []
        found = (tracker.getStageInfo(number) for number in known.stageIds)
        stages = [
            Stage(stage.stageId, stage.numTasks, stage.numCompletedTasks)
            for stage in found
            if stage is not None and stage.numActiveTasks + stage.numCompletedTasks > 0  # others are skipped, or wait
        ]
        if known.status != "RUNNING":
            self.ended[job] = stages
        return stages


class _ConnectJobs:
    """A Connect client gets reports on each operation while it waits for the rows."""

    def __init__(self, spark: Any):
        self.spark, self.tag = spark, _new_tag()
        self.reported: dict[str | None, list[Stage]] = {}  # by operation

    def begin(self) -> None:
        self.spark.addTag(self.tag)
        self.spark.registerProgressHandler(self._receive)

    def end(self) -> None:
        self.spark.removeTag(self.tag)
        self.spark.removeProgressHandler(self._receive)

    def cancel(self) -> None:
        self.spark.interruptTag(self.tag)

    def stages(self) -> list[Stage]:
        return [stage for stages in list(self.reported.values()) for stage in stages]

    def _receive(self, *, stages: Iterable[Any] | None, operation_id: str | None, **_: Any) -> None:
        reported = [Stage(stage.stage_id, stage.num_tasks, stage.num_completed_tasks) for stage in stages or ()]
        self.reported[operation_id] = reported


def abandon_request() -> None:
    """Close this thread's connection to the JVM, if it has one, so that its next request opens another one."""
    from pyspark import SparkContext

    client: Any = SparkContext._gateway and SparkContext._gateway._gateway_client
    connection = getattr(client, "get_thread_connection", lambda: None)()
    if connection is not None:
        connection.close()
