"""What running streams report about rules, on its way into the tables of the log and of errors.

The operator reports with each micro-batch, as an observed metric; the listener of the session appends what is new. Each
report has all versions that the stream has taken up, so that nothing is lost with a driver that was killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from sqlext.catalog import pattern_rules
from sqlext.catalog.pattern_rules import LogEntry, RuleError
from sqlext.rewriter.text.names import Parts

REPORTS = "sqlextrules"  # the prefix of the names of the observed metrics


def follow(spark: SparkSession, sql: Callable[..., Any], table: Parts, metric: str) -> None:
    """Append what queries report in an observed metric to the tables beside the table of rules."""
    if spark not in _LISTENERS:
        _LISTENERS[spark] = RuleReports()
        spark.streams.addListener(_LISTENERS[spark])
    _LISTENERS[spark].targets[metric] = Target(spark=spark, sql=sql, table=table)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where the reports of one MATCH_RULES go. `known`: what has been appended."""

    spark: SparkSession
    sql: Callable[..., Any]
    table: Parts
    known: set[tuple] = field(default_factory=set)

    def append(self, reports: list[dict[str, Any]], stream: Any) -> None:
        """Append what has not been appended before."""
        taken = [tuple(entry) for report in reports for entry in report["taken"]]
        errors = [tuple(entry) for report in reports for entry in report["errors"]]
        new = [entry for entry in dict.fromkeys(taken) if entry not in self.known]
        if new:
            entries = [LogEntry(name=n, version=v, taken_up=t, stream=str(stream)) for n, v, t in new]
            pattern_rules.append_log(self.spark, self.sql, self.table, entries)
        failures = {entry[:3]: entry for entry in reversed(errors) if entry[:3] not in self.known}
        if failures:
            rows = [RuleError(name=n, version=v, error_class=c, message=m) for n, v, c, m in failures.values()]
            pattern_rules.append_errors(self.spark, self.sql, self.table, rows)
        self.known.update(new, failures)


class RuleReports(StreamingQueryListener):
    """The one listener of a session. `targets`: by the names of the observed metrics; a query may be started again, so
    they stay."""

    def __init__(self) -> None:
        self.targets: dict[str, Target] = {}

    def onQueryStarted(self, event) -> None: ...

    def onQueryIdle(self, event) -> None: ...

    def onQueryTerminated(self, event) -> None: ...

    def onQueryProgress(self, event) -> None:
        progress = event.progress
        for metric, row in progress.observedMetrics.items():
            if metric in self.targets:
                reports = [json.loads(text) for text in row["reports"] or ()]
                self.targets[metric].append(reports, progress.name or progress.id)


_LISTENERS: WeakKeyDictionary[SparkSession, RuleReports] = WeakKeyDictionary()
