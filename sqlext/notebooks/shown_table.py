"""The first rows of a result as a notebook shows them: HTML, and text for terminals."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from sqlext.engine.streams.streaming_tables import check_ends
from sqlext.expressions.spark_types import is_numeric
from sqlext.notebooks.html_table import html_table
from sqlext.notebooks.theme import Report
from sqlext.sessions.results import TERMINAL_LIMIT, read_cells, rows_note
from sqlext.sessions.text_tables import Cells, text_lines

_WIDTH = 160  # the width of the text form, in characters


@dataclass(frozen=True)
class ShownTable:
    """The first rows of a result; the rows are read when it is created."""

    frame: DataFrame
    rows: list[Cells]
    limit: int

    @property
    def note(self) -> str:
        """The line that is written below the rows."""
        return rows_note(len(self.rows), self.limit)

    def _repr_html_(self) -> str:
        report = self._report()
        if report is not None:
            return Report(report)._repr_html_()
        columns = [(name, is_numeric(kind)) for name, kind in self.frame.dtypes]
        return html_table(columns, self.rows[: self.limit], self.note)

    def _report(self) -> str | None:
        """The text, if the result is one text of several lines, as that of EXPLAIN MATCH; otherwise None."""
        cells = [cell for row in self.rows for cell in row]
        return cells[0] if len(cells) == 1 and cells[0] is not None and "\n" in cells[0] else None

    def __repr__(self) -> str:
        lines = text_lines(self.frame.dtypes, self.rows[: self.limit], _WIDTH)
        return "\n".join([*(line.plain for line in lines), self.note])


def shown_table(frame: DataFrame, limit: int | None = None) -> ShownTable:
    """Read at most `limit` rows of a result (None: 100). Raises UnsupportedError for a stream."""
    check_ends(frame)
    limit = TERMINAL_LIMIT if limit is None else limit
    return ShownTable(frame, read_cells(frame, limit), limit)
