"""The table of functions gives Spark's values and errors on random expressions; another seed each day."""

from __future__ import annotations

import pytest

from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.function_table import FUNCTIONS

from ..sampling import SAMPLE
from .against_spark import ZONES, compare_with_spark
from .random_expressions import templates

SEED = 0 if SAMPLE == "all" else int(SAMPLE)


def test_every_function_of_the_table_has_a_template():
    assert sorted(set(FUNCTIONS) - {t.name for t in templates()}) == []


@pytest.mark.parametrize("is_ansi", [True, False])
def test_random_expressions_have_the_values_of_spark(spark, is_ansi):
    """One of the two is over extreme values, another one each day."""
    settings, is_extreme = ExecutionSettings(is_ansi, ZONES[SEED % 4]), is_ansi == bool(SEED % 2)
    nested_calls = 0 if is_extreme else 60
    comparison = compare_with_spark(spark, settings, SEED, 1, nested_calls, is_extreme=is_extreme)
    assert comparison.differences == []
    assert comparison.pairs > 5_000
    assert sorted({t.name for t in templates()} - set(comparison.names)) == []
