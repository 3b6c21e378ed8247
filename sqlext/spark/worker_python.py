"""The Python with which Spark starts the workers of a local master."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlext.spark.package_files import package_folder
from sqlext.spark.user_warnings import warn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def use_this_python(master: str) -> None:
    """Make Spark start its Python workers with this interpreter, unless the user has chosen one.

    It must be called before the JVM starts. Otherwise Spark uses `python3` of PATH, which may lack the packages that
    sqlext needs. The script `pyspark` sets PYSPARK_PYTHON to `python3` for a user who has not chosen one.
    """
    chosen = os.environ.get("PYSPARK_PYTHON")
    if chosen is None or (chosen == "python3" and master.startswith("local")):
        os.environ["PYSPARK_PYTHON"] = sys.executable


def settings_of_daemon() -> dict[str, str]:
    """The settings with which a local Spark forks its workers from `warm_daemon`; none if a Python of the workers does
    not find this installation of sqlext."""
    if other_python(os.environ, sys.executable) is not None:
        return {}
    command = [sys.executable, "-c", "from sqlext.spark.package_files import package_folder as f; print(f())"]
    folder = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    is_this = folder == str(package_folder())
    return {"spark.python.daemon.module": "sqlext.engine.shipped.warm_daemon"} if is_this else {}


def warn_of_other_python(spark: SparkSession) -> None:
    """Warn if the workers of a local master run another Python than this process, because it may lack sqlext."""
    other = other_python(os.environ, sys.executable)
    if other is not None and str(spark.conf.get("spark.master", "")).startswith("local"):
        sentence = f"Spark starts Python workers with {other}, and this is {sys.executable}: "
        warn([f"{sentence}set PYSPARK_PYTHON to it before the session starts."])


def other_python(environ: Mapping[str, str], executable: str) -> str | None:
    """The Python of the workers, if it is in another folder than the Python of this process; otherwise None.

    >>> other_python({"PYSPARK_PYTHON": "/opt/a/bin/python3"}, "/opt/a/bin/python3.12")
    >>> other_python({"PYSPARK_PYTHON": "/opt/a/bin/python3"}, "/opt/b/bin/python3")
    '/opt/a/bin/python3'
    """
    name = environ.get("PYSPARK_PYTHON", "python3")  # this is how Spark chooses the Python
    workers = shutil.which(name, path=environ.get("PATH")) or name
    return None if os.path.dirname(workers) == os.path.dirname(executable) else workers
