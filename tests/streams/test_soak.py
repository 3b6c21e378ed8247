"""A few rounds of soak.py: one streaming table of each kind under random changes has the rows of batch."""

from __future__ import annotations

import pytest
from soak import Soak

from tests.sampling import SAMPLE

ROUNDS = 60 if SAMPLE == "all" else 3


@pytest.mark.slow
def test_streams_under_random_changes_have_the_rows_of_batch(spark, tmp_path):
    spark.sql(f"CREATE DATABASE soak LOCATION '{tmp_path / 'soak'}'")
    spark.sql("USE soak")
    try:
        soak = Soak(spark, seed=int(SAMPLE) if SAMPLE != "all" else 0)
        for _ in range(ROUNDS):
            soak.step()
        soak.check()
        soak.stop()
    finally:
        for query in spark.streams.active:
            query.stop()
        spark.sql("USE default")
        spark.sql("DROP DATABASE soak CASCADE")
