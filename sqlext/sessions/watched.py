"""Watches the Spark jobs of a block of code: shows how far they are, and cancels them by Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from sqlext.spark.running_jobs import RunningJobs, Stage, abandon_request, running_jobs

_TICK, _TICKS = 0.1, 10  # seconds between two looks at what the user wants; how many of them between two at the jobs


@dataclass(frozen=True)
class Progress:
    """How far a statement is after `seconds`: `done` tasks have ended, of the `tasks` of all stages that have begun.
    `left`: about how many seconds the stages that run still take; None if that is unknown."""

    seconds: float
    done: int = 0
    tasks: int = 0
    left: float | None = None

    def __str__(self) -> str:
        """
        >>> print(Progress(12.3))
        12 s
        >>> print(Progress(75, 37, 64, 9.1))
        37 of 64 tasks, 1 min 15 s, about 9 s left of this stage
        """
        parts = [
            *([f"{self.done:,} of {counted_tasks(self.tasks)}"] if self.tasks else []),
            duration(self.seconds),
            *([f"about {duration(self.left)} left of this stage"] if self.left is not None else []),
        ]
        return ", ".join(parts)


def counted_tasks(count: int) -> str:
    """A number of tasks, such as "1 task" or "2,000 tasks"."""
    return f"{count:,} task{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """A time for people to read.

    >>> duration(9.7), duration(60), duration(4000)
    ('9 s', '1 min 0 s', '1 h 6 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


@dataclass
class Meter:
    """Computes the progress of a statement that began at the time `begun`, in seconds of any clock."""

    begun: float
    seen: dict[int, tuple[float, int]] = field(default_factory=dict)  # when each stage was first seen, and its `done`

    def progress(self, stages: Sequence[Stage], now: float) -> Progress:
        """The progress at the time `now`. The seconds that are left are those of the slowest stage that runs, if each
        goes on as fast as since it was first seen.

        >>> meter = Meter(begun=100.0)
        >>> print(meter.progress([Stage(0, 4, 4), Stage(1, 60, 10)], 102.0))
        14 of 64 tasks, 2 s
        >>> print(meter.progress([Stage(0, 4, 4), Stage(1, 60, 30)], 112.0))
        34 of 64 tasks, 12 s, about 15 s left of this stage
        """
        left: list[float | None] = []
        for stage in stages:
            if stage.done < stage.tasks:
                since, before = self.seen.setdefault(stage.number, (now, stage.done))
                news = stage.done - before
                left.append((stage.tasks - stage.done) * (now - since) / news if news else None)
        known = [seconds for seconds in left if seconds is not None]
        return Progress(
            now - self.begun,
            sum(stage.done for stage in stages),
            sum(stage.tasks for stage in stages),
            max(known) if known and len(known) == len(left) else None,
        )


class Display:
    """Shows the progress of one statement; this one shows nothing."""

    def show(self, progress: Progress) -> None:
        """Called by a thread of its own, about once a second."""

    def erase(self) -> None:
        """Called by the thread of the statement before it writes to the screen; show nothing from now on."""

    def end(self, progress: Progress, *, is_canceled: bool) -> None:
        """Called once, by the thread of the statement, when that has ended."""


@dataclass
class Watch:
    """What a block of code knows of the thread that watches it."""

    jobs: RunningJobs
    display: Display
    meter: Meter
    last: Progress | None = None
    is_canceled: bool = False
    has_ended: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def begin(self) -> None:
        """Watch the jobs that this thread begins from now on."""
        self.jobs.begin()
        self.thread = threading.Thread(target=self.follow, name="sqlext-progress", daemon=True)
        self.thread.start()

    def follow(self) -> None:
        """Show the progress, and once the user has canceled it, cancel all that the block still begins."""
        ticks = 0
        while not self.has_ended.wait(_TICK):
            ticks += 1
            with suppress(Exception):  # the session may have been stopped, and a display is no reason to fail
                if self.is_canceled:
                    self.jobs.cancel()
                elif ticks % _TICKS == 0:
                    self.display.show(self.measured())

    def measured(self) -> Progress:
        self.last = self.meter.progress(self.jobs.stages(), time.monotonic())
        return self.last

    def end(self) -> None:
        """Show the last progress, which is measured anew unless the statement was fast or its tasks were killed."""
        assert self.thread is not None
        self.has_ended.set()
        self.thread.join()
        with suppress(Exception):  # the session may have been stopped
            if self.last is not None and not self.is_canceled:
                self.measured()
            self.jobs.end()
        seconds = time.monotonic() - self.meter.begun
        self.display.end(replace(self.last or Progress(0), seconds=seconds), is_canceled=self.is_canceled)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """A handler of SIGINT. While Python waits for the JVM, the jobs are canceled, after which the JVM answers. Who
        cannot wait for that interrupts once more.

        An exception here would leave the answer unread, and the next request would take it for its own.
        """
        is_waiting = is_in("py4j.", frame)
        is_first, self.is_canceled = not self.is_canceled, True
        if is_waiting and is_first:
            return
        if is_waiting:
            abandon_request()
        raise KeyboardInterrupt


def is_in(package: str, frame: FrameType | None) -> bool:
    """Whether a module whose name begins with `package` runs, or waits for what it has called."""
    return any(f.f_globals.get("__name__", "").startswith(package) for f, _ in traceback.walk_stack(frame))


def new_watch(spark: Any, display: Display) -> Watch:
    """A watch that has not begun."""
    return Watch(running_jobs(spark), display, Meter(time.monotonic()))


@contextmanager
def watched(spark: Any, display: Display) -> Iterator[Watch]:
    """Show the progress of the Spark jobs that this thread runs in the block. Ctrl-C cancels them.

    Raises KeyboardInterrupt if the block was canceled.
    """
    watch = new_watch(spark, display)
    watch.begin()
    try:
        with handler(watch.interrupt):
            yield watch
    except BaseException as error:
        watch.is_canceled |= isinstance(error, KeyboardInterrupt)
        if not watch.is_canceled:
            raise
        with suppress(Exception):
            watch.jobs.cancel()
    finally:
        watch.end()
    if watch.is_canceled:
        raise KeyboardInterrupt


@contextmanager
def handler(interrupt: Any) -> Iterator[None]:
    """Handle SIGINT in the block, if this is the main thread, the only one that can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
