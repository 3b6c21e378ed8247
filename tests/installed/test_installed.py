"""Some cells of the matrix each day, with the Spark of this Python; `make test-installed` runs all versions."""

from __future__ import annotations

import pytest

from tests.built_wheel import build
from tests.installed.__main__ import run_features, table
from tests.installed.cells import SURFACES, all_cells, run
from tests.installed.environments import HERE, make
from tests.installed.features import FILES, PASS, STREAMS, delta_is_needed
from tests.sampling import sample

pytestmark = [pytest.mark.spark, pytest.mark.slow]

OFFLINE = [surface for surface in SURFACES if surface != "pyspark-client"]  # which is downloaded
CELLS = all_cells([HERE], OFFLINE)
TODAY = [
    *sample([cell for cell in CELLS if cell.hook and cell.enabled], 6),
    *sample([cell for cell in CELLS if not (cell.hook and cell.enabled)], 18),
]
FEATURES = sample([*(path.stem for path in FILES), *STREAMS], 12)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    _, wheel = build(folder)
    return make(folder / "environment", "pyspark", HERE, wheel)


def test_a_program_runs_as_it_is_installed(environment):
    outcomes = dict(run(TODAY, lambda package, version: environment))
    assert [cell for cell, outcome in outcomes.items() if outcome.word != "pass"] == [], table(outcomes)


def test_some_features_run_without_delta(environment):
    """CI runs all of them on Spark 4.0 and 4.3: `make test-features`."""
    environment.hook("remove")  # which cells may have installed
    outcomes = run_features(environment.python, FEATURES, "--no-delta")
    assert outcomes == {name: "refused" if delta_is_needed(name) else PASS for name in FEATURES}
