"""Ctrl-C while Spark runs jobs: what it cancels, and that the session goes on."""

from __future__ import annotations

import io
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sqlext.sessions.shown_progress import TerminalLine
from sqlext.sessions.watched import Progress, watched
from sqlext.spark.running_jobs import abandon_request, as_this_thread

ENDLESS = "SELECT count(*) AS n FROM range(0, 1000000, 1, 5000) a JOIN range(100000) b ON a.id + b.id = -1"


class Interrupting:
    """A display that presses Ctrl-C as soon as a task runs."""

    def __init__(self) -> None:
        self.ends: list[tuple[int, bool]] = []

    def show(self, progress: Progress) -> None:
        if progress.tasks:
            os.kill(os.getpid(), signal.SIGINT)

    def end(self, progress: Progress, *, is_canceled: bool) -> None:
        self.ends.append((progress.tasks, is_canceled))


@pytest.mark.parametrize("action", ["collect", "toArrow"])  # waits for an answer of the JVM, and for rows
def test_ctrl_c_cancels_the_jobs_of_its_block_alone(spark, action):
    display, tracker = Interrupting(), spark.sparkContext.statusTracker()
    with pytest.raises(KeyboardInterrupt), watched(spark, display):
        getattr(spark.sql(ENDLESS), action)()
    assert [is_canceled for _, is_canceled in display.ends] == [True] and display.ends[0][0] > 0
    assert tracker.getActiveJobsIds() == []
    with watched(spark, display):
        assert spark.sql("SELECT 1 AS a").collect() == [(1,)]
    assert (display.ends[1:], len(spark.sparkContext.getJobTags())) == ([(0, False)], 0)


def test_the_jobs_of_another_thread_may_be_those_of_a_block(spark):
    with watched(spark, Interrupting()) as watch, ThreadPoolExecutor(1) as others:
        tags = as_this_thread(spark, spark.sparkContext.getJobTags)
        assert watch.jobs.tag in others.submit(tags).result()


def test_an_error_of_a_block_is_its_own(spark):
    display = Interrupting()
    with pytest.raises(ZeroDivisionError), watched(spark, display):
        1 / 0  # noqa: B018
    assert display.ends == [(0, False)]


def test_a_request_that_was_abandoned_spoils_no_other_one(spark):
    found = []

    def ask() -> None:  # each thread has a connection of its own
        for number in range(2):
            found.extend(spark.sql(f"SELECT {number}").collect())
            abandon_request()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [(0,), (1,)]


def test_a_fast_statement_shows_nothing_and_a_bar_is_erased_before_rows():
    screen = io.StringIO()
    line = TerminalLine(screen)
    line.show(Progress(1.9, 1, 2))
    line.erase()
    assert screen.getvalue() == ""
    line = TerminalLine(screen)
    line.show(Progress(3, 1, 2))
    line.erase()
    line.show(Progress(4, 2, 2))
    assert screen.getvalue() == "\r\x1b[K[==========          ] 1 of 2 tasks, 3 s; Ctrl-C cancels\r\x1b[K"
