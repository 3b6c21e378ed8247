"""Tables as text: the one place that decides how rows are shown to people.

Cells are never truncated. A table that is wider than the screen becomes a list: one line for each column of each row.
Files and pipes have no width, so their tables are as wide as their cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from rich.cells import cell_len
from rich.text import Text

from sqlext.expressions.spark_types import is_numeric

Cells = list[str | None]  # None represents NULL
NULL = "NULL"
BLOCK = 1000  # the number of rows whose cells decide how wide columns are


def text_lines(columns: Sequence[tuple[str, str]], rows: Iterable[Cells], width: int | None) -> Iterator[Text]:
    """The lines of a table. `columns`: (name, type as in `dtypes`); `width`: that of the screen, None for files and
    pipes.

    A row after the first BLOCK rows may be longer than the lines above it, if one of its cells is longer.

    >>> print(*text_lines([("a", "int"), ("b", "string")], [["1", "x"], ["20", None]], 80), sep="\\n")
    ┏━━━━┳━━━━━━┓
    ┃  a ┃ b    ┃
    ┡━━━━╇━━━━━━┩
    │  1 │ x    │
    │ 20 │ NULL │
    └────┴──────┘
    >>> print(*text_lines([("a", "int"), ("b", "string")], [["1", "x"], ["20", None]], 10), sep="\\n")
    ─ row 1 ─
    a  1
    b  x
    ─ row 2 ─
    a  20
    b  NULL
    """
    rest = iter(rows)
    first = list(islice(rest, BLOCK))
    widths = [max(map(_width, column)) for column in zip([name for name, _ in columns], *first)]
    if width is not None and sum(widths) + 3 * len(widths) + 1 > width:
        yield from _list(columns, chain(first, rest))
        return
    at_right = [is_numeric(kind) for _, kind in columns]
    yield Text("┏" + "┳".join("━" * (w + 2) for w in widths) + "┓")
    yield from _row([name for name, _ in columns], widths, at_right, "┃", "bold")
    yield Text("┡" + "╇".join("━" * (w + 2) for w in widths) + "┩")
    for cells in chain(first, rest):
        yield from _row(cells, widths, at_right, "│", "")
    yield Text("└" + "┴".join("─" * (w + 2) for w in widths) + "┘")


def _lines(cell: str | None) -> list[str]:
    return [line.expandtabs() for line in (NULL if cell is None else cell).split("\n")]


def _width(cell: str | None) -> int:
    return max(map(cell_len, _lines(cell)))


def _row(
    cells: Sequence[str | None], widths: Sequence[int], at_right: Sequence[bool], bar: str, style: str
) -> Iterator[Text]:
    """The lines of a row, of which there are several if a cell has several lines."""
    lines = [_lines(cell) for cell in cells]
    for i in range(max(map(len, lines))):
        text = Text(bar)
        for cell, inside, width, is_right in zip(cells, lines, widths, at_right):
            piece = inside[i] if i < len(inside) else ""
            blanks = " " * (width - cell_len(piece))
            text.append(" ").append(blanks if is_right else "").append(piece, "dim" if cell is None else style)
            text.append("" if is_right else blanks).append(f" {bar}")
        yield text


def _list(columns: Sequence[tuple[str, str]], rows: Iterable[Cells]) -> Iterator[Text]:
    """One line for each column of each row, with the further lines of a cell below its first one."""
    widest = max(_width(name) for name, _ in columns)
    for number, cells in enumerate(rows, 1):
        yield Text(f"─ row {number:,} ─", "bold")
        for (name, _), cell in zip(columns, cells):
            names = [*_lines(name), *[""] * len(_lines(cell))]
            for head, line in zip(names, _lines(cell)):
                yield Text(head + " " * (widest - cell_len(head) + 2)).append(line, "dim" if cell is None else "")
