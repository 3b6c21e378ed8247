"""The report of EXPLAIN MATCH ANALYZE about a query with EMIT: where its rows are lost. Pure: numbers in, text out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlext.engine.reports.counts import MARK, Verdicts, count, first_zero, report_text, table


@dataclass(frozen=True, kw_only=True)
class EmitReport:
    """`read`: the rows of the data, of which WHERE keeps `taken`, of which `timed` have a time; `conditions`: the
    members of WHERE.

    `counts`: the counts of `operators.emit.trace`, over rows that WHERE keeps. `having`: None without a HAVING;
    `examples`: firings that it leaves out, as JSON. `time`: the time of rows as written, empty for a global window.
    `evictor`: as written, or empty. `limit`: the counts are of this many keys; None for all.
    """

    line: int
    window: str
    time: str
    read: int
    taken: int
    timed: int
    conditions: tuple[Verdicts, ...]
    counts: Mapping[str, int]
    having: Verdicts | None = None
    examples: tuple[str, ...] = ()
    evictor: str = ""
    limit: int | None = None
    seconds: float = 0

    @property
    def firings(self) -> int:
        return self.counts["early"] + self.counts["on_time"]

    @property
    def results(self) -> int:
        return self.firings if self.having is None else self.having.true

    def as_json(self) -> dict[str, Any]:
        return {"kind": "EMIT", **asdict(self), "firings": self.firings, "sentence": self.sentence}

    @property
    def lines(self) -> list[tuple[str, int]]:
        """The lines of the funnel, from the rows to the firings."""
        lines = [("rows read", self.read)]
        if self.conditions:
            lines.append(("rows that WHERE keeps", self.taken))
        if self.time:
            lines.append(("rows with a time", self.timed))
        lines.append(("rows in a window", self.counts["rows"] - self.counts["outside"]))
        lines.append(("windows", self.counts["windows"]))
        lines.append(("firings", self.firings))
        if self.having is not None:
            lines.append(("firings that HAVING keeps", self.having.true))
        return lines

    @property
    def sentence(self) -> str:
        """What the first zero means."""
        if not self.read:
            return "The input has no rows: look at its relation."
        if not self.taken:
            verdicts = "; ".join(condition.not_true for condition in self.conditions)
            return f"WHERE keeps none of {count(self.read, 'row')}: {verdicts}."
        if not self.timed:
            rows = "the only row" if self.taken == 1 else f"all {self.taken:,} rows"
            return f"No row is in a window: {self.time} is NULL on {rows}."
        if not self.counts["windows"]:
            return f"No row is in a window of {self.window}: all times lie between two windows, its slide is too long."
        if self.having is not None and not self.having.true:
            example = f", as on {self.examples[0]}" if self.examples else ""
            return f"HAVING keeps none of {count(self.firings, 'firing')}: {self.having.not_true}{example}."
        fired = f"{self.counts['early']:,} EARLY, {self.counts['on_time']:,} ON_TIME"
        kept = "" if self.having is None else f"; HAVING keeps {self.having.true:,} of them"
        windows = count(self.counts["windows"], "window fires", "windows fire")
        return f"{windows} {count(self.firings, 'time')}: {fired}{kept}{self._lost()}."

    def _lost(self) -> str:
        evicted = f"that {self.evictor} leaves out each time"
        if self.counts["in_windows"] > self.counts["rows"] - self.counts["outside"]:
            evicted += ", counted once in each of their windows"
        lost = [
            (self.taken - self.timed, "without a time"),
            (self.counts["outside"], "between two windows"),
            (self.counts["never_seen"], evicted),
        ]
        parts = ", ".join(f"{count(number, 'row')} {why}" for number, why in lost if number)
        return f"; not in any firing: {parts}" if parts else ""

    # the text

    def text(self) -> str:
        return report_text(self._start_here(), self._conditions(), self._work())

    def _start_here(self) -> Iterator[str]:
        yield self.sentence
        zero, details = first_zero(self.lines), self._details()
        rows = []
        for i, (text, number) in enumerate(self.lines):
            rows.append((text, number, MARK if i == zero else ""))
            rows += [(f"  {detail}", of, "") for detail, of in details.get(text, [])]
        yield from table(rows)
        if self.limit is not None:
            yield f"LIMIT {self.limit} PARTITIONS: windows, their rows and their firings are those of so many keys."

    def _details(self) -> dict[str, list[tuple[str, int]]]:
        counts = self.counts
        seen = [(f"that {self.evictor} leaves out each time", counts["never_seen"])] if self.evictor else []
        return {
            "rows in a window": [("counted once in each of its windows", counts["in_windows"]), *seen],
            "firings": [("EARLY", counts["early"]), ("ON_TIME", counts["on_time"])],
        }

    def _conditions(self) -> Iterator[str]:
        for condition in self.conditions:
            yield condition.text("row")
        if self.having is not None:
            yield self.having.text("firing")
            yield from (f"  it leaves out {example}" for example in self.examples)

    def _work(self) -> Iterator[str]:
        yield f"the largest window has {count(self.counts['largest'], 'row')}"
        yield "late rows: none, because a batch knows all rows before the first window fires"
        yield f"cost of this report: {self.seconds:.1f} s counting"
