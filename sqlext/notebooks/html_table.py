"""A table as HTML, for results and for the progress of streams."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """<style>
.sqlext table { border-collapse: collapse; border: none; font-size: 12px; margin: 4px 0 2px 0; }
.sqlext th, .sqlext td { border: none; padding: 3px 10px; text-align: left !important; vertical-align: top; }
.sqlext td { white-space: pre-wrap; }
.sqlext thead th { border-bottom: 1px solid currentColor; font-weight: bold; }
.sqlext tbody tr:nth-child(even) { background: rgba(128, 128, 128, 0.08); }
.sqlext th.number, .sqlext td.number { text-align: right !important; font-variant-numeric: tabular-nums; }
.sqlext .null, .sqlext .note { opacity: 0.55; font-style: italic; }
.sqlext .note { font-size: 12px; }
</style>"""


def html_table(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str | None]], note: str) -> str:
    """The HTML of a table with a note below it. `columns`: names, and whether they are numbers; None in a row is NULL.

    >>> html_table([("a<b", True)], [["1"], [None]], "2 rows").partition("</style>")[2]
    '\\n<table>\\n<thead><tr><th class="number">a&lt;b</th></tr></thead>\\n<tbody>\\n<tr><td class="number">1</td></tr>\\n<tr><td class="number null">NULL</td></tr>\\n</tbody>\\n</table>\\n<div class="note">2 rows</div></div>'
    """  # noqa: E501
    kinds = ["number" if is_number else "text" for _, is_number in columns]
    head = "".join(f'<th class="{kind}">{escape(name)}</th>' for (name, _), kind in zip(columns, kinds))
    body = "\n".join(f"<tr>{''.join(map(_cell, row, kinds))}</tr>" for row in rows)
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f'<div class="sqlext">{_STYLE}\n{table}\n<div class="note">{escape(note)}</div></div>'


def _cell(cell: str | None, kind: str) -> str:
    return f'<td class="{kind} null">NULL</td>' if cell is None else f'<td class="{kind}">{escape(cell)}</td>'
