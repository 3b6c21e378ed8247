"""The first rows of a result as a notebook shows them: HTML, and text for terminals."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from io import StringIO

from pyspark.sql import DataFrame
from rich.console import Console

from sqlext.engine.stream.endless import check_ends
from sqlext.results import TERMINAL_LIMIT, Cells, is_numeric, more_rows, read_cells, text_table

_WIDTH = 160  # of the text form, in characters
STYLE = """<style>
.sqlext table { border-collapse: collapse; border: none; font-size: 12px; margin: 4px 0 2px 0; }
.sqlext th, .sqlext td { border: none; padding: 3px 10px; text-align: left; vertical-align: top; }
.sqlext td { white-space: pre-wrap; }
.sqlext thead th { border-bottom: 1px solid currentColor; font-weight: bold; }
.sqlext tbody tr:nth-child(even) { background: rgba(128, 128, 128, 0.08); }
.sqlext .number { text-align: right; font-variant-numeric: tabular-nums; }
.sqlext .null, .sqlext .note { opacity: 0.55; font-style: italic; }
.sqlext .note { font-size: 12px; }
</style>"""


@dataclass(frozen=True)
class ShownTable:
    """The first rows of a result; the rows are read when it is created."""

    frame: DataFrame
    rows: list[Cells]
    limit: int

    @property
    def note(self) -> str:
        """What is written below the rows."""
        count = len(self.rows)
        return more_rows(self.limit) if count > self.limit else "1 row" if count == 1 else f"{count} rows"

    def _repr_html_(self) -> str:
        kinds = ["number" if is_numeric(kind) else "text" for _, kind in self.frame.dtypes]
        head = "".join(f'<th class="{kind}">{escape(name)}</th>' for name, kind in zip(self.frame.columns, kinds))
        body = "\n".join(f"<tr>{_html_cells(row, kinds)}</tr>" for row in self.rows[: self.limit])
        table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        return f'<div class="sqlext">{STYLE}\n{table}\n<div class="note">{escape(self.note)}</div></div>'

    def __repr__(self) -> str:
        out = StringIO()
        console = Console(file=out, width=_WIDTH)
        console.print(text_table(self.frame, self.rows[: self.limit]))
        console.print(self.note, highlight=False)
        return out.getvalue().rstrip()


def _html_cells(row: Cells, kinds: list[str]) -> str:
    return "".join(
        f'<td class="{kind} null">NULL</td>' if cell is None else f'<td class="{kind}">{escape(cell)}</td>'
        for cell, kind in zip(row, kinds)
    )


def shown_table(frame: DataFrame, limit: int | None = None) -> ShownTable:
    """Read at most `limit` rows of a result (None: 100). Raises UnsupportedError for a stream."""
    check_ends(frame)
    limit = TERMINAL_LIMIT if limit is None else limit
    return ShownTable(frame, read_cells(frame, limit), limit)
