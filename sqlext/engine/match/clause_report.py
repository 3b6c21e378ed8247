"""The report of EXPLAIN MATCH ANALYZE about one clause: where its rows are lost. Pure: numbers in, text out.

The first part, "Start here", is one funnel; its first zero is marked and explained in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from sqlext.engine.reports.counts import MARK, count, report_text, table
from sqlext.pattern.batch.recorder import (
    ABSENCE,
    BUDGET,
    CONDITION,
    FALSE,
    MATCH,
    NOT_FIRST,
    NOT_LAST,
    NULL,
    PARTITION_END,
    POSSESSIVE,
    UNTIL,
    WITHIN,
)
from sqlext.pattern.why.funnel import Funnel

# Of reasons that users know by other names: PARTITION_END where rows that no match can use are not searched; it and
# WITHIN in a window with a bounded frame; WITHIN where a conjunct of DEFINE bounds the match.
NO_USABLE_ROW, FRAME_END, BOUND = "NO USABLE ROW", "FRAME END", "BOUND"
_ENDINGS = {
    CONDITION: "ended where no condition holds",
    WITHIN: "ended by WITHIN",
    BOUND: "ended by a condition that bounds the match",
    FRAME_END: "ended by the end of the frame",
    PARTITION_END: "ended by the end of the partition",
    NO_USABLE_ROW: "ended where no usable row was left",
    ABSENCE: "ended by a row that must be absent",
    UNTIL: "ended by UNTIL",
    POSSESSIVE: "ended by a possessive loop",
    NOT_FIRST: "ended by ^, not at the first row",
    NOT_LAST: "ended by $, not at the last row",
    BUDGET: "given up, too many steps",
}
_LOST = {
    FALSE: "because its condition is FALSE",
    NULL: "because its condition is NULL",
    WITHIN: "because WITHIN is over",
    BOUND: "because of a condition that bounds the match",
    FRAME_END: "because the frame ends",
    PARTITION_END: "because the partition ends",
    NO_USABLE_ROW: "because no usable row follows",
    ABSENCE: "because of a row that must be absent",
    UNTIL: "because of UNTIL",
    POSSESSIVE: "because a possessive loop has the row",
}


@dataclass(frozen=True, kw_only=True)
class ConjunctReport:
    """`alone_false`, `alone_null`: rows on which it was FALSE or NULL and all others of its variable TRUE. `examples`:
    (the row, the text with the values compared) of up to two such rows. `near`: a value that hardly differs from the
    text that it must be equal to, and how, if no row has this text."""

    written: str
    true: int
    false: int
    null: int
    alone_false: int
    alone_null: int
    examples: tuple[tuple[str, str], ...] = ()
    near: str = ""


@dataclass(frozen=True, kw_only=True)
class VariableReport:
    """How often the condition of a variable was TRUE, FALSE and NULL: on each row, or (`is_tested`) in the tests of the
    search, if it depends on the match. `is_needed`: every match has a row for it."""

    name: str
    is_needed: bool
    is_tested: bool
    true: int
    false: int
    null: int
    conjuncts: tuple[ConjunctReport, ...] = ()
    dependent: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.true + self.false + self.null

    @property
    def not_true(self) -> str:
        """What the condition is where the search takes it for FALSE. It does not tell NULL from FALSE in the parts that
        the row decides of a condition that depends on the match.

        >>> part = ConjunctReport(written="x > 1", true=1, false=1, null=1, alone_false=0, alone_null=0)
        >>> tests = {"true": 1, "false": 2, "null": 0, "conjuncts": (part,)}
        >>> VariableReport(name="A", is_needed=True, is_tested=True, **tests).not_true
        'FALSE or NULL'
        """
        is_unsure = self.is_tested and any(conjunct.null for conjunct in self.conjuncts)
        return "FALSE or NULL" if is_unsure else FALSE


@dataclass(frozen=True, kw_only=True)
class ElementReport:
    """An element of the pattern for a `variable`, as written. `reached`: start rows from which the search mapped a row
    to it; `enough`: as many rows as it needs, None if that is one row or not known. `lost`: start rows whose furthest
    partial match could not go on here, by the reason (`recorder.Stop`)."""

    written: str
    variable: str
    at_least: int
    reached: int
    enough: int | None = None
    lost: Mapping[str, int] = field(default_factory=dict)

    def lost_by(self, variable: VariableReport | None) -> str:
        """The reasons, the most frequent ones first. `variable`: that of the element, if it has a condition."""
        reasons = sorted(self.lost.items(), key=lambda item: -item[1])
        words = {**_LOST, FALSE: f"because its condition is {variable.not_true}"} if variable is not None else _LOST
        return ", ".join(f"{number:,} {words[reason]}" for reason, number in reasons)


class FunnelLine(NamedTuple):
    """A line of the funnel. `is_needed`: without it no match is possible; `about`: what it counts."""

    text: str
    number: int
    is_needed: bool = True
    about: VariableReport | ElementReport | None = None


@dataclass(frozen=True, kw_only=True)
class ClauseReport:
    """`rows`: of the input; `filtered`: those that the query drops before the shuffle, by `filters`. `in_turn`: each
    conjunct was computed only where those before it are TRUE. `is_in_workers`: the query matches in Python workers.
    `max_steps`: of the search in one task; `seconds`: of this report, besides the query. `bounds`: the conjuncts that
    bound a match as WITHIN does. `shows_timeouts`: whether partial matches that timed out are results."""

    line: int
    column: int
    rows: int
    filtered: int
    filters: tuple[str, ...]
    variables: tuple[VariableReport, ...]
    elements: tuple[ElementReport, ...]
    funnel: Funnel
    is_contiguous: bool
    in_turn: bool
    strategy: str
    is_in_workers: bool
    max_steps: int
    limit: int | None
    seconds: float
    shows_timeouts: bool = False
    bounds: tuple[str, ...] = ()

    @property
    def results(self) -> int:
        return self.funnel.found + self.funnel.timed_out

    def as_json(self) -> dict[str, Any]:
        funnel: dict[str, Any] = {
            name: value for name, value in vars(self.funnel).items() if isinstance(value, (int, float))
        }
        funnel |= {"skipped": self.funnel.skipped, "endings": dict(self.funnel.endings)}
        return {"kind": "MATCH_RECOGNIZE", **asdict(self), "funnel": funnel, "sentence": self.sentence}

    # the funnel

    @property
    def unusable(self) -> int:
        """The number of rows that no match can use, so that they are not searched."""
        return self.rows - self.funnel.rows

    @property
    def lines(self) -> list[FunnelLine]:
        """The lines of the funnel, from the rows to the matches."""
        lines = [FunnelLine("rows read", self.rows)]
        lines += [
            FunnelLine(f"rows on which {v.name} holds", v.true, is_needed=v.is_needed, about=v)
            for v in self.variables
            if not v.is_tested
        ]
        if self.unusable:
            lines.append(FunnelLine("rows that PATTERN can use", self.funnel.rows))
        lines.append(FunnelLine("start rows tried", self.funnel.tried))
        for e in self.elements:
            optional = "" if e.at_least else ", which a match can do without"
            lines.append(
                FunnelLine(f"  that reached {e.written}{optional}", e.reached, is_needed=e.at_least > 0, about=e)
            )
            if e.enough is not None:
                lines.append(FunnelLine(f"  that reached row {e.at_least} of {e.written}", e.enough, about=e))
        return [*lines, FunnelLine("matches", self.funnel.found)]

    @property
    def first_zero(self) -> int | None:
        """The index of the first line from which on no match is possible; None if there are matches."""
        zeros = (i for i, line in enumerate(self.lines) if not line.number and line.is_needed)
        return None if self.funnel.found else next(zeros, None)

    @property
    def sentence(self) -> str:
        """What the first zero means."""
        zero = self.first_zero
        if zero is None:
            found = count(self.funnel.found, "match is", "matches are")
            return f"{found} found: look at the query around the clause if its result has fewer rows."
        line = self.lines[zero]
        if isinstance(line.about, VariableReport):
            return self._never_true(line.about)
        if isinstance(line.about, ElementReport):
            return self._not_reached(line.about)
        if not self.rows:
            return "The input has no rows: look at its relation and WHERE."
        missed = [e.written for e in self.elements if not e.reached]
        if not missed:
            return f"All elements are reached, but no match is complete: {self._most_endings()}."
        return f"No start row reached {' or '.join(missed)}, and no match is complete: {self._most_endings()}."

    def _never_true(self, variable: VariableReport) -> str:
        if variable.null == variable.total:
            why = f"its condition is NULL on all {variable.total:,} rows: compare with IS NULL, or use coalesce"
        elif variable.null:
            why = f"its condition is FALSE on {count(variable.false, 'row')} and NULL on {variable.null:,}"
        else:
            why = f"its condition is FALSE on all {variable.total:,} rows"
        worst = max(variable.conjuncts, key=lambda c: c.alone_false + c.alone_null, default=None)
        if worst is not None and len(variable.conjuncts) > 1:
            never = next((c for c in variable.conjuncts if not c.true), None)
            if never is not None:
                why += f"; {never.written} is never true"
            elif not worst.alone_false + worst.alone_null:
                why += "; each part is true on some rows, but never all on one row"
        near = next((f"; there is {c.near}" for c in variable.conjuncts if c.near), "")
        return f"No row can be {variable.name}: {why}{near}."

    def _not_reached(self, element: ElementReport) -> str:
        before = self.elements[: self.elements.index(element)]
        name = element.written
        variable = next((v for v in self.variables if v.name == element.variable), None)
        lost_by = element.lost_by(variable) or f"of all start rows {self._most_endings()}"
        if element.reached:
            found = count(element.reached, "start row")
            few = f"{found} found a first row for {name}, but none found {element.at_least}"
            if sum(element.lost.values()) == element.reached:
                return f"{few}: {lost_by}."
            return f"{few}. With those that found none: {lost_by}."
        holds = ""
        if variable is not None and not variable.is_tested:
            holds = f" It holds on {count(variable.true, 'row')}, but on none where PATTERN needs it."
        if not before:
            return f"No start row can begin with {name}.{holds}"
        refused = element.lost.get(FALSE, 0) + element.lost.get(NULL, 0)
        hint = " Write -> before it if other rows may lie between." if self.is_contiguous and holds and refused else ""
        last = next((e for e in reversed(before) if e.reached), before[-1])
        found = count(last.reached if last.enough is None else last.enough, "start row")
        return f"{found} reached {last.written}, and then no row was {name}: {lost_by}.{holds}{hint}"

    def _most_endings(self) -> str:
        endings = [(number, ending) for ending, number in self.funnel.endings.items() if ending != MATCH and number]
        return "; ".join(f"{number:,} {_ENDINGS[ending]}" for number, ending in sorted(endings, reverse=True)[:3])

    # the text

    def text(self) -> str:
        return report_text(self._start_here(), self._conditions(), self._work())

    def _start_here(self) -> Iterator[str]:
        yield self.sentence
        zero, lines = self.first_zero, self.lines
        shown = [(line.text, line.number, MARK if i == zero else "") for i, line in enumerate(lines)]
        endings = [
            (f"  {_ENDINGS[ending]}", self.funnel.endings[ending], "")
            for ending in _ENDINGS
            if self.funnel.endings[ending]
        ]
        skipped = [("rows jumped over by AFTER MATCH SKIP", self.funnel.skipped, "")]
        empty = [("  of them empty", self.funnel.empty, "")] if self.funnel.empty else []
        partial = [("partial matches that timed out", self.funnel.timed_out, "")] if self.shows_timeouts else []
        more = [shown[-1], *empty, *partial]
        yield from table([*shown[:-1], *endings, *(skipped if self.funnel.skipped else []), *more])
        if self.funnel.left_out:
            yield f"{self.funnel.left_out:,} rows were not searched: the search took all its steps before them."
        if self.limit is not None:
            yield f"LIMIT {self.limit} PARTITIONS: all numbers are of {count(self.funnel.partitions, 'partition')}."

    def _conditions(self) -> Iterator[str]:
        for written in self.bounds:
            yield f"{written}: bounds the match, as WITHIN would"
        if self.in_turn:
            yield "A part after AND is counted only on rows on which the parts before it are TRUE: elsewhere it fails."
        for v in self.variables:
            total = count(v.total, "test" if v.is_tested else "row")
            note = ", because it depends on the match" if v.is_tested else ""
            yield f"{v.name}: TRUE {v.true:,}, FALSE {v.false:,}, NULL {v.null:,} of {total}{note}"
            for c in v.conjuncts:
                if len(v.conjuncts) + len(v.dependent) > 1:
                    alone = f"alone FALSE {c.alone_false:,}, alone NULL {c.alone_null:,}"
                    yield f"  {c.written}: TRUE {c.true:,}, FALSE {c.false:,}, NULL {c.null:,}; {alone}"
                for row, values in c.examples:
                    yield f"    {row}: {values}" if row else f"    {values}"
            unshown = sum(not c.examples and c.alone_false + c.alone_null > 0 for c in v.conjuncts)
            if unshown:
                yield f"  no rows are shown of {count(unshown, 'part')} that alone refused fewer rows"
            for written in v.dependent:
                yield f"  {written}: depends on the match; EXPLAIN MATCH WHY … FOR ROW shows its values"

    def _work(self) -> Iterator[str]:
        funnel = self.funnel
        yield f"partitions: {funnel.partitions:,}, the largest has {count(funnel.largest, 'row')}"
        yield f"strategy that ran: {self.strategy}"
        if self.filters:
            yield f"rows dropped before the shuffle: {self.filtered:,}, by {' AND '.join(self.filters)}"
        if self.is_in_workers:
            yield (
                f"seconds in all tasks, in this report's pass: {funnel.spark_s:.1f} in Spark before the match, "
                f"{funnel.match_s:.1f} in the match"
            )
        yield (
            f"steps of the search for this report: {funnel.steps:,}, in the defining search (reference); each task may "
            f"take {self.max_steps:,}"
        )
        yield f"cost of this report: {self.seconds:.1f} s counting and searching"
