"""Functions that the data files call. Spark reads their type hints, which hence are no strings."""

import pandas as pd
from pyspark.sql.functions import pandas_udf
from pyspark.sql.types import DoubleType


def twice(x):
    return None if x is None else 2 * x


@pandas_udf(DoubleType())  # a name of a type could not be read in a worker
def spread(x: pd.Series) -> float:
    """An aggregate: the greatest less the smallest."""
    return float(x.max() - x.min())
