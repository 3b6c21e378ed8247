"""`sqlext check` without a session: findings, reports, exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog  # from the schema

from sqlext.cli.check_command import CLEAN, FINDINGS, UNREADABLE
from sqlext.cli.check_reports import Finding, as_sarif
from sqlext.cli.main import main
from sqlext.errors import BindError
from sqlext.formatting.check_syntax import check_text

ROOT = Path(__file__).parents[2]
CASES = [block.split("\n", 1) for block in (Path(__file__).parent / "check.txt").read_text("utf-8").split("\n== ")[1:]]
WRONG = "SELECT 1;\nSELECT *\nFROM t MATCH_RECOGNIZE (ORDER BY n PATTERN (A) DEFINE B AS true)\n"


@pytest.mark.parametrize(("title", "case"), CASES, ids=[title for title, _ in CASES])
def test_a_file_has_these_findings(title, case):
    text, _, findings = case.rpartition("\n--\n")
    errors = [Finding("f", error) for error in check_text(text)]
    shown = [f"{f.ends[0]}:{f.ends[1]} {f.error.error_class.removeprefix('SQLEXT_')}" for f in errors]
    assert "\n".join(shown) == findings.strip()


def test_every_example_is_clean(capsys):
    assert main(["check", str(ROOT / "sql_examples")]) == CLEAN
    assert capsys.readouterr().out == ""


def test_a_finding_ends_with_status_1_and_shows_its_place(tmp_path, capsys):
    file = tmp_path / "a.sql"
    file.write_text(WRONG, "utf-8")
    assert main(["check", str(file)]) == FINDINGS
    out, err = capsys.readouterr()
    assert out.startswith(f'{file}:3:55: SQLEXT_UNKNOWN_PATTERN_VARIABLE: DEFINE names "B"')
    assert "\n  3 | FROM t MATCH_RECOGNIZE (" in out and out.rstrip().endswith("Hint: the pattern variables are A.")
    assert err == "1 file, 1 error\n"


def test_a_folder_without_sql_files_is_no_success(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("SELECT 1", "utf-8")
    for command in ("check", "format"):
        assert main([command, str(tmp_path)]) == UNREADABLE
        assert capsys.readouterr().err == f"sqlext: {tmp_path} is not read: the folder has no file *.sql\n"


STREAMING = "CREATE STREAMING TABLE t AS SELECT 1"
SCRIPT = "BEGIN SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n PATTERN (A) DEFINE A AS true); END"
PLAIN = [  # files, and those that the last line names because nothing in them is checked
    ({"a.sql": "SELECT 1; INSERT INTO t SELECT 2"}, "a.sql"),
    ({"a.sql": "SELECT 1", "b.sql": "SHOW STREAMING TABLES"}, "a.sql"),
    ({"a.sql": "SHOW PATTERN RULES ON r", "b.sql": "EXPLAIN MATCH SELECT 1", "c.sql": STREAMING, "d.sql": SCRIPT}, ""),
    ({f"{c}.sql": "SELECT 1" for c in "abcde"}, "a.sql, b.sql, c.sql and 2 more"),
]


@pytest.mark.parametrize(("files", "named"), PLAIN)
def test_a_file_without_a_clause_is_named(tmp_path, monkeypatch, capsys, files, named):
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert main(["check", *files]) == CLEAN
    checked = f"{len(files)} file{'s' if len(files) > 1 else ''}, no errors"
    plain = f"; nothing of sqlext is in {named}, and plain Spark SQL is not checked" if named else ""
    assert capsys.readouterr().err == f"{checked}{plain}\n"


def test_a_schema_is_one_file(tmp_path, capsys):
    for name in ("a.sql", "b.sql"):
        (tmp_path / name).write_text("CREATE TABLE t (n INT)", "utf-8")
    assert main(["check", str(tmp_path), "--schema", str(tmp_path)]) == UNREADABLE
    assert capsys.readouterr().err.endswith("is not read: --schema takes one file, and the folder has 2\n")


def test_the_files_of_a_folder_may_end_in_capitals(tmp_path, capsys):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "A.SQL").write_text(WRONG, "utf-8")
    assert main(["check", str(tmp_path)]) == FINDINGS
    assert capsys.readouterr().out.startswith(f"{tmp_path}/below/A.SQL:3:55: ")


def test_json_has_the_place_and_the_hint(tmp_path, capsys):
    (tmp_path / "a.sql").write_text(WRONG, "utf-8")
    assert main(["check", "--format", "json", str(tmp_path)]) == FINDINGS
    (finding,) = json.loads(capsys.readouterr().out)
    places = [finding[name] for name in ("line", "column", "endLine", "endColumn")]
    assert places == [3, 55, 3, 56]
    assert finding["errorClass"] == "SQLEXT_UNKNOWN_PATTERN_VARIABLE"
    assert finding["hint"] == "the pattern variables are A."


def test_sarif_has_the_page_of_an_error_that_has_one():
    names = ("UNRESOLVED_COLUMN_WITH_SUGGESTION", "UNSUPPORTED_DATATYPE")
    log = json.loads(next(as_sarif([Finding("a.sql", BindError(name, "no")) for name in names])))
    SarifLog.model_validate(log)
    column, kind = log["runs"][0]["tool"]["driver"]["rules"]
    assert column["help"]["text"].startswith("# SQLEXT_UNRESOLVED_COLUMN_WITH_SUGGESTION\n") and "help" not in kind


def test_sarif_is_a_log_with_a_rule_for_each_class(tmp_path, capsys):
    (tmp_path / "a.sql").write_text(WRONG + ";" + WRONG, "utf-8")
    assert main(["check", "--format", "sarif", str(tmp_path)]) == FINDINGS
    log = json.loads(capsys.readouterr().out)
    SarifLog.model_validate(log)
    (run,) = log["runs"]
    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "sqlext")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["SQLEXT_UNKNOWN_PATTERN_VARIABLE"]
    regions = [result["locations"][0]["physicalLocation"]["region"] for result in run["results"]]
    assert [(r["startLine"], r["startColumn"], r["endColumn"]) for r in regions] == [(3, 55, 56), (6, 55, 56)]
    assert {result["ruleId"] for result in run["results"]} == {"SQLEXT_UNKNOWN_PATTERN_VARIABLE"}


def test_a_clean_file_is_an_empty_report_for_programs(tmp_path, capsys):
    (tmp_path / "a.sql").write_text("SELECT 1", "utf-8")
    assert main(["check", "--format", "json", str(tmp_path)]) == CLEAN
    assert json.loads(capsys.readouterr().out) == []


def test_a_file_that_cannot_be_read_ends_with_status_2(tmp_path, capsys):
    (tmp_path / "b.sql").write_bytes(b"SELECT '\xff'")
    assert main(["check", str(tmp_path / "none.sql"), str(tmp_path)]) == UNREADABLE
    none, other = capsys.readouterr().err.splitlines()
    assert none == f"sqlext: {tmp_path / 'none.sql'} is not read: no such file or directory"
    assert other == f"sqlext: {tmp_path / 'b.sql'} is not read: byte 8 is not UTF-8"


def test_a_template_is_passed_over_with_a_notice(tmp_path, capsys):
    (tmp_path / "model.sql").write_text("SELECT 1\nFROM {{ ref('x') }} MATCH_RECOGNIZE (", "utf-8")
    assert main(["check", str(tmp_path)]) == CLEAN
    assert "is passed over: line 2 has {{ of Jinja" in capsys.readouterr().err


def test_a_warning_is_told_on_stderr_and_is_no_finding(tmp_path, capsys):
    file = tmp_path / "a.sql"
    file.write_text("SELECT 1;\n\nSELECT * FROM t MATCH_RECOGNIZE (ORDER BY i PATTERN (A B) DEFINE A AS A.v < B.v);\n")
    assert main(["check", str(file)]) == 0
    assert f"{file}:3: warning: MATCH_RECOGNIZE: PATTERN can never match: no row can be A," in capsys.readouterr().err
