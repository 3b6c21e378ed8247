"""Runs the SQL of a cell: its statements, with the values of widgets and Python variables, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

from sqlext.errors import SqlExtError, UnsupportedError
from sqlext.notebooks.cell_values import arguments, in_cell, with_texts
from sqlext.notebooks.theme import Note, Report
from sqlext.notebooks.widgets import Widgets, WidgetStatement, parse_widget_statement
from sqlext.rewriter.statements.explain_statement import WhyStatement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.statements.sql_file import file_statements
from sqlext.rewriter.text.fragments import alone
from sqlext.sessions.explain import explain

T = TypeVar("T")
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")  # as in spark.sql(text, **frames)


@dataclass(frozen=True)
class CellRunner:
    """The context that the statements of a notebook share: its session, widgets and Python variables."""

    spark: SparkSession
    widgets: Widgets
    variables: Mapping[str, Any]

    def run(self, cell: str) -> Iterator[DataFrame]:
        """The results of the statements of a cell, each as soon as its statement has run.

        Raises SqlExtError with its place in the cell, and Spark's own errors with lines of the cell.
        """
        return self._each(cell, self._run)

    def explain(self, cell: str) -> Iterator[str]:
        """The explanation of how each statement of a cell would run. Raises the errors of `run`."""
        return self._each(cell, self._explain)

    def why(self, cell: str) -> Iterator[Any]:
        """For each statement of a cell, where its rows are lost, or the answer of EXPLAIN MATCH WHY, and its drawing.

        Raises the errors of `run`, and UnsupportedError (NOT_ANALYZED).
        """
        return self._each(cell, self._why)

    def draw(self, cell: str) -> list[Any]:
        """The drawings of the statements of a cell that have a MATCH_RECOGNIZE.

        Raises the errors of `run`, and UnsupportedError (DRAWING) if there is no such statement.
        """
        drawings = list(self._each(cell, self._draw))
        if not drawings:
            raise UnsupportedError(
                "DRAWING",
                "there is no MATCH_RECOGNIZE to draw",
                hint="--draw draws the matches of a MATCH_RECOGNIZE over time.",
            )
        return drawings

    def _each(self, cell: str, step: Callable[[str], Iterator[T]]) -> Iterator[T]:
        """The values that `step` yields for each statement, which is passed with the lines and columns that it has in
        the cell."""
        for piece in file_statements(cell):
            statement = with_texts(alone(cell, piece.start, piece.stop), self.widgets)
            try:
                yield from step(str(statement))
            except SqlExtError as error:
                raise in_cell(error, statement, cell) from None

    def _run(self, statement: str) -> Iterator[DataFrame]:
        widget = parse_widget_statement(statement)
        if widget is None:
            yield self.spark.sql(statement, self._arguments(statement), **self._frames(statement))
        else:
            self._about_widget(widget)

    def _explain(self, statement: str) -> Iterator[str]:
        if parse_widget_statement(statement) is None:
            yield explain(statement, self._arguments(statement), spark=self.spark, **self._frames(statement))

    def _draw(self, statement: str) -> Iterator[Any]:
        from sqlext.notebooks.draw_matches import draw_matches  # matplotlib takes half a second to load

        drawing = draw_matches(self.spark, statement, self._arguments(statement), **self._frames(statement))
        if drawing is not None:
            yield drawing

    def _why(self, statement: str) -> Iterator[Any]:
        from sqlext.notebooks.draw_matches import draw_matches  # matplotlib takes half a second to load

        if parse_widget_statement(statement) is not None:
            return
        arguments, read = self._arguments(statement), read_statement(statement)
        frames = self._frames(statement)
        if isinstance(read, WhyStatement):
            query = read.query.text
            yield Report("\n".join(row[0] for row in self.spark.sql(statement, arguments, **frames).collect()))
        else:
            query = statement
            yield Report(explain(statement, arguments, spark=self.spark, analyze=True, **frames))
        try:
            drawing = draw_matches(self.spark, query, arguments, **frames)
        except UnsupportedError as error:
            yield Note(error.message)
        else:
            yield from [drawing] if drawing is not None else []

    def _arguments(self, statement: str) -> dict[str, Any] | None:
        return arguments(statement, self.widgets, self.variables) or None

    def _frames(self, statement: str) -> dict[str, Any]:
        """The DataFrames of the notebook that a statement reads as `{name}`."""
        values = {name: self.variables.get(name) for name in _FIELD.findall(statement)}
        return {name: value for name, value in values.items() if isinstance(value, DataFrame)}

    def _about_widget(self, statement: WidgetStatement) -> None:
        if statement.kind is None:
            self.widgets.remove(statement.name)
            return
        choices: list[Any] = []
        if statement.choices is not None:
            choices = [row[0] for row in self.spark.sql(statement.choices.text).collect()]
        self.widgets.create(statement.kind, statement.name, statement.default, choices)
