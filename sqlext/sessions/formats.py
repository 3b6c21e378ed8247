"""The formats in which results are written, as the command line names them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

TABLE, CSV, JSON, PARQUET = "table", "csv", "json", "parquet"
FORMATS = (TABLE, CSV, JSON, PARQUET)
TERMINAL_LIMIT = 100


def csv_line(cells: Iterable[str | None], null: str) -> str:
    """A line of CSV (RFC 4180). NULL is written as `null` without quotes; a text that is equal to `null`, or empty, has
    quotes.

    >>> csv_line(["a", "", None, 'say "x", y', "NA"], ""), csv_line([None, "NA"], "NA")
    ('a,"",,"say ""x"", y",NA', 'NA,"NA"')
    """
    return ",".join(null if cell is None else _quoted(cell, null) for cell in cells)


def _quoted(cell: str, null: str) -> str:
    if cell not in ("", null) and not any(c in cell for c in ',"\r\n'):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def format_of(file: Path) -> str | None:
    """The format that a file's ending names.

    >>> [format_of(Path(name)) for name in ("a.csv", "b.jsonl", "c.parquet", "d")]
    ['csv', 'json', 'parquet', None]
    """
    return {".csv": CSV, ".json": JSON, ".jsonl": JSON, ".parquet": PARQUET, ".txt": TABLE}.get(file.suffix.lower())
