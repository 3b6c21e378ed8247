"""`dbt build` of sql_examples/dbt with the real dbt: models, snapshot, tests, streams that resume, rules, errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.sampling import sample

ROOT = Path(__file__).parents[2]
TOOLS = (ROOT / "docs/tools.md").read_text("utf-8")
BUILD = TOOLS.partition("dbt-venv/bin/dbt ")[2].splitlines()[0].split()  # build --profiles-dir .
PYTHON = next(iter(sorted((ROOT / ".venv").glob("dbt-*/bin/python"), reverse=True)), None)

# The streaming tables: their rows after the first build, and those of the second. Each run builds one of them or the
# models, because all of them take a minute.
STREAMS = {
    "takeovers": (["ann  2026-03-02 10:02:00  2  900.0"], ["dan  2026-03-03 10:02:00  2  700.0"]),
    "last_journey": (["cyd  2026-03-02 11:20:00  FR"], ["dan  2026-03-03 10:02:00  FR"]),
    "alerts": (
        [
            "impossible_travel  1  cyd  2026-03-02 11:20:00  {'here': 'US', 'there': 'FR'}",
            "refunds  1  bob  2026-03-02 10:20:00  {'amount': '80.0'}",
        ],
        ["impossible_travel  1  dan  2026-03-03 10:02:00  {'here': 'US', 'there': 'FR'}"],
    ),
}
PARTS = ["models", "travels", *STREAMS]
PART = sample(PARTS, len(PARTS))[0]
IS_SERVED = sample([True, False], 2)[0]  # whether a server runs, whose Spark dbt then uses
SETTINGS = ["spark.sql.session.timeZone=UTC", "spark.sql.shuffle.partitions=1"]  # those of profiles.yml

needs_models = pytest.mark.skipif(PART != "models", reason=f"this run builds {PART}")
needs_view = pytest.mark.skipif(PART != "travels", reason=f"this run builds {PART}")
needs_stream = pytest.mark.skipif(PART not in STREAMS, reason=f"this run builds {PART}")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What tests/dbt/build_sample.py printed."""
    if PYTHON is None:
        pytest.skip("dbt has an environment of its own, which `make test` and `make test-dbt` create")
    folder = tmp_path_factory.mktemp("dbt")
    project = folder / "project"
    shutil.copytree(ROOT / "sql_examples/dbt", project, ignore=shutil.ignore_patterns("target", "logs"))
    warehouse = str(folder / "warehouse")
    variables = {**os.environ, "WAREHOUSE": warehouse, "TZ": "UTC", "PYSPARK_PYTHON": str(PYTHON)}
    variables["TMPDIR"] = str(tmp_path_factory.mktemp("s"))  # of the servers of this test
    server = [PYTHON, "-m", "sqlext", "server"]
    if IS_SERVED:
        wanted = ["--master", "local[2]", "--warehouse", warehouse, *(f"--conf={setting}" for setting in SETTINGS)]
        subprocess.run([*server, "start", *wanted], env=variables, cwd=project, check=True)
    run = subprocess.run(
        [PYTHON, ROOT / "tests/dbt/build_sample.py", project, PART, *BUILD],
        env=variables, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    subprocess.run([*server, "stop", "--all"], env=variables, cwd=project, check=True)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-5000:]
    *lines, result = run.stdout.strip().splitlines()
    return {**json.loads(result), "log": [*lines, *run.stderr.splitlines()]}


@pytest.mark.slow
def test_every_node_of_the_sample_project_is_built(built):
    assert {name: line for name, line in built["first"].items() if line.split(":")[0] not in ("success", "pass")} == {}


@pytest.mark.slow
def test_dbt_uses_the_spark_of_a_running_server(built):
    assert built["program"] == ("sqlext server" if IS_SERVED else "dbt")


@needs_models
@pytest.mark.slow
def test_models_hold_the_rows_of_their_clauses(built):
    rows = built["rows"]
    assert rows["journeys"] == ["cyd  2026-03-02 11:00:00  2026-03-02 11:20:00  US  FR"]
    assert rows["rising"] == [
        "ann  1  2026-03-02 10:00:00  3  900.0",
        "cyd  1  2026-03-02 11:00:00  3  45.0",
    ]
    assert rows["cards"] == ["ann  900.0", "cyd  45.0"]
    assert rows["rises_by_day"] == ["ann  3  2026-03-02", "cyd  3  2026-03-02"]
    assert len(rows["journeys_history"]) == 4


@needs_models
@pytest.mark.slow
def test_an_error_has_its_place_in_the_compiled_file(built):
    message = built["mistakes"]["mistake"]
    assert "SQLEXT_UNRESOLVED_COLUMN" in message
    assert "  2 |   MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE B AS amuont > 1)" in message
    assert "at target/compiled/fraud/models/mistake.sql:2:58" in message


@needs_models
@pytest.mark.slow
def test_an_error_of_spark_has_its_place_in_the_compiled_file_and_no_plan(built):
    message = built["mistakes"]["plain_mistake"]
    assert "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `amuont`" in message
    assert "2 |   amuont\n      |   ^^^^^^\n  at target/compiled/fraud/models/plain_mistake.sql:2:3" in message
    assert "Project" not in message and "line 18" not in message


@pytest.mark.slow
def test_neither_spark_nor_delta_writes_what_dbt_reports(built):
    """Two models of rules are built at once, and one of them finds that the other has created their table."""
    assert [line for line in built["log"] if "errorClass" in line or "DELTA_" in line or "\tat " in line] == []


@needs_models
@pytest.mark.slow
def test_docs_list_the_columns_of_stored_views_and_of_tables(built):
    assert built["columns"]["model.fraud.rising"] == ["card", "rise", "since", "payments", "top"]
    assert "model.fraud.cards" in built["columns"]


@needs_stream
@pytest.mark.slow
def test_the_next_run_resumes_a_stream_and_leaves_rules_that_have_not_changed(built):
    before, after = STREAMS[PART]
    assert built["rows"][PART] == before
    assert built["rows_again"][PART] == sorted(before + after)
    if PART == "alerts":
        assert built["again"]["refunds"] == "success: UNCHANGED"


@needs_view
@pytest.mark.slow
def test_the_next_run_computes_the_keys_with_late_and_corrected_rows(built):
    first, corrected, failed, continued, applied = built["views"]
    assert first == ["cyd  2026-03-02 11:00:00  2026-03-02 11:20:00  US  FR"]
    assert corrected == [
        "bob  2026-03-02 09:00:00  2026-03-02 10:00:00  FR  US",
        "cyd  2026-03-02 11:00:00  2026-03-02 11:20:00  US  GB",
        "cyd  2026-03-02 11:20:00  2026-03-02 11:40:00  GB  FR",
    ]
    assert (built["described"]["kind"], built["described"]["reason"]) == ("by key", None)
    assert failed == continued == corrected
    assert applied == ["cyd  2026-03-02 11:00:00  2026-03-02 11:20:00  US  GB"]


@needs_view
@pytest.mark.slow
def test_a_changed_query_is_treated_as_on_configuration_change_says(built):
    changed, failed, continued, applied = (build["travels"] for build in built["built"])
    assert [line.split(":")[0] for line in (changed, continued, applied)] == ["success"] * 3
    assert "on_configuration_change is fail" in failed
