"""Runs a translated case on the pattern core alone: rows and masks from its events, no Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sqlext.pattern.batch.parts import part_of
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.strategy import decide, match
from sqlext.pattern.task.event_time import EventTimes, StreamFacts, first_position
from sqlext.pattern.task.skip_mode import MODES, SKIP_TO_FIRST, SKIP_TO_LAST
from sqlext.pattern.task.task import (
    Condition,
    Literal,
    MachineCall,
    Navigation,
    Operand,
    Output,
    Rows,
    Skip,
    Spans,
    Values,
)
from tests.task_harness import cep_task_of, tree_of

from .flink import Case, Clause, text_of, translate

_MODES = {mode.text: mode for mode in MODES.values()} | {"skipToFirst": SKIP_TO_FIRST, "skipToLast": SKIP_TO_LAST}


def run(case: Case, strategy: str = "auto") -> tuple[list[str], list[list]]:
    """(matches, time-outs) as the case has them, sorted."""
    clause = translate(case.calls)
    if not case.events:
        return [], []
    task, rows = task_of(clause, strategy), rows_of(clause, case.events)
    names = [clause.names[v] for v in task.program.labels]
    matches, timeouts = [], []
    for spans in match(task, rows):
        for i in range(len(spans.start)):
            mapped = range(spans.offset[i], spans.offset[i + 1])
            events = [case.events[spans.row[j]] for j in mapped]  # type: ignore[index]
            found = text_of([(names[spans.label[j]], e["id"]) for j, e in zip(mapped, events)])
            if not events:
                continue
            if spans.timed_out is not None:
                timeouts.append([events[0]["ts"] + clause.within_ms, found])
            else:
                is_named = case.title.startswith("random")
                shown = ",".join(sorted(f"{e['id']}:{e['name']}:{e['price']}" for e in events))
                matches.append(found if is_named else shown)
    return sorted(matches), sorted(timeouts)


Match = tuple[list[int], list[int]]  # rows, labels


def streamed(case: Case) -> Iterator[tuple[list[Match], list[Match]]]:
    """The matches and the time-outs that are decided, after each event and when time is over."""
    clause = translate(case.calls)
    task, rows, key = task_of(clause, "auto"), *rows_in_time(clause, case)
    for watermark in [*np.unique(key).tolist(), int(key[-1]) + (clause.within_ms or 0)]:
        n = int(np.searchsorted(key, watermark, side="right"))
        end = None if rows.end is None else rows.end[:n]
        part = replace(part_of(rows, 0, n), key=key[:n], end=end)
        found = decide(
            task, part, EventTimes(key=key[:n], watermark=watermark, end=end), first_position(part), StreamFacts()
        )
        yield matches_of([found.spans])


def is_in_order(case: Case) -> bool:
    """Return True if the events come in the order of their times."""
    _, key = rows_in_time(translate(case.calls), case)
    return bool((np.diff(key) >= 0).all())


def in_batch(case: Case) -> tuple[list[Match], list[Match]]:
    """All matches and all time-outs."""
    clause = translate(case.calls)
    return matches_of(match(task_of(clause, "auto"), rows_in_time(clause, case)[0]))


def rows_in_time(clause: Clause, case: Case) -> tuple[Rows, np.ndarray]:
    """The rows with their times, which number the matches of NO SKIP."""
    rows = rows_of(clause, case.events)
    key = rows.columns[0].values
    return replace(rows, key=key, end=None if clause.within_ms is None else key + clause.within_ms), key


def matches_of(blocks: Iterable[Spans]) -> tuple[list[Match], list[Match]]:
    """The matches, and the partial ones in any order."""
    found: tuple[list[Match], list[Match]] = ([], [])
    for b in blocks:
        assert b.row is not None
        for i in range(len(b.start)):
            at = slice(b.offset[i], b.offset[i + 1])
            is_late = b.timed_out is not None and bool(b.timed_out[i])
            found[is_late].append((b.row[at].tolist(), b.label[at].tolist()))
    return found[0], sorted(found[1])


def task_of(clause: Clause, strategy: str) -> CepTask:
    tree, labels = tree_of(clause.pattern)
    targets = tuple(i for i, v in enumerate(labels) if clause.target and clause.names[v] == clause.target)
    return cep_task_of(
        tree,
        labels,
        conditions=tuple(_gap(clause.gap_ms) if v in clause.bounded else None for v in labels),
        skip=Skip(_MODES[clause.skip], targets, else_next_row=bool(clause.target)),
        output=Output(shows_timeouts=clause.within_ms is not None),
        is_within=clause.within_ms is not None,
        strategy=strategy,
    )


def _gap(gap_ms: int | None) -> Condition:
    """LAST(ts, 1) IS NULL OR ts < LAST(ts, 1) + gap_ms"""
    last = Operand(Navigation(argument=0, offset=1), "int")
    bound = MachineCall(function="add", arguments=(last, Literal(gap_ms, "int")), kind="int")
    return MachineCall(
        function="or",
        arguments=(
            MachineCall(function="is_null", arguments=(last,), kind="bool"),
            MachineCall(function="less", arguments=(Operand(Navigation(argument=0), "int"), bound), kind="bool"),
        ),
        kind="bool",
    )


def rows_of(clause: Clause, events: list[dict[str, Any]]) -> Rows:
    """Events in list order; a match reaches to the first event that is out of its bound."""
    _, labels = tree_of(clause.pattern)
    held = np.array([[holds(clause.define[v], e) for v in labels] for e in events], bool)
    times, n = np.array([i if e["ts"] is None else e["ts"] for i, e in enumerate(events)]), len(events)
    limit = None
    if clause.within_ms is not None:
        limit = np.array(
            [next((j for j in range(i, n) if times[j] - times[i] >= clause.within_ms), n) for i in range(n)], np.int64
        )
    mask = np.packbits(held, axis=1, bitorder="little")
    return Rows(bounds=np.array([0, n]), mask=mask, limit=limit, columns=(Values(times.astype(np.int64)),))


def holds(condition: str, event: dict[str, Any]) -> bool:
    """A condition of the cases for an event.

    >>> holds("name LIKE 'f%' AND NOT (price > 3)", {"name": "foo", "price": 2.0})
    True
    """
    text = re.sub(r"name LIKE '([^']*)'", lambda m: repr(bool(_like(m[1], event["name"]))), condition)
    text = re.sub(r"(name|type) = ('[^']*')", r"(\1 == \2)", text)
    text = re.sub(r"(?<![<>])= ", "== ", re.sub(r"\bAND\b", "and", re.sub(r"\bOR\b", "or", text)))
    text = text.replace("NOT ", "not ").replace("true", "True").replace("== == ", "== ").replace("=== ", "== ")
    known = {"volume": float("nan"), "type": "Event", **event}
    return bool(eval(text, {"__builtins__": {}}, known))


def _like(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(re.escape(pattern).replace("%", ".*"), text)
