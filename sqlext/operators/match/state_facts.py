"""The state of MATCH_RECOGNIZE for one key, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from sqlext.operators.match.open_matches import MAX_OPEN, KeptKey, Mapped, OpenMatch
from sqlext.operators.stateful.fact import (
    MAX_ROWS,
    NO_MATCH,
    PARTIAL,
    POSITION,
    ROW,
    Fact,
    RowTexts,
    ShowTime,
    further_rows,
)
from sqlext.pattern.batch.recorder import MATCH, PARTITION_END, Stop
from sqlext.pattern.batch.recorder import Mapped as Path
from sqlext.pattern.why.reasons import why_refused
from sqlext.pattern.why.row_search import Closest

WAITS = "the watermark has not passed it, "
# returns a sentence for each conjunct that keeps a partial match (its path and a stop) from going on
Failed = Callable[[KeptKey, Path, Stop], Iterable[str]]


def match_facts(kept: KeptKey, texts: RowTexts, failed: Failed, show: ShowTime) -> Iterator[Fact]:
    """The facts about the rows, then the facts of `search_facts`."""
    for i, text in enumerate(texts(kept.table.slice(0, MAX_ROWS))):
        yield Fact(ROW, int(kept.time[i]), "; ".join([text, *_conditions(kept, i), fate(kept, i, show)]))
    yield from further_rows(kept.table.num_rows)
    yield from search_facts(kept, failed, show)


def by_text(conditions: Mapping[str, str]) -> Failed:
    """Says of the whole condition of a variable, whose texts these are, that it does not hold."""

    def failed(kept: KeptKey, path: Path, stop: Stop) -> list[str]:
        name = "" if stop.label is None else kept.labels[stop.label]
        return [f"{conditions.get(name, 'its condition')} is not true"]

    return failed


def search_facts(kept: KeptKey, failed: Failed, show: ShowTime) -> Iterator[Fact]:
    """The search position, the partial matches, and why rows are in no match."""
    yield _position(kept)
    for match in kept.open:
        yield Fact(PARTIAL, int(kept.time[match.rows[0][0]]), partial_text(match, kept, show))
    if kept.is_cut:
        many = f"the first {MAX_OPEN} partial matches" if len(kept.open) == MAX_OPEN else "some partial matches"
        yield Fact(PARTIAL, None, f"there are more than these: only {many} were looked for")
    yield from _no_matches(kept, failed, show)


def _no_matches(kept: KeptKey, failed: Failed, show: ShowTime) -> Iterator[Fact]:
    """Why rows are in no match; a reason of several rows is written once, if its time says of which row it is."""
    texts = [(int(kept.time[row]), no_match(kept, row, failed, show)) for row in kept.refused]
    at_time = Counter(time for time, _ in set(texts))
    first: dict[str, int] = {}
    for time, text in texts:
        before = first.setdefault(text, time)
        is_new = before == time or at_time[before] > 1
        yield Fact(NO_MATCH, time, text if is_new else f"for the same reason as the row of {show(before)}")


def _conditions(kept: KeptKey, i: int) -> list[str]:
    names = kept.satisfied[i]
    return [f"by itself it may be {', '.join(names)}"] if names else ["by itself it may be no variable"]


def fate(kept: KeptKey, i: int, show: ShowTime) -> str:
    """What becomes of a row."""
    later, partial = kept.later[i], kept.timed_out[i]
    if i < kept.start:
        return "decided: it is kept because conditions or measures of later rows may read it"
    waits = "" if i < kept.passed else WAITS
    if i < kept.matched_end:
        waits += "it is in an earlier match, "
    if later is not None:
        name, number, time, is_first = later
        taken = "" if is_first or not kept.skips_past else "; AFTER MATCH SKIP lets no match begin here"
        return f"{waits}it is {name} of match {number} at {show(time)}, if no further row comes{taken}"
    if partial is not None:
        return f"{waits}{_partial(partial, show)}, if no further row comes"
    if i < kept.decided:
        return f"{waits}it is in no further match, if no further row comes"
    return f"{waits}undecided: a further row decides it"


def _partial(mapped: Mapped, show: ShowTime) -> str:
    """What becomes of a row in a partial match whose time will be over."""
    return f"it is {mapped.variable} of a partial match that SHOW TIMEOUT MATCHES shows at {show(mapped.time)}"


def _position(kept: KeptKey) -> Fact:
    next_match = f"the next match is number {kept.number}"
    if kept.start >= kept.passed:
        return Fact(POSITION, None, f"all rows that have passed the watermark are decided; {next_match}")
    undecided = f"the search waits at this row: earlier start rows are decided; {next_match}"
    ahead = "" if kept.unknown is None else "; NEXT in a condition reads rows that are still to come"
    return Fact(POSITION, int(kept.time[kept.start]), undecided + ahead)


def partial_text(match: OpenMatch, kept: KeptKey, show: ShowTime) -> str:
    """A partial match in words."""
    path = _path(kept, match.rows, show)
    whole = ", a match unless a later row makes a preferred one," if match.is_match else ""
    end = "" if match.end is None else f"; WITHIN ends it when the watermark reaches {show(match.end)}"
    return f"{path}{whole} waits for {' or '.join(match.waits)}{end}"


def _path(kept: KeptKey, rows: Iterable[tuple[int, str]], show: ShowTime) -> str:
    return " ".join(f"{name} ({show(int(kept.time[row]))})" for row, name in rows)


def no_match(kept: KeptKey, row: int, failed: Failed, show: ShowTime) -> str:
    """The reason why a row is in no match if no further row comes, by the partial match that came closest to one."""
    near = kept.refused[row]
    path = _path(kept, _named(kept, near.path), show)
    if any(stop.reason == MATCH for stop in near.stops):
        taker = kept.later[near.start]
        if taker is not None and not taker.is_first and kept.skips_past:
            return f"{path} would be a match, but AFTER MATCH SKIP lets none begin in match {taker.number}"
        return f"{path} would be a match, but PATTERN prefers another one"
    begun = f"the closest is {path}" if path else "none can begin at it"
    unsure = "" if near.is_complete else ", though not all ways were tried"
    stops = sorted(near.stops, key=lambda stop: stop.row != row)
    reasons = dict.fromkeys(_reason(kept, near, stop, failed, show) for stop in stops)
    partial = kept.timed_out[row]
    what = "it is in no match" if partial is None else f"{_partial(partial, show)}, and in no match"
    return f"{what}, if no further row comes: {begun}{unsure}; {'; '.join(list(reasons)[:2])}"


def _named(kept: KeptKey, mapped: Path) -> list[tuple[int, str]]:
    return [(row, kept.labels[label]) for row, label in mapped]


def _reason(kept: KeptKey, near: Closest, stop: Stop, failed: Failed, show: ShowTime) -> str:
    """The reason why the closest partial match could not go on."""
    name = "" if stop.label is None else kept.labels[stop.label]
    if stop.reason == PARTITION_END or stop.row >= len(kept.time):
        return f"no row came for {name}"
    row = f"the row of {show(int(kept.time[stop.row]))}"
    late = "" if kept.end is None else f", which ended at {show(int(kept.end[near.start]))}"
    return why_refused(stop, name, row, failed(kept, near.path, stop), late)
