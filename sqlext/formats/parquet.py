"""Parquet: files of rows. There are no commits, so its tables keep nothing that must happen once or not at all."""

from __future__ import annotations

from sqlext.formats.format import Format


class Parquet(Format):
    """Tables of Spark itself, in a session without another format."""

    name, title = "parquet", "Parquet"


PARQUET = Parquet()
