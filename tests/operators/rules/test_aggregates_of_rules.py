"""Aggregates in MEASURES and DEFINE of rules, with values that Spark gives for the same calls; no Spark runs here."""

from __future__ import annotations

import pytest

from sqlext.operators.rules.rule_versions import TakenVersion

from .rule_histories import SECOND, replayed

ROWS = [(10, "x"), (20, "y"), (None, None), (30, "x"), (40, "y")]
EVENTS = [("a", i * SECOND, v, s) for i, (v, s) in enumerate(ROWS, 1)]
# call, its value over all rows as the text of a measure, and a condition that holds for this value only
CALLS = [
    ("percentile_cont(0.25) WITHIN GROUP (ORDER BY v DESC)", "32.5", "= 32.5"),
    ("percentile_cont(0.25) WITHIN GROUP (ORDER BY v)", "17.5", "= 17.5"),
    ("percentile_disc(0.3) WITHIN GROUP (ORDER BY v DESC)", "30.0", "= 30"),
    ("percentile_cont(array(0.25, 0.5)) WITHIN GROUP (ORDER BY v DESC)", "[32.5,25.0]", "[0] = 32.5"),
    ("percentile(v, 0.25)", "17.5", "= 17.5"),
    ("percentile(v, array(0.1, 0.9))", "[13.0,37.0]", "[1] = 37.0"),
    ("mode() WITHIN GROUP (ORDER BY s)", "x", "= 'x'"),
    ("mode() WITHIN GROUP (ORDER BY s DESC)", "y", "= 'y'"),
    ("max_by(v, s, 2)", "[20,40]", "[0] = 20"),
    ("array_agg(s) RESPECT NULLS", '["x","y",null,"x","y"]', "[2] IS NULL"),
    ("array_agg(s)", '["x","y","x","y"]', "[2] = 'x'"),
    ("regr_slope(v, v + 1)", "1.0", "= 1"),
    ("regr_count(v, v)", "4", "= 4"),
]


def measures_of(measure: str, condition: str) -> list[str]:
    clause = f"MATCH_RECOGNIZE (MEASURES {measure} AS x PATTERN (A{{5}}) DEFINE A AS {condition})"
    results = replayed(EVENTS, [TakenVersion(name="r", version=1, clause=clause)])
    return [dict(measures)["x"] for *_, measures in results]


@pytest.mark.parametrize(("call", "value", "condition"), CALLS)
def test_a_rule_computes_an_aggregate_with_all_its_parts(call, value, condition):
    assert measures_of(call, "true") == [value]
    assert measures_of("count(*)", f"v IS NULL OR v < 40 OR {call}{condition}") == ["5"]
    assert measures_of("count(*)", f"v IS NULL OR v < 40 OR NOT ({call}{condition})") == []
