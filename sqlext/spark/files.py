"""Files that Spark writes: read by this process where they are on this machine, and by Spark elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlext.spark.locations import path_here
from sqlext.spark.quiet_probes import quiet_probes

Result = TypeVar("Result")


def file_names(spark: Any, location: str) -> list[str]:
    """The names of the files in a folder; none if there is no such folder."""
    here = path_here(spark, location)
    if here is not None:
        return [path.name for path in here.glob("*")]
    files = where_found(lambda: spark.read.text(location).inputFiles())
    return [file.rpartition("/")[2] for file in files or ()]


def read_by_spark(spark: Any, location: str) -> str | None:
    """The text in a file, or in the files of a folder, that Spark reaches; None if there is none."""
    rows = where_found(lambda: spark.read.text(location, wholetext=True).collect())
    return "".join(row[0] for row in rows or ()) or None


def where_found(read: Callable[[], Result]) -> Result | None:
    """The result of `read`, or None if there is no such file or folder."""
    try:
        with quiet_probes():
            return read()
    except Exception as error:  # Spark's AnalysisException, which this module does not load
        if "PATH_NOT_FOUND" not in str(error):
            raise
        return None
