"""Why a row is, or is not, in a match: the text about it. Pure: the caller has the rows of its partition.

The first lines say what happened; after them come near misses, each of which gives a match through the row: the clause
with this one change has been compiled and run over the partition by the search that defines what matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from sqlext.engine.reports.shown_values import interval, shown_cell, shown_name
from sqlext.engine.why.failed_conjuncts import failed_texts, value
from sqlext.engine.why.why_clause import KnownTruth, PartitionRows, WhyClause, searched, sort_keys
from sqlext.operators.rows.arrow import to_values
from sqlext.operators.rows.columns import WITHIN_END, WITHIN_KEY, SortKey
from sqlext.pattern.batch.recorder import (
    FALSE,
    MATCH,
    NOT_FIRST,
    NOT_LAST,
    NULL,
    PARTITION_END,
    POSSESSIVE,
    WITHIN,
    Mapped,
    Stop,
)
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.conditions.conditions import Path
from sqlext.pattern.task.skip import failure_text, resume_row
from sqlext.pattern.task.skip_mode import SKIP_TO_NEXT_ROW
from sqlext.pattern.task.task import Rows, Skip, Task
from sqlext.pattern.why.reasons import why_refused
from sqlext.pattern.why.row_search import Budget, Closest, Match, all_matches, closest, decided_matches
from sqlext.rewriter.lowering.lower_conjuncts import Conjunct, SearchPlan
from sqlext.rewriter.match import relaxations
from sqlext.rewriter.match.relaxations import CONDITION, TIES, Relaxation
from sqlext.rewriter.text.names import unquoted

MAX_STEPS = 200_000  # steps of one search over a partition
MAX_ALL_STEPS = 3_000_000  # steps of all searches of a statement
MAX_TRIED, MAX_SHOWN = 60, 6  # near misses of one row
MAX_MATCHES = 5  # of one row that are shown
_BOUNDS_TRIED = 12


@dataclass(kw_only=True)
class VariantMatches:
    """The matches of the clause with one change (None: not decided), and the order of the rows."""

    order: np.ndarray
    matches: list[Match] | None

    def through(self, row: int) -> Match | None:
        """A match that maps row number `row` of the partition."""
        at = int(np.flatnonzero(self.order == row)[0])
        return next((match for match in self.matches or () if match.maps(at)), None)


@dataclass(kw_only=True)
class PartitionWhy:
    """Answers questions about the rows of one partition."""

    clause: WhyClause
    plan: SearchPlan
    partition: PartitionRows
    budget: Budget
    _variants: dict[str, VariantMatches | None] = field(default_factory=dict)
    _known: KnownTruth = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = self.partition.order()
        self.task, self.rows = searched(self.plan, self.partition, self.order, self._known)
        self.settings = self.clause.relation.settings
        found = decided_matches(self.task, self.rows, self.budget)
        self.failure = found.failure if found else None
        if self.failure is not None:  # the answers are those of a clause that goes on at the next row
            self.task = self._with_next_row(self.task)
            found = decided_matches(self.task, self.rows, self.budget)
        self.matches = found.listed if found else None
        self.timed_out = found.timed_out if found else []

    def chosen(self) -> list[int]:
        """The places of the chosen rows, in the order of the partition."""
        return np.flatnonzero(self.partition.is_chosen[self.order]).tolist()

    def _with_next_row(self, task: Task) -> Task:
        return replace(task, skip=replace(task.skip, else_next_row=True))

    def lines(self, row: int) -> list[str]:
        """The text about a row, which is row `row` in the order of the partition."""
        return [*self._fails(), *self._answer(row)]

    def _fails(self) -> list[str]:
        """The lines about a query that AFTER MATCH SKIP ends with an error."""
        if self.failure is None:
            return []
        match = f"match {self.failure.number}, which begins at row {self._n(self.failure.start)}"
        text = failure_text(self.task.skip, self.task.program.labels, self.failure, match)
        return [f"The query fails. {text}.", "With ELSE NEXT ROW after it:"]

    def _answer(self, row: int) -> list[str]:
        if self.matches is None:
            return ["The search took too many steps: whether the row is in a match is not decided."]
        timed_out = [self._in_timed_out(match, row) for match in self.timed_out if match.maps(row)][:MAX_MATCHES]
        mine = [match for match in self.matches if match.maps(row)]
        if mine:
            return [*(self._in_match(match, row) for match in mine[:MAX_MATCHES]), *timed_out, *self._begins_too(row)]
        jumped = self._jumped_over(row)
        if jumped:
            return [*timed_out, *jumped]
        near = closest(self.task, self.rows, row, self.budget)
        return [*timed_out, *self._not_in_match(near, row), *self._near_misses(near, row)]

    # in a match

    def _in_match(self, match: Match, row: int) -> str:
        label = next(label for r, label in match.mapped if r == row)
        return f"It is in match {match.number}, as {self._name(label)}: {self._path(match.mapped)}."

    def _in_timed_out(self, match: Match, row: int) -> str:
        label = next(label for r, label in match.mapped if r == row)
        shown = f"It is in a partial match that SHOW TIMEOUT MATCHES shows, as {self._name(label)}"
        return f"{shown}: {self._path(match.mapped)}; then its time was over."

    def _begins_too(self, row: int) -> list[str]:
        """A line about the match that begins at a row in the middle of another one."""
        begins = next((m for m in self._every_start or () if m.start == row and m.mapped), None)
        if begins is None or any(match.start == row for match in self.matches or ()):
            return []
        return [
            f"A match may also begin at this row, but AFTER MATCH {self.plan.clause.skip_text} jumped over it. "
            f"Would match with: AFTER MATCH SKIP TO NEXT ROW  -- {self._path(begins.mapped)}"
        ]

    def _jumped_over(self, row: int) -> list[str]:
        """The lines about a row whose match would begin where AFTER MATCH SKIP did not try."""
        match = next((m for m in self._every_start or () if m.maps(row)), None)
        if match is None:
            return []
        taker = next((m for m in reversed(self.matches or []) if m.start <= match.start < self._resumed(m)), None)
        if taker is None:
            return []
        return [
            f"It is in no match: AFTER MATCH {self.plan.clause.skip_text} jumped over row "
            f"{self._n(match.start)}, where its match would begin.",
            f"Match {taker.number} maps other rows: {self._path(taker.mapped)}. The search went on at row "
            f"{self._n(self._resumed(taker))}.",
            f"Would match with: AFTER MATCH SKIP TO NEXT ROW  -- {self._path(match.mapped)}",
        ]

    @cached_property
    def _every_start(self) -> list[Match] | None:
        """The matches if the search begins at every row."""
        if self.task.skip.mode.tries_every_row:
            return []
        return self._matches_of(replace(self.task, skip=Skip(SKIP_TO_NEXT_ROW)), self.rows)

    def _matches_of(self, task: Task, rows: Rows) -> list[Match] | None:
        """The matches of a changed clause; None if they are not decided, or if it fails."""
        found = all_matches(task if self.failure is None else self._with_next_row(task), rows, self.budget)
        return None if found is None or found.failure is not None else found.listed

    def _resumed(self, match: Match) -> int:
        resumed = resume_row(self.task.skip, match.start, match.mapped)
        return resumed if isinstance(resumed, int) else match.start + 1

    # in no match

    def _not_in_match(self, near: Closest, row: int) -> list[str]:
        if any(stop.reason == MATCH for stop in near.stops):
            return self._not_preferred(near)
        is_sure = "" if near.is_complete else " (not all ways were tried: the budget of steps ended)"
        needed = f"{near.missing} more row{'s' * (near.missing != 1)}" if near.missing else "no further row"
        empty = next((match for match in self.matches or () if match.start == row and not match.mapped), None)
        if empty is not None and not near.path:
            begun = f"Match {empty.number} begins at it, but is empty: it maps no row."
        elif near.path:
            begun = f"It is in no match. Closest{is_sure}: {self._path(near.path)}; a match then needs {needed}."
        else:
            begun = f"It is in no match, and no match can begin at it{is_sure}."
        return [begun, *self._reasons(near, row)[:2]]

    def _not_preferred(self, near: Closest) -> list[str]:
        """The lines about a row through which a match is possible that PATTERN does not prefer."""
        preferred = next((match for match in self.matches or () if match.start == near.start), None)
        lines = [f"It is in no match. Possible, but not preferred by PATTERN: {self._path(near.path)}."]
        if preferred is not None:
            lines.append(f"Match {preferred.number} from the same row is preferred: {self._path(preferred.mapped)}.")
        return lines

    def _reasons(self, near: Closest, row: int) -> list[str]:
        """The reasons why the closest partial match went no further: first what the row itself did not satisfy, then
        what ended the search, then the conditions of which a part holds."""
        stops = sorted(near.stops, key=lambda stop: (stop.row != row, self._falsity(near.path, stop)))
        return list(dict.fromkeys(self._reason(near.path, stop) for stop in stops))

    def _falsity(self, path: Mapped, stop: Stop) -> int:
        """0 if no condition ended the search, 1 if a conjunct of the condition holds, 2 if none does."""
        if stop.label is None or stop.reason not in (FALSE, NULL):
            return 0
        tested = self._tested(path, stop)
        holds = any(value(c.condition, tested) is True for c in self.plan.conjuncts[stop.label])
        return 1 if holds else 2

    def _reason(self, path: Mapped, stop: Stop) -> str:
        name = "" if stop.label is None else self._name(stop.label)
        if stop.reason == PARTITION_END:
            last = "before any row" if not path else f"after row {self._n(stop.row - 1)}"
            return f"The partition ends {last}, and {name} has no row."
        if stop.reason == WITHIN and (timeless := self._without_time(path, stop)):
            return f"{timeless} has no time, which WITHIN needs."
        late = self._too_late(path, stop) if stop.reason == WITHIN else ""
        reason = why_refused(stop, name, self._row(stop.row), self._failed(path, stop), late)
        if stop.reason == WITHIN and stop.label is not None and not isinstance(self.task, CepTask):
            failed = "; ".join(self._failed(path, stop))  # then a larger bound alone is not enough
            reason += f", and cannot be {name}: {failed}" if failed else ""
        edge = {NOT_FIRST: stop.row, NOT_LAST: max(stop.row - 1, 0)}.get(stop.reason)
        return f"{reason}{f', which row {self._n(edge)} is not' if edge is not None else ''}."

    def _failed(self, path: Mapped, stop: Stop) -> Iterator[str]:
        """The conjuncts that do not hold on a row, with the values that they compare."""
        assert stop.label is not None
        yield from failed_texts(self.plan.conjuncts[stop.label], self._tested(path, stop), self.settings)

    def refusal(self, path: Mapped, stop: Stop) -> str:
        """The reason why a search could not take a step, in short."""
        if stop.label is None or stop.reason not in (FALSE, NULL):
            return self._reason(path, stop).rstrip(".")
        return f"no {self._name(stop.label)}: {'; '.join(self._failed(path, stop))}"

    def failed_conjuncts(self, near: Closest) -> list[Conjunct]:
        """The conjuncts that ended the closest partial match."""
        failed = []
        for stop in near.stops:
            if stop.label is not None and stop.reason in (FALSE, NULL):
                tested = self._tested(near.path, stop)
                conjuncts = self.plan.conjuncts[stop.label]
                failed += [c for c in conjuncts if value(c.condition, tested) is not True]
        return failed

    def _tested(self, path: Mapped, stop: Stop) -> Path:
        assert stop.label is not None
        taken = (*(r for r, _ in path), stop.row)
        before = sum(match.start < taken[0] for match in self.matches or ())
        return Path(
            rows=self.rows,
            names=self.task.program.labels,
            partition=(0, len(self.order)),
            start=taken[0],
            labels=(*(label for _, label in path), stop.label),
            number=before + 1,
            taken=taken,
        )

    def _too_late(self, path: Mapped, stop: Stop) -> str:
        """The bound of WITHIN, and by how much a row comes after its first row."""
        within, by = self.plan.clause.within, ""
        if within is None:
            return ""
        first = self._first_within(path, stop)
        late = self._later_by(first, stop.row)
        if late is not None:
            by = f": it is {late} after row {self._n(first)}"
        return f" {' '.join(within.bound.text.split())}{by}"

    def _first_within(self, path: Mapped, stop: Stop) -> int:
        """The row from which WITHIN measures the time to the row of a stop."""
        within = self.plan.clause.within
        return (path[-1] if within is not None and within.between_rows else path[0])[0] if path else stop.row

    def _without_time(self, path: Mapped, stop: Stop) -> str:
        """The row whose key of WITHIN is NULL, the first one or that of a stop; empty if there is none."""
        key, rows = self._within_key, (self._first_within(path, stop), stop.row)
        return next((self._row(r) for r in rows if key is not None and r < len(key) and not key[r].is_valid), "")

    def _later_by(self, first: int, row: int) -> str | None:
        """The distance between the keys of two rows, which are not NULL, as text."""
        distance, key = self._within_distance(first, row), self._within_key
        return None if distance is None or key is None else _distance(distance, key.type)

    def _within_distance(self, first: int, row: int) -> int | None:
        key = self._within_key
        if key is None or row >= len(self.order) or not (key[first].is_valid and key[row].is_valid):
            return None
        values = to_values(key).values
        return values[row].item() - values[first].item()

    @cached_property
    def _within_key(self) -> pa.Array | None:
        """The key of WITHIN in the order of the rows."""
        text = next((str(c.computed) for c in self.plan.columns if c.name == WITHIN_KEY), None)
        return None if text is None else self.partition.columns[text].take(pa.array(self.order))

    # near misses

    def _near_misses(self, near: Closest, row: int) -> list[str]:
        """The lines about the relaxations that give a match through the row, the likeliest first."""
        found = self.relaxed(near, row)
        lines = [f"Would match with: {relaxation.sql}  -- {relaxation.what}" for relaxation in found[:MAX_SHOWN]]
        if len(found) > MAX_SHOWN:
            lines.append(f"and {len(found) - MAX_SHOWN} other single changes.")
        if self.budget.left <= 0:
            lines.append("Not all single changes were tried: the budget of steps ended.")
        elif not found:
            lines.append("No single change of DEFINE, WITHIN, PATTERN or the order of the rows is enough.")
        return lines

    def relaxed(self, near: Closest, row: int) -> list[Relaxation]:
        """The single changes that give a match through the row, the likeliest first."""
        at = int(self.order[row])
        found: list[Relaxation] = []
        groups: set[str] = set()
        for relaxation in self._candidates(near, row)[:MAX_TRIED]:
            if relaxation.group in groups:
                continue
            if relaxation.kind == relaxations.WITHIN:
                found += self._smallest_bound(relaxation, at) or self._bound_of(near, at)
            elif self._matches(relaxation, at):
                groups |= {relaxation.group} - {""}
                found.append(relaxation)
        return found

    def _candidates(self, near: Closest, row: int) -> list[Relaxation]:
        """All relaxations, those first that are about what ended the closest partial match."""
        proposed = [*relaxations.relaxations(self.plan.clause), *(order for order, _ in self._order_relaxations)]
        failed = {conjunct.start for conjunct in self.failed_conjuncts(near)}
        names = {self._name(stop.label) for stop in near.stops if stop.label is not None}
        is_late = any(stop.reason == WITHIN for stop in near.stops)
        is_edge = any(stop.reason in (NOT_FIRST, NOT_LAST) for stop in near.stops)
        is_possible = any(stop.reason == MATCH for stop in near.stops)
        if is_possible:  # all conditions hold
            proposed = [r for r in proposed if r.kind not in (CONDITION, relaxations.ABSENCE)]

        def rank(relaxation: Relaxation) -> int:
            if relaxation.kind == relaxations.WITHIN:
                return 0 if is_late else 4
            if relaxation.kind == CONDITION:
                leaves_none = relaxation.sql.endswith(" AS TRUE")
                return (3 if leaves_none else 0) if relaxation.place in failed else 4
            if relaxation.kind == relaxations.ABSENCE:
                return 0 if relaxation.sql.split()[0].upper() in names else 3
            if relaxation.kind == relaxations.ANCHOR:
                return 0 if is_edge else 4
            if relaxation.kind == relaxations.PREFERENCE:
                return 0 if is_possible or any(stop.reason == POSSESSIVE for stop in near.stops) else 4
            if relaxation.kind == relaxations.DIRECTION:
                return 1
            if relaxation.kind == TIES:
                return 1 if self._is_tied(row) else 4
            is_named = not names.isdisjoint(re.findall(r"\w+", relaxation.what.upper()))
            return 1 + (not is_named) + 2 * relaxation.group.endswith("?")

        return sorted(proposed, key=rank)

    def _matches(self, relaxation: Relaxation, at: int, distance: int | None = None) -> bool:
        """Whether the changed clause gives a match through row number `at` of the partition."""
        key = f"{relaxation.sql} {relaxation.edits}"
        if key not in self._variants:
            self._variants[key] = self._variant(relaxation, distance)
        variant = self._variants[key]
        return variant is not None and variant.through(at) is not None

    def _variant(self, relaxation: Relaxation, distance: int | None) -> VariantMatches | None:
        plan = self.clause.relaxed(relaxation) if self.budget.left > 0 else None
        if plan is None:
            return None
        order = self._orders.get(relaxation.sql, self.order)
        if distance is None and any(
            c.name != WITHIN_END and str(c.computed) not in self.partition.columns for c in plan.columns
        ):
            return None
        name = relaxation.sql if relaxation.sql in self._orders else ""
        task, rows = searched(plan, self.partition, order, self._known, name, distance)
        return VariantMatches(order=order, matches=self._matches_of(task, rows))

    def _smallest_bound(self, without: Relaxation, at: int) -> list[Relaxation]:
        """The smallest bound of WITHIN that is enough, and no bound at all where none can be written. Empty if without
        a bound no match maps the row."""
        if not self._matches(without, at):
            return []
        key, variant = self._within_key, self._variants[f"{without.sql} {without.edits}"]
        match = variant.through(at) if variant else None
        if key is None or match is None or not match.mapped:
            return [without]
        values = to_values(key).values
        taken = values[[row for row, _ in match.mapped]]
        is_between = self.plan.clause.within is not None and self.plan.clause.within.between_rows
        enough = int(np.diff(taken).max(initial=0)) if is_between else int(taken[-1] - taken[0])
        best: Relaxation | None = None
        low, high = 0, enough
        for _ in range(_BOUNDS_TRIED):
            bound = _distance(enough, key.type)
            if bound is None:
                break
            tried = relaxations.with_bound(self.plan.clause, bound)
            if self._matches(tried, at, enough):
                best, high = tried, enough
            else:
                low = enough
            smaller = self._distances(values, low, high)
            if best is None or not smaller:
                break
            enough = smaller[len(smaller) // 2]
        return [without] if best is None else [best]

    def _bound_of(self, near: Closest, at: int) -> list[Relaxation]:
        """The smallest bound of WITHIN with which the closest partial match reaches a row that is enough. With a larger
        bound, or without any, the match of an earlier row may take the row."""
        stop = next((stop for stop in near.stops if stop.reason == WITHIN), None)
        if stop is None:
            return []
        first = self._first_within(near.path, stop)
        for row in range(stop.row, min(stop.row + _BOUNDS_TRIED, len(self.order))):
            distance, bound = self._within_distance(first, row), self._later_by(first, row)
            if distance is not None and bound is not None:
                tried = relaxations.with_bound(self.plan.clause, bound)
                if self._matches(tried, at, distance):
                    return [tried]
        return []

    def _distances(self, values: np.ndarray, low: int, high: int) -> list[int]:
        """The distances between rows that are above `low` and below `high`, in order."""
        some = np.unique(values)[:400]
        differences = np.unique(some[:, None] - some[None, :])
        return [int(d) for d in differences if low < d < high]

    def _is_tied(self, row: int) -> bool:
        ties = self.partition.ties()
        return int((ties == ties[self.order[row]]).sum()) > 1

    @cached_property
    def _orders(self) -> dict[str, np.ndarray]:
        return {relaxation.sql: order for relaxation, order in self._order_relaxations}

    @cached_property
    def _order_relaxations(self) -> list[tuple[Relaxation, np.ndarray]]:
        """Other orders of the rows, each with the order of all rows."""
        ascending = relaxations.without_descending(self.plan.clause)
        plan = None if ascending is None else self.clause.relaxed(ascending)
        if ascending is None or plan is None:
            return self._tie_relaxations()
        return [(ascending, replace(self.partition, sort=sort_keys(plan)).order()), *self._tie_relaxations()]

    def _tie_relaxations(self) -> list[tuple[Relaxation, np.ndarray]]:
        """Other orders of rows that tie, each with the order of all rows."""
        ties = self.partition.ties()
        if not self.plan.clause.order_by or len(np.unique(ties)) == len(ties):
            return []
        found: list[tuple[Relaxation, np.ndarray]] = []
        for text, _ in self.partition.sort[self.partition.keys :][:5]:
            for is_descending in (True, False):
                order = self.partition.order([(text, SortKey("", is_descending, is_descending))])
                if not any(np.array_equal(order, other) for other in (self.order, *(o for _, o in found))):
                    change = relaxations.with_tie_order(self.plan.clause, unquoted(text), is_descending=is_descending)
                    found.append((change, order))
        return found

    # names of rows

    def _name(self, label: int) -> str:
        return self.task.program.labels[label]

    def _n(self, row: int) -> int:
        """The number of a row in its partition."""
        return row + 1 + self.partition.first

    def _row(self, row: int) -> str:
        if row >= len(self.order):
            return f"Row {self._n(row)}"
        keys = ", ".join(self.keys(row))
        return f"Row {self._n(row)}{f' ({keys})' if keys else ''}"

    def keys(self, row: int) -> list[str]:
        """The keys of ORDER BY with their values on a row."""
        return self._values((text for text, _ in self.partition.sort[: self.partition.keys]), row)

    def partition_keys(self, row: int) -> list[str]:
        """The keys of PARTITION BY with their values on a row."""
        return self._values(map(str, self.plan.partition_by), row)

    def _values(self, texts: Iterable[str], row: int) -> list[str]:
        at, columns = int(self.order[row]), self.partition.columns
        return [
            f"{shown_name(text)} = {shown_cell(columns[text], self.clause.type_of(text), at, self.settings)}"
            for text in texts
        ]

    def _path(self, mapped: Mapped) -> str:
        """The mapped rows with their variables, in short.

        Neighbouring rows of one variable are shown together: `rows 1 to 4 are A, row 5 is B`.
        """
        if not mapped:
            return "no row"
        runs: list[list[int]] = []
        for row, label in mapped:
            if runs and runs[-1][2] == label and runs[-1][1] == row - 1:
                runs[-1][1] = row
            else:
                runs.append([row, row, label])
        texts = [
            f"row {self._n(lo)} is {self._name(label)}"
            if lo == hi
            else f"rows {self._n(lo)} to {self._n(hi)} are {self._name(label)}"
            for lo, hi, label in runs
        ]
        return ", ".join(texts if len(texts) <= 6 else [*texts[:3], "…", *texts[-2:]])


def _distance(distance: int | float, kind: pa.DataType) -> str | None:
    """A distance between keys as a bound of WITHIN; None where none can be written."""
    if pa.types.is_timestamp(kind):
        return interval(int(distance))
    if pa.types.is_date(kind):
        return f"INTERVAL '{int(distance)}' DAY"
    return None if pa.types.is_decimal(kind) else str(distance)
