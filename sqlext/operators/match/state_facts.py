"""The state of MATCH_RECOGNIZE for one key, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlext.operators.match.open_matches import MAX_OPEN, KeptKey, OpenMatch
from sqlext.operators.stateful.fact import PARTIAL, POSITION, ROW, Fact, ShowTime, row_text

MAX_ROWS = 100  # rows that are described


def match_facts(kept: KeptKey, names: Mapping[str, str], show: ShowTime) -> Iterator[Fact]:
    """The facts: the rows, the search position, the partial matches. `names`: the columns that are shown of a row."""
    n = kept.table.num_rows
    for i in range(min(n, MAX_ROWS)):
        about = [row_text(kept.table, i, names), *_conditions(kept, i), fate(kept, i, show)]
        yield Fact(ROW, int(kept.time[i]), "; ".join(about))
    if n > MAX_ROWS:
        yield Fact(ROW, None, f"{n - MAX_ROWS:,} further rows are kept")
    yield _position(kept)
    for match in kept.open:
        yield Fact(PARTIAL, int(kept.time[match.rows[0][0]]), partial_text(match, kept, show))
    if kept.is_cut:
        many = f"the first {MAX_OPEN} partial matches" if len(kept.open) == MAX_OPEN else "some partial matches"
        yield Fact(PARTIAL, None, f"there are more than these: only {many} were looked for")


def _conditions(kept: KeptKey, i: int) -> list[str]:
    names = kept.satisfied[i]
    return [f"by itself it may be {', '.join(names)}"] if names else ["by itself it may be no variable"]


def fate(kept: KeptKey, i: int, show: ShowTime) -> str:
    """What becomes of a row."""
    later = kept.later[i]
    if i < kept.start:
        return "decided: it is kept because conditions or measures of later rows may read it"
    waits = "" if i < kept.passed else "the watermark has not passed it, "
    if i < kept.matched_end:
        waits += "it is in an earlier match, "
    if later is not None:
        name, number, time, is_first = later
        taken = "" if is_first or not kept.skips_past else "; AFTER MATCH SKIP lets no match begin here"
        return f"{waits}it is {name} of match {number} at {show(time)}, if no further row comes{taken}"
    if i < kept.decided:
        return f"{waits}it is in no further match, if no further row comes"
    return f"{waits}undecided: a further row decides it"


def _position(kept: KeptKey) -> Fact:
    next_match = f"the next match is number {kept.number}"
    if kept.start >= kept.passed:
        return Fact(POSITION, None, f"all rows that have passed the watermark are decided; {next_match}")
    undecided = f"the search waits at this row: earlier start rows are decided; {next_match}"
    ahead = "" if kept.unknown is None else "; NEXT in a condition reads rows that are still to come"
    return Fact(POSITION, int(kept.time[kept.start]), undecided + ahead)


def partial_text(match: OpenMatch, kept: KeptKey, show: ShowTime) -> str:
    """A partial match in words."""
    path = " ".join(f"{name} ({show(int(kept.time[row]))})" for row, name in match.rows)
    whole = ", a match unless a later row makes a preferred one," if match.is_match else ""
    end = "" if match.end is None else f"; WITHIN ends it when the watermark reaches {show(match.end)}"
    return f"{path}{whole} waits for {' or '.join(match.waits)}{end}"
