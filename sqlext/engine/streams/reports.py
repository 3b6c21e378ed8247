"""The reports that the operators of streams send to the driver with each micro-batch, as observed metrics.

A listener of the session receives the reports some time after the micro-batch. `settle` does not wait for the listener
if the progress of the query still has the reports. So a statement that waits for a query ends when all its reports have
been received.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryListener

from sqlext.spark.progress import recent_progress, whole

Receive = Callable[
    [list[dict[str, Any]], str], None
]  # receives the reports of a micro-batch and the query's name, possibly more than once
_SECONDS = 60  # how long the listener may take for micro-batches that the progress of a query no longer has


def follow(spark: SparkSession, metric: str, receive: Receive) -> None:
    """Pass the reports of queries in the observed metric to `receive`, once or several times."""
    if spark not in _LISTENERS:
        _LISTENERS[spark] = Reports()
        spark.streams.addListener(_LISTENERS[spark])
    _LISTENERS[spark].receivers[metric] = receive


def settle(spark: SparkSession, queries: Iterable[StreamingQuery]) -> None:
    """Return when everything that these queries have reported so far has been received."""
    reports = _LISTENERS.get(spark)
    if reports is not None:
        for query in queries:
            reports.settle(query)


class Reports(StreamingQueryListener):
    """The one listener of a session. `receivers`: by the names of observed metrics; they are kept, because a query may
    be started again."""

    def __init__(self) -> None:
        self.receivers: dict[str, Receive] = {}
        self.heard: dict[str, int] = {}  # the last micro-batch, by the id of the run
        self.changed = threading.Condition()

    def onQueryStarted(self, event) -> None: ...

    def onQueryIdle(self, event) -> None: ...

    def onQueryTerminated(self, event) -> None: ...

    def onQueryProgress(self, event) -> None:
        progress = event.progress
        self.receive(whole(progress)["observedMetrics"], str(progress.name or progress.id))
        with self.changed:
            self.heard[str(progress.runId)] = progress.batchId
            self.changed.notify_all()

    def receive(self, metrics: Mapping[str, Any], name: str) -> None:
        for metric, row in metrics.items():
            if metric in self.receivers:
                texts = row["reports"] or ()
                if texts:
                    self.receivers[metric]([json.loads(text) for text in texts], name)

    def settle(self, query: StreamingQuery) -> None:
        recent = recent_progress(query)
        if not any(metric in self.receivers for progress in recent for metric in progress["observedMetrics"]):
            return
        run, before = str(query.runId), int(recent[0]["batchId"]) - 1
        if run in self.heard:  # otherwise the listener has not begun, or the progress has all micro-batches
            with self.changed:
                self.changed.wait_for(lambda: self.heard[run] >= before, _SECONDS)
        for progress in recent:
            self.receive(progress["observedMetrics"], str(query.name or query.id))


_LISTENERS: WeakKeyDictionary[SparkSession, Reports] = WeakKeyDictionary()
