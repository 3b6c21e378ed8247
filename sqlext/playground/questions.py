"""The questions of the page, each a function of a table and a question in JSON to an answer in JSON."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sqlext.engine.why.computed_columns import ComputedColumns
from sqlext.engine.why.explain_row import PartitionWhy
from sqlext.engine.why.why_clause import PartitionRows
from sqlext.error_pages import page
from sqlext.errors import BindError, SqlExtError
from sqlext.expressions.effort import at_most
from sqlext.formatting.function_records import OF_SPARK, function_records
from sqlext.formatting.keywords import phrases
from sqlext.operators.rows.arrow import as_arrow
from sqlext.pattern.why.row_search import Budget
from sqlext.playground.answer import Json, answer, errors_of
from sqlext.playground.budget import MOST_WORK, WorkBudget, too_much_work
from sqlext.playground.clause_edits import with_control
from sqlext.playground.lessons import Lesson, lessons
from sqlext.playground.python_view import python_view
from sqlext.playground.rows_search import KnownTruth, RowsSearch
from sqlext.playground.search_steps import search_steps
from sqlext.playground.statement import read_statement
from sqlext.playground.stream import at_watermark
from sqlext.playground.stream import refusal as stream_refusal
from sqlext.playground.table import Table
from sqlext.rewriter.text.names import quoted_if_needed
from sqlext.rewriter.text.tokens import SPARK_KEYWORDS

MOST_CHARACTERS = 20_000  # of a statement
_WHY_STEPS = 200_000
_OWN = "own"  # the name of the table that the command line gave


@dataclass(kw_only=True)
class Playground:
    """The lessons and perhaps a table of one's own, `own`, with its first statement. `first`: which lesson is shown
    first, 0 for one's own table. `budget` makes the budget of each search."""

    own: Table | None = None
    first: int = 1
    budget: Callable[[], WorkBudget] = WorkBudget
    _tables: dict[str, Table] = field(default_factory=dict)
    _known: defaultdict[str, KnownTruth] = field(default_factory=lambda: defaultdict(KnownTruth))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, question: str, asked: Json) -> Json:
        """The answer to a question. Errors of the statement are in `errors`.

        >>> Playground().ask("answer", {"table": "1", "text": "SELECT 1"})["errors"][0]["class"]
        'SQLEXT_PLAYGROUND_STATEMENT'

        Raises BindError: PLAYGROUND_QUESTION, for a question that the page does not ask.
        """
        if question not in _QUESTIONS:
            raise _unknown(f"there is no question {question[:40]}")
        # one after the other: they share what is known, the meter of work, and one processor
        with self._lock, at_most(MOST_WORK) as is_spent:
            answered = self._answered(question, asked)
            return {"errors": errors_of(too_much_work(), "")} if is_spent() else answered

    def take(self, content: bytes, file_name: str) -> Json:
        """Take the rows of a file's content, or of pasted text, in the place of one's own table. Errors are in
        `errors`."""
        from sqlext.playground.read_file import file_table  # for a file only

        try:
            own = file_table(content, file_name)
        except SqlExtError as error:
            return {"errors": errors_of(error, "")}
        with self._lock:
            self.own = own
            self._tables.pop(_OWN, None)
            self._known.pop(_OWN, None)
            return {"own": _source(own)}

    def _answered(self, question: str, asked: Json) -> Json:
        try:
            return _QUESTIONS[question](self, asked)
        except SqlExtError as error:
            if error.error_class == "SQLEXT_PLAYGROUND_QUESTION":
                raise
            return {"errors": errors_of(error, str(asked.get("text")))}

    def table(self, asked: Json) -> Table:
        name = _text(asked, "table")
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    def _read(self, name: str) -> Table:
        if name == _OWN and self.own is not None:
            return self.own
        for lesson in lessons():
            if str(lesson.number) == name:
                return lesson.table
        raise _unknown("there is no such table")

    def search(self, asked: Json) -> RowsSearch:
        statement = read_statement(_statement(asked), self.table(asked))
        return RowsSearch(statement=statement, budget=self.budget(), known=self._known[asked["table"]])

    # questions

    def begin(self, asked: Json) -> Json:
        own = self.own
        return {
            "lessons": [lesson.as_json() | {"view": python_view(lesson.table)} for lesson in lessons()],
            "own": None if own is None else _source(own),
            "first": _OWN if own is not None and not self.first else str(self.first or 1),
            "keywords": sorted({word for phrase in phrases() for word in phrase.split()} | set(SPARK_KEYWORDS)),
            "functions": _functions(),
        }

    def rows(self, asked: Json) -> Json:
        return self.table(asked).as_json()

    def answer(self, asked: Json) -> Json:
        """The answer to the text, and whether it solves the lesson."""
        table, text = self.table(asked), _statement(asked)
        found = answer(text, table, self._known[asked["table"]], self.budget())
        lesson = next((lesson for lesson in lessons() if str(lesson.number) == asked["table"]), None)
        if lesson is not None:
            found["passed"] = "matches" in found and self._passes(found, lesson, table)
        return found

    def _passes(self, found: Json, lesson: Lesson, table: Table) -> bool:
        solution = answer(lesson.solution, table, self._known[str(lesson.number)], self.budget())
        return _matched_rows(found) == _matched_rows(solution)

    def steps(self, asked: Json) -> Json:
        return search_steps(self.search(asked))

    def stream(self, asked: Json) -> Json:
        search, watermark = self.search(asked), asked.get("watermark")
        if watermark is not None and not isinstance(watermark, (int, float)):
            raise _unknown("the watermark is no number")
        refused = stream_refusal(search)
        return {"refusal": refused} if refused else at_watermark(search, watermark)

    def edit(self, asked: Json) -> Json:
        statement = read_statement(_statement(asked), self.table(asked))
        return {"text": with_control(statement.clause, _text(asked, "control"), _text(asked, "value"))}

    def why(self, asked: Json) -> Json:
        """The lines about a row of the table."""
        search, row = self.search(asked), asked.get("row")
        if not isinstance(row, int) or not 0 <= row < search.statement.table.rows:
            raise _unknown("there is no such row")
        rows = np.flatnonzero(search.codes == search.codes[row])
        table = search.statement.table
        columns = {name: column.take(as_arrow(rows)) for name, column in table.columns.items()}
        partition = PartitionRows(
            columns=ComputedColumns(search.statement.binder, columns, len(rows)),
            sort=search.sort,
            keys=len(search.plan.clause.order_by),
            is_chosen=rows == row,
            total=len(rows),
        )
        why = PartitionWhy(
            clause=search.statement.why,
            plan=search.plan,
            partition=partition,
            budget=Budget(_WHY_STEPS, _WHY_STEPS // 4),
        )
        (chosen,) = why.chosen()
        return {"row": row, "head": ", ".join(why.keys(chosen)), "number": chosen + 1, "lines": why.lines(chosen)}

    def page(self, asked: Json) -> Json:
        """The page of the documentation about an error."""
        text = page(_text(asked, "name"))
        if text is None:
            raise _unknown("there is no such error")
        return {"page": text}


_QUESTIONS: dict[str, Callable[[Playground, Json], Json]] = {
    "begin": Playground.begin,
    "rows": Playground.rows,
    "answer": Playground.answer,
    "steps": Playground.steps,
    "stream": Playground.stream,
    "edit": Playground.edit,
    "why": Playground.why,
    "page": Playground.page,
}


def _source(own: Table) -> Json:
    """What the page knows of one's own table before its rows."""
    return {"name": own.name, "statement": first_statement(own), "view": python_view(own)}


def _functions() -> list[Json]:
    """What the page proposes while one types: functions that it computes, by name."""
    records = sorted((r for r in function_records() if r.is_call and r.section != OF_SPARK), key=lambda r: r.name)
    return [
        {"name": r.name, "form": r.form, "says": r.description, "example": f"{r.example} → {r.result}"} for r in records
    ]


def _matched_rows(found: Json) -> list[list[int]]:
    """The rows of the table in each match."""
    order = found["order"]
    return sorted([order[row] for row in match["rows"]] for match in found["matches"])


def first_statement(table: Table) -> str:
    """A statement to begin with: rows whose first number grows, in the order of the first time or else column."""
    columns = table.as_json()["columns"]
    times = [c["name"] for c in columns if c["is_time"]] or [c["name"] for c in columns]
    values = [c["name"] for c in columns if c["numbers"] is not None and not c["is_time"] and c["name"] != times[0]]
    order, value = (quoted_if_needed(names[0]) for names in (times, values or times))
    return (
        f"SELECT * FROM {table.name} MATCH_RECOGNIZE (\n  ORDER BY {order}\n  MEASURES FIRST({order}) AS begins, "
        f"LAST({order}) AS ends\n  PATTERN (low up+)\n  DEFINE up AS {value} > PREV({value})\n)"
    )


def _statement(asked: Json) -> str:
    text = _text(asked, "text")
    if len(text) > MOST_CHARACTERS:
        raise _unknown(f"a statement of more than {MOST_CHARACTERS:,} characters is too long for this page")
    return text


def _text(asked: Json, name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str):
        raise _unknown(f"{name} is missing")
    return value


def _unknown(message: str) -> BindError:
    return BindError("PLAYGROUND_QUESTION", message, hint="reload the page.")
