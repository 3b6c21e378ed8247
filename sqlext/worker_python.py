"""Which Python Spark starts the workers of a local master with."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def warn_of_other_python(spark: SparkSession) -> None:
    """Warn if the workers of a local master run another Python than this one, which may lack sqlext."""
    other = other_python(os.environ, sys.executable)
    if other is not None and str(spark.conf.get("spark.master", "")).startswith("local"):
        warnings.warn(
            f"sqlext: Spark starts Python workers with {other}, and this is {sys.executable}: "
            "set PYSPARK_PYTHON to it before the session starts.",
            stacklevel=3,
        )


def other_python(environ: Mapping[str, str], executable: str) -> str | None:
    """The Python of the workers, if it is of another folder than this process's.

    >>> other_python({"PYSPARK_PYTHON": "/opt/a/bin/python3"}, "/opt/a/bin/python3.12")
    >>> other_python({"PYSPARK_PYTHON": "/opt/a/bin/python3"}, "/opt/b/bin/python3")
    '/opt/a/bin/python3'
    """
    name = environ.get("PYSPARK_PYTHON", "python3")  # as Spark chooses it
    workers = shutil.which(name, path=environ.get("PATH")) or name
    return None if os.path.dirname(workers) == os.path.dirname(executable) else workers
