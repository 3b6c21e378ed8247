"""What the page shows of a statement, as values of JSON: its errors, or its matches, near misses and conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlext.errors import SqlExtError, SqlExtErrors
from sqlext.pattern.batch.recorder import Attempt, Step
from sqlext.pattern.task.task import Spans
from sqlext.pattern.why.row_search import lacks_one_row, rows_missing
from sqlext.playground.automaton import automaton_of
from sqlext.playground.budget import WorkBudget
from sqlext.playground.clause_edits import controls_of
from sqlext.playground.result_rows import result_rows
from sqlext.playground.rows_search import BudgetedRecorder, KnownTruth, RowsSearch
from sqlext.playground.statement import read_statement
from sqlext.playground.stream import refusal
from sqlext.playground.table import Table

Json = dict[str, Any]
_SHOWN = "ftn"  # FALSE, TRUE, NULL


def answer(text: str, table: Table, known: KnownTruth, budget: WorkBudget) -> Json:
    """The answer to a text. Errors of the text are part of it; no error is raised.

    >>> import pyarrow as pa
    >>> columns = {"i": pa.array([1, 2, 3], pa.int32()), "v": pa.array([2, 1, 3], pa.int32())}
    >>> rows = Table(name="t", types={"i": "int", "v": "int"}, columns=columns)
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i PATTERN (A B) DEFINE B AS v > PREV(v))"
    >>> found = answer(text, rows, KnownTruth(), WorkBudget())
    >>> found["matches"], found["truth"]
    ([{'start': 1, 'number': 1, 'rows': [1, 2], 'labels': [0, 1]}], ['ttt', 'nft'])
    """
    try:
        return _found(RowsSearch(statement=read_statement(text, table), budget=budget, known=known))
    except SqlExtError as error:
        return {"errors": errors_of(error, text)}
    except RecursionError:
        return {"errors": [error_of("", "the statement is nested too deep")]}


def errors_of(error: SqlExtError, text: str) -> list[Json]:
    """The errors, each with the characters of the text that it is about; without a place it is about none."""
    several = error.errors if isinstance(error, SqlExtErrors) else [error]
    return [error_of(e.error_class, e.message, e.hint, *_place(e, text)) for e in several]


def error_of(
    name: str, message: str, hint: str | None = None, start: int | None = None, stop: int | None = None
) -> Json:
    """An error as the page shows it; `name` is empty if it is none of sqlext."""
    return {"class": name, "message": message, "hint": hint, "start": start, "stop": stop}


def _place(error: SqlExtError, text: str) -> tuple[int | None, int | None]:
    if error.place is None or error.place.text != text:
        return None, None
    return error.place.start, max(error.place.stop, error.place.start + 1)


def _found(search: RowsSearch) -> Json:
    plan = search.plan
    near: list[Attempt] = []
    least = rows_missing(plan.task.program)
    recorder = _Tests(lambda attempt: near.append(attempt) if lacks_one_row(attempt, least) else None)
    spans = search.run(recorder)
    clause, matches = plan.clause, [match for block in spans for match in _matches(block)]
    return {
        "order": search.order.tolist(),
        "bounds": search.rows.bounds.tolist(),
        "variables": [name.text for name in clause.pattern_variables],
        "truth": _truths(search, recorder, matches),
        "conjuncts": [_conjuncts(search, label) for label in range(len(search.truths))],
        "matches": matches,
        "near": [_near(attempt) for attempt in near],
        "failure": next((_failed_skip(block) for block in spans if block.failure is not None), None),
        "automaton": automaton_of(clause),
        "controls": controls_of(clause),
        "time": clause.order_by[0].expression.text.strip("`") if clause.order_by else None,
        "keys": [str(key).strip("`") for key in plan.partition_by],
        "words": clause.whole.text[clause.whole.text.upper().rfind("DEFINE") :] if clause.definitions else "",
        "stream": refusal(search),
        "result": result_rows(search, spans),
    }


class _Tests(BudgetedRecorder):
    """Keeps how the last test of each label on each row ended, as _SHOWN writes it."""

    def __init__(self, consume: Callable[[Attempt], None]):
        super().__init__(consume)
        self.tested: dict[tuple[int, int], str] = {}

    def test(self, step: Step, label: int, row: int, depth: int, *, verdict: bool | None, is_stop: bool = True) -> None:
        super().test(step, label, row, depth, verdict=verdict, is_stop=is_stop)
        self.tested[label, row] = "n" if verdict is None else "t" if verdict else "f"


def _truths(search: RowsSearch, tests: _Tests, matches: list[Json]) -> list[str]:
    """The truth of each variable on each row. Where it depends on the match: in the match, or else when the search
    tested the row last; "u" where it did not."""
    shown = []
    for label, truth in enumerate(search.truths):
        values = [_SHOWN[value] for value in truth.tolist()]
        if search.depends(label):
            values = [tests.tested.get((label, row), "f" if value == "f" else "u") for row, value in enumerate(values)]
            for match in matches:
                for row, taken in zip(match["rows"], match["labels"]):
                    if taken == label:
                        values[row] = "t"
        shown.append("".join(values))
    return shown


def _conjuncts(search: RowsSearch, label: int) -> list[Json]:
    """The conjuncts of a variable with their truth, None where it depends on the match."""
    return [
        {"text": text, "truth": None if truth is None else "".join(_SHOWN[value] for value in truth.tolist())}
        for text, truth in search.conjuncts(label)
    ]


def _matches(spans: Spans) -> list[Json]:
    """The matches of a block: their rows and the label of each of them."""
    found, mapped = [], spans.mapped.tolist()
    for i, (start, number) in enumerate(zip(spans.start.tolist(), spans.number.tolist())):
        lo, hi = int(spans.offset[i]), int(spans.offset[i + 1])
        if spans.timed_out is not None and spans.timed_out[i]:
            continue
        found.append({"start": start, "number": number, "rows": mapped[lo:hi], "labels": spans.label[lo:hi].tolist()})
    return found


def _failed_skip(spans: Spans) -> str:
    assert spans.failure is not None
    return f"AFTER MATCH SKIP has no row to go to after match {spans.failure.number} ({spans.failure.reason})."


def _near(attempt: Attempt) -> Json:
    rows, labels = ([pair[i] for pair in attempt.furthest] for i in (0, 1))
    return {"rows": rows, "labels": labels}
