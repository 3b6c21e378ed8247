"""The report of EXPLAIN MATCH ANALYZE about a join on time: where its rows are lost. Pure: numbers in, text out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from sqlext.engine.reports.counts import MARK, Verdicts, count, first_zero, report_text, table
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT


@dataclass(frozen=True, kw_only=True)
class SideReport:
    """`able`: the rows that may have a partner: conditions on them alone hold, and no key and no time is NULL.
    `empty`: ranges in which no time can be, of which `reversed` end before they begin. `compared`: the able rows,
    without those whose range is empty; `here`: those of them whose keys a compared row of the other relation has;
    `met`: those with a partner. `some_keys`: the first keys, if no row of the other relation has any of them."""

    rows: int
    null_key: int
    null_time: int
    conditions: tuple[Verdicts, ...]
    able: int
    empty: int
    reversed: int
    compared: int
    here: int = 0
    met: int = 0
    some_keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NearestTime:
    """The nearest time that is not in a range: how `far` it is from it, the time, the `end` of the range beside it, and
    the keys of the row that has the range, all as text. `is_zero`: it is the end itself, which is excluded."""

    far: str
    is_before: bool
    is_zero: bool
    time: str
    end: str
    row: str = ""

    @property
    def text(self) -> str:
        """
        >>> miss = NearestTime(far="5", is_before=False, is_zero=False, time="r.t = 11", end="6")
        >>> miss.text
        'the nearest miss is 5: r.t = 11, and the range ends at 6'
        """
        verb = "begins" if self.is_before else "ends"
        of = f" of the row with {self.row}" if self.row else ""
        excluded = ", which is not in it" if self.is_zero else ""
        return f"the nearest miss is {self.far}: {self.time}, and the range{of} {verb} at {self.end}{excluded}"


@dataclass(frozen=True, kw_only=True)
class JoinReport:
    """`kind`: INTERVAL or ASOF; `join_type`: INNER, LEFT, LEFT ANTI, …; `ranges`: the relation whose rows have the
    ranges; `has_keys`, `has_range`: what is compared. `same_key`: pairs with equal keys; `in_range`: those whose time
    is in the range; `pairs`: those for which `others` hold, too, which `right.met` does not count."""

    kind: str
    join_type: str
    line: int
    left: SideReport
    right: SideReport
    ranges: str
    has_keys: bool
    has_range: bool
    same_key: int
    in_range: int
    pairs: int
    keys: int
    largest: int
    others: tuple[Verdicts, ...] = ()
    miss: NearestTime | None = None
    limit: int | None = None
    seconds: float = 0

    @property
    def results(self) -> int:
        """At least how many rows the join returns. For an anti join with a limit it is not known, and 0."""
        if self.is_anti:
            return self.alone if self.limit is None else 0
        padded = {"LEFT": self.left.rows, "RIGHT": self.right.rows, "FULL": self.left.rows + self.right.rows}
        return max(self.pairs, padded.get(self.join_type, 0))

    @property
    def is_anti(self) -> bool:
        return self.join_type == "LEFT ANTI"

    @property
    def alone(self) -> int:
        """The left rows without a partner."""
        return self.left.rows - self.left.met

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "kind": f"{self.kind} JOIN", "sentence": self.sentence}

    def _sides(self) -> Iterator[tuple[str, SideReport]]:
        yield LEFT, self.left
        yield RIGHT, self.right

    @property
    def lines(self) -> list[tuple[str, int]]:
        """The lines of the funnel, from the rows to the pairs."""
        lines = [(f"rows of the {name} relation", side.rows) for name, side in self._sides()]
        lines += [(f"{name} rows that may have a partner", side.able) for name, side in self._sides()]
        if self._with_ranges.empty:
            lines.append((f"{self.ranges} rows with a range in which a time can be", self._with_ranges.compared))
        if self.has_keys:
            lines += [(f"{name} rows whose keys the other relation has", side.here) for name, side in self._sides()]
            lines.append(("pairs with equal keys", self.same_key))
        if self.has_range:
            lines.append(("pairs with the time in the range", self.in_range))
        if self.others:
            lines.append(("pairs that satisfy the other conditions", self.pairs))
        return lines

    @property
    def sentence(self) -> str:
        """What the first zero means."""
        if not self.is_anti or not self.left.rows or self.limit is not None:
            return self._of_pairs()
        if not self.alone:
            pairs = f"{count(self.left.rows, 'left row is', 'left rows are')} in {count(self.pairs, 'pair')}"
            return f"Each left row has a partner: {pairs}. So LEFT ANTI JOIN returns none."
        of_none = f"LEFT ANTI JOIN returns {count(self.alone, 'left row')}: none has a partner. "
        return f"{'' if self.left.met else of_none}{self._of_pairs()}"

    def _of_pairs(self) -> str:
        if first_zero(self.lines) is None:
            return self._found()
        for name, side in self._sides():
            if not side.rows:
                return f"The {name} relation has no rows: look at it."
            if not side.able:
                return f"No {name} row may have a partner: {'; '.join(self._unable(side))}."
        if not self._with_ranges.compared:
            cure = "Exchange the two bounds" if self._with_ranges.reversed else "Write <= in place of <"
            return f"{self._no_range()}. {cure}."
        if not self.same_key:
            keys = (f"the {name} keys begin with {', '.join(side.some_keys)}" for name, side in self._sides())
            rows = "No two rows" if self.limit is None else f"Of {count(self.keys, 'key')} no two rows"
            return f"{rows} have equal keys: {'; '.join(keys)}{self._also_no_range()}."
        pairs = f"{count(self.same_key, 'pair has', 'pairs have')} equal keys" if self.has_keys else "There are rows"
        if not self.in_range:
            miss = f": {self.miss.text}" if self.miss else ""
            return f"{pairs}, but no time is in its range{miss}{self._also_no_range()}."
        verdicts = "; ".join(condition.not_true for condition in self.others)
        return f"{count(self.in_range, 'pair has', 'pairs have')} the time in the range, but {verdicts}."

    @property
    def _with_ranges(self) -> SideReport:
        return self.left if self.ranges == LEFT else self.right

    def _no_range(self) -> str:
        """How many rows have an empty range, and why."""
        side = self._with_ranges
        rows = count(side.empty, f"{self.ranges} row has", f"{self.ranges} rows have")
        if side.reversed:
            return f"{rows} no range: it ends before it begins"
        return f"{rows} no range: it ends where it begins, and excludes this time"

    def _also_no_range(self) -> str:
        return f". {self._no_range()}" if self._with_ranges.empty else ""

    def _found(self) -> str:
        left = self.left
        if self.limit is not None:
            here = count(left.here, "left row has", "left rows have")
            partners = f"{left.met:,} of them {'has' if left.met == 1 else 'have'} a partner"
            return f"Of {count(self.keys, 'key')}, {here} a right row with equal keys; {partners}."
        found = f"{left.met:,} of {count(left.rows, 'left row')} {'has' if left.met == 1 else 'have'} a partner"
        in_range = "without a time in the range" if self.has_range else "without a row"
        what = in_range if not self.others else f"{in_range} that satisfies the other conditions"
        of_range = " whose range is not empty" if self.right.empty else ""
        others = [
            (left.rows - left.able, "that cannot have one (a NULL, or a condition on the row alone)"),
            (left.able - left.compared, "with a range in which no time can be"),
            (left.compared - left.here, f"with keys that no right row has{of_range}"),
            (left.here - left.met, what),
        ]
        reasons = "; ".join(f"{count(number, 'row')} {why}" for number, why in others if number)
        miss = f", {self.miss.text}" if self.miss and left.here > left.met else ""
        return f"{found}{f'. The others: {reasons}' if reasons else ''}{miss}."

    def _unable(self, side: SideReport) -> Iterator[str]:
        for c in side.conditions:
            if c.false + c.null:
                yield f"{c.written} is FALSE on {count(c.false, 'row')} and NULL on {c.null:,}"
        if side.null_key:
            yield f"a key is NULL on {count(side.null_key, 'row')}"
        if side.null_time:
            yield f"the time is NULL on {count(side.null_time, 'row')}"

    # the text

    def text(self) -> str:
        return report_text(self._start_here(), self._conditions(), self._work())

    def _start_here(self) -> Iterator[str]:
        yield self.sentence
        has_left = self.is_anti and self.left.rows > 0
        zero = None if has_left else first_zero(self.lines)
        rows = [(text, number, MARK if i == zero else "") for i, (text, number) in enumerate(self.lines)]
        rows.append(("left rows with a partner", self.left.met, ""))
        if self.limit is None:
            rows.append(("left rows without one", self.alone, MARK if has_left and not self.alone else ""))
        if self.limit is None and not self.others:
            what = "that are in no range" if self.kind == "ASOF" else "without a partner"
            rows.append((f"right rows {what}", self.right.rows - self.right.met, ""))
        yield from table(rows)
        if self.limit is not None:
            keys = count(self.keys, "key")
            yield f"LIMIT {self.limit} PARTITIONS: the numbers of keys, pairs and partners are those of {keys}."

    def _conditions(self) -> Iterator[str]:
        for name, side in self._sides():
            for c in side.conditions:
                yield c.text(f"{name} row")
            rows = count(side.rows, f"{name} row")
            nulls = f"NULL in a key: {side.null_key:,}, in the time: {side.null_time:,} of {rows}"
            yield nulls + (f"; ranges in which no time can be: {side.empty:,}" if side.empty else "")
        for c in self.others:
            yield c.text("pair")
        if self.miss is not None:
            yield self.miss.text

    def _work(self) -> Iterator[str]:
        what = f"different keys: {self.keys:,}" if self.has_keys else "no keys: one task pairs all rows"
        yield f"{what}; the largest has {count(self.largest, 'row')} of both relations"
        yield f"cost of this report: {self.seconds:.1f} s counting"
