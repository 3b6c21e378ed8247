"""Which firings see a row, and the counts of EXPLAIN MATCH ANALYZE, against the model."""

from __future__ import annotations

from collections import Counter

import pytest

from sqlext.operators.emit import trace as t
from sqlext.operators.emit.trace import trace

from .model import FOREVER, OURS, answer, windows_of
from .test_model import CASES
from .test_step import plan_of, table

BY_EVENTS = [case for case in CASES if not {"every_proc", "delay_proc"} & {kind for kind, *_ in case["triggers"]}]


def in_batch(case: dict) -> dict:
    """The case with all rows in one micro-batch."""
    rows = [step for step in case["script"] if step[0] == "row"]
    return {**case, "lateness": 0, "script": [*rows, ["watermark", FOREVER]]}


def window_key(case: dict, key: str, start: int | None, end: int | None) -> tuple:
    """A session is known by its start, because its early firings do not know its end."""
    kind = case["assigner"][0]
    return key, *((None, None) if kind == "global" else (start, None if kind == "session" else end))


@pytest.mark.random(every=5)
@pytest.mark.parametrize("part", range(10))
def test_a_firing_sees_the_rows_that_the_model_gives_it(part):
    seen = 0
    for case in map(in_batch, BY_EVENTS[part::10]):
        result = answer(case, OURS)
        rows = [x for what, *x in case["script"] if what == "row"]
        if result["error"] or not rows:
            continue
        found = trace(table(rows), plan_of(case, keeps_rows=True))
        theirs: dict[tuple, list[int]] = {}
        for firing in result["firings"]:
            window = window_key(case, firing["key"], firing["start"], firing["end"])
            theirs[(*window, firing["firing"], firing["timing"], firing["time"])] = sorted(firing["ids"])
        ours: dict[tuple, list[int]] = {}
        for row, (key, *_, number) in enumerate(rows):
            for pane in found.windows_of(row):
                assert 1 <= pane.position <= pane.size
                window = window_key(case, key, pane.start, pane.end)
                for firing in pane.firings:
                    ids = ours.setdefault((*window, firing.number, firing.timing, firing.time), [])
                    ids += [number] if firing.verdict == t.SEES else []
        assert {window: sorted(ids) for window, ids in ours.items()} == theirs, case
        seen += len(theirs)
        counts = found.counts()
        timings = Counter(firing["timing"] for firing in result["firings"])
        assert (counts["early"], counts["on_time"]) == (timings["EARLY"], timings["ON_TIME"])
        if case["assigner"][0] != "session":
            windows = [(key, *window) for key, ts, *_ in rows for window in windows_of(case["assigner"], ts)]
            assert counts["in_windows"] == len(windows)
            assert counts["windows"] == len(set(windows))
            assert counts["largest"] == max(Counter(windows).values(), default=0)
            assert counts["outside"] == sum(not windows_of(case["assigner"], ts) for _, ts, *_ in rows)
        sees = {(*window[:3], number) for window, ids in theirs.items() for number in ids}
        assert counts["never_seen"] == counts["in_windows"] - len(sees)
    assert seen
