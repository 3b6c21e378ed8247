"""A plugin of pytest with which pandas' own tests of `merge_asof` call `sqlext.pandas.merge_asof`.

    python -m pytest -p tests.frames.pandas_judge --pyargs pandas.tests.reshape.merge.test_merge_asof

Frames become pandas-on-Spark's. Of the result only the types of its columns are made those of pandas' result, because
Spark has not all of them: text for categories, microseconds.
"""

from __future__ import annotations

import pandas
import pytest

import sqlext


def pytest_configure(config):
    import pyspark.pandas as ps

    from sqlext.pandas import merge_asof

    settings = {"spark.sql.shuffle.partitions": "2"}
    config.sqlext_session = sqlext.session("pandas judges", "local[2]", format="parquet", **settings)
    of_pandas = pandas.merge_asof

    def converted(frame):
        try:
            return ps.from_pandas(frame) if isinstance(frame, (pandas.DataFrame, pandas.Series)) else frame
        except Exception as error:
            pytest.skip(f"pandas-on-Spark has no such frame: {error}")

    def judged(left, right, *args, **kwargs):
        result = merge_asof(converted(left), converted(right), *args, **kwargs).to_pandas()
        try:
            expected = of_pandas(left, right, *args, **kwargs)
        except Exception:  # which ours should have raised
            return result
        result.index = result.index.astype(expected.index.dtype)
        result.index.freq = getattr(expected.index, "freq", None)
        return result.astype(expected.dtypes.to_dict())

    pandas.merge_asof = judged


def pytest_unconfigure(config):
    config.sqlext_session.stop()
