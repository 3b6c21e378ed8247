"""A table as HTML, for results and for the progress of streams."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sqlext.notebooks.theme import in_theme

_LONG = 40  # characters of a line; a longer text is cut, and is shown whole by the pointer and by a click

# A click on the name of a column sorts the rows, as Spark does: NULL first, NaN last, numbers by value.
_SORT = """
const head = event.target.closest('th');
if (head) {
  const body = this.parentNode.tBodies[0], heads = [...head.parentNode.cells], column = heads.indexOf(head);
  const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
  const isNumber = head.classList.contains('number');
  const value = (row) => {
    const cell = row.cells[column];
    return cell.classList.contains('null') ? null
      : isNumber ? Number(cell.textContent.replace(/,/g, '')) : cell.textContent;
  };
  const order = (a, b) => a === b ? 0 : a === null ? -1 : b === null ? 1
    : a !== a ? (b !== b ? 0 : 1) : b !== b ? -1 : a < b ? -1 : a > b ? 1 : 0;
  const rows = [...body.rows].map((row) => [value(row), row]);
  rows.sort((a, b) => sign * order(a[0], b[0])).forEach(([, row]) => body.appendChild(row));
  heads.forEach((other) => other.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
}
"""


def html_table(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str | None]], note: str) -> str:
    """The HTML of a table with a note below it. `columns`: names, and whether they are numbers; None in a row is NULL.

    >>> print(html_table([("a<b", True)], [["1"], [None]], "2 rows").partition("<tbody>")[2])
    <BLANKLINE>
    <tr><td class="number">1</td></tr>
    <tr><td class="number null">NULL</td></tr>
    </tbody>
    </table></div>
    <div class="note">2 rows</div></div>
    """
    kinds = ["number" if is_number else "text" for _, is_number in columns]
    head = "".join(f'<th class="{kind}" title="sort">{escape(name)}</th>' for (name, _), kind in zip(columns, kinds))
    body = "\n".join(f"<tr>{''.join(map(_cell, row, kinds))}</tr>" for row in rows)
    sort = escape(" ".join(_SORT.split()))
    table = f'<table>\n<thead onclick="{sort}"><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    return in_theme(f'<div class="rows">{table}</div>\n<div class="note">{escape(note)}</div>')


def _cell(cell: str | None, kind: str) -> str:
    if cell is None:
        return f'<td class="{kind} null">NULL</td>'
    text = escape(cell)
    if len(cell) > _LONG or "\n" in cell:
        text = f'<div class="long" tabindex="0" title="{text}">{text}</div>'
    return f'<td class="{kind}">{text}</td>'
