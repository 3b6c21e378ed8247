"""What pandas 3 changes in Spark, which was written for pandas 2.

Our functions, also those of streams, send and receive numbers, times and bytes, which are the same in both. But without
Arrow, which is the default before Spark 4.2, `createDataFrame` makes the text 'nan' of a missing text of pandas 3. And
Spark 4.2 and 4.3 warn of pandas 3 wherever something uses pandas.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from sqlext.spark.start_versions import version_of
from sqlext.spark.user_warnings import warn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARROW = "spark.sql.execution.arrow.pyspark.enabled"


def warn_of_pandas(spark: SparkSession) -> None:
    """Warn that `createDataFrame` of this session changes missing texts of pandas."""
    try:
        pandas = version("pandas")
    except PackageNotFoundError:
        return
    if changes_texts(pandas, spark.version) and str(spark.conf.get(_ARROW, "false")).lower() != "true":
        sentence = f"with pandas {pandas}, Spark {spark.version} reads a missing text of a pandas DataFrame as 'nan'"
        warn([f"{sentence}: SET {_ARROW} = true, or pip install 'pandas<3'."])


@contextmanager
def without_sparks_warning() -> Iterator[None]:
    """Leave out Spark's warning where our own code uses pandas, which needs nothing that pandas 3 has changed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def changes_texts(pandas: str, spark: str) -> bool:
    """Return True if Spark's default changes missing texts of this version of pandas.

    >>> [changes_texts("3.1.1", spark) for spark in ("4.0.5", "4.1.4", "4.2.0")], changes_texts("2.3.3", "4.0.5")
    ([True, True, False], False)
    """
    return version_of(spark) < (4, 2) and int(pandas.split(".")[0]) > 2
