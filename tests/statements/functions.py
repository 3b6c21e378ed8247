"""Functions that the data files call. Spark reads their type hints, so this file does not make them strings."""

import pandas as pd
from pyspark.sql.functions import pandas_udf
from pyspark.sql.types import DoubleType


def twice(x):
    return None if x is None else 2 * x


@pandas_udf(DoubleType())  # a worker could not read the type as a string
def spread(x: pd.Series) -> float:
    """The greatest value minus the smallest, as an aggregate."""
    return float(x.max() - x.min())
