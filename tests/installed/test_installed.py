"""Some cells of the matrix each day, with the Spark of this Python; `make test-installed` runs all versions."""

from __future__ import annotations

import pytest

from tests.built_wheel import build
from tests.installed.__main__ import table
from tests.installed.cells import SURFACES, all_cells, run
from tests.installed.environments import HERE, make
from tests.sampling import sample

pytestmark = [pytest.mark.spark, pytest.mark.slow]

OFFLINE = [surface for surface in SURFACES if surface != "pyspark-client"]  # which is downloaded
CELLS = all_cells([HERE], OFFLINE)
TODAY = [
    *sample([cell for cell in CELLS if cell.hook and cell.enabled], 6),
    *sample([cell for cell in CELLS if not (cell.hook and cell.enabled)], 18),
]


def test_a_program_runs_as_it_is_installed(tmp_path):
    _, wheel = build(tmp_path)
    environment = make(tmp_path / "environment", "pyspark", HERE, wheel)
    outcomes = dict(run(TODAY, lambda package, version: environment))
    assert [cell for cell, outcome in outcomes.items() if outcome.word != "pass"] == [], table(outcomes)
