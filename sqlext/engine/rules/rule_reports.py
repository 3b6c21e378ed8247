"""The reports of running streams about rules, which are appended to the tables of the log and of errors.

Each report has all versions that the stream has taken up, so nothing is lost if a driver is killed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog import pattern_rules
from sqlext.catalog.pattern_rules import LogEntry, RuleError
from sqlext.engine.streams import reports
from sqlext.rewriter.text.names import Parts

REPORTS = "sqlextrules"  # the prefix of the names of the observed metrics


def follow(spark: SparkSession, sql: Callable[..., Any], table: Parts, metric: str) -> None:
    """Append the reports of queries in an observed metric to the tables beside the table of rules."""
    pattern_rules.create_errors(spark, sql, table)
    reports.follow(spark, metric, Target(spark=spark, sql=sql, table=table).append)


@dataclass(frozen=True, kw_only=True)
class Target:
    """The tables to which the reports of one MATCH_RULES are appended. `known`: what has been appended. The listener
    and the statements that wait for a query append from their own threads."""

    spark: SparkSession
    sql: Callable[..., Any]
    table: Parts
    known: set[tuple] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def append(self, received: list[dict[str, Any]], stream: str) -> None:
        """Append the reports that have not been appended before."""
        with self.lock:
            self._append(received, stream)

    def _append(self, received: list[dict[str, Any]], stream: str) -> None:
        taken = [tuple(entry) for report in received for entry in report["taken"]]
        errors = [tuple(entry) for report in received for entry in report["errors"]]
        new = [entry for entry in dict.fromkeys(taken) if entry not in self.known]
        if new:
            entries = [LogEntry(name=n, version=v, taken_up=t, stream=stream) for n, v, t in new]
            pattern_rules.append_log(self.spark, self.sql, self.table, entries)
        failures = {entry[:3]: entry for entry in reversed(errors) if entry[:3] not in self.known}
        if failures:
            rows = [RuleError(name=n, version=v, error_class=c, message=m) for n, v, c, m in failures.values()]
            pattern_rules.append_errors(self.spark, self.sql, self.table, rows)
        self.known.update(new, failures)
