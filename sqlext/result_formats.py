"""The formats in which results are written, as the command line names them."""

from __future__ import annotations

from pathlib import Path

TABLE, CSV, JSON, PARQUET = "table", "csv", "json", "parquet"
FORMATS = (TABLE, CSV, JSON, PARQUET)
TERMINAL_LIMIT = 100


def format_of(file: Path) -> str | None:
    """The format that a file's ending names.

    >>> [format_of(Path(name)) for name in ("a.csv", "b.jsonl", "c.parquet", "d")]
    ['csv', 'json', 'parquet', None]
    """
    return {".csv": CSV, ".json": JSON, ".jsonl": JSON, ".parquet": PARQUET, ".txt": TABLE}.get(file.suffix.lower())
