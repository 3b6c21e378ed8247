"""The command line, in this process and with the session that the tests share."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sqlext
from sqlext.catalog.warehouse import WAREHOUSE
from sqlext.cli.commands import parser
from sqlext.cli.main import main
from sqlext.cli.on_session import FAILED, MISUSED, split_statements
from sqlext.cli.option_types import parameter
from sqlext.errors import with_pages

ROOT = Path(__file__).parents[2]
PARAMETERS = [
    ("a=1", 1),
    ("a=-12", -12),
    ("a=1.50", Decimal("1.50")),
    ("a=TRUE", True),
    ("a=false", False),
    ("a=2026-01-31", date(2026, 1, 31)),
    ("a=2026-01-31 10:20:30", datetime(2026, 1, 31, 10, 20, 30)),
    ("a='1'", "1"),
    ("a=it's", "it's"),
    ("a=x=y", "x=y"),
    ("a=1e3", "1e3"),
    ("a=", ""),
]


@pytest.mark.parametrize(("text", "value"), PARAMETERS)
def test_a_parameter_has_the_type_of_its_form(text, value):
    name, found = parameter(text)
    assert (name, found, type(found)) == ("a", value, type(value))


SCRIPTS = [
    ("SELECT 1", ["SELECT 1"]),
    ("SELECT 1;\nSELECT 2;\n", ["SELECT 1", "\nSELECT 2"]),
    (";; -- nothing\n /* at; all */", []),
    ("SELECT ';', \"a;b\", `c;d` -- e;f\n/* g;h */; SELECT 2", None),
    ("SHOW TABLES; EXPLAIN SELECT ';'; SELECT 2", ["SHOW TABLES", "EXPLAIN SELECT ';'", "SELECT 2"]),
    ("SELECT 1; BEGIN SELECT 2; SELECT 3; END", ["SELECT 1", "BEGIN SELECT 2; SELECT 3; END"]),
    ("BEGIN IF x THEN SELECT 2; END IF; END; SELECT 1;", ["BEGIN IF x THEN SELECT 2; END IF; END", "SELECT 1"]),
    ("\n\n  SELECT\n1\n;\n\nSELECT 2", ["\n\nSELECT\n1", "\n\n\n\n\n\nSELECT 2"]),
]


@pytest.mark.parametrize(("text", "statements"), SCRIPTS)
def test_a_file_is_split_into_statements_on_their_lines(text, statements):
    if statements is None:
        statements = [text[: text.index(" -- ")], "\n" + "SELECT 2"]
    assert list(split_statements(text)) == statements


SEVERAL = [  # what -e and --param say, the status, and what is printed
    (["-e", "SELECT 1 AS a", "-e", "SELECT :x + 1 AS b; SELECT 3 AS c;", "--param", "x=1"], 0,
     ["a", "1", "", "b", "2", "", "c", "3"], []),
    (["-e", "CREATE TEMP VIEW several AS SELECT 5 AS a -- five", "-e", "SELECT * FROM several"], 0, ["a", "5"], []),
    (["-e", "SELECT 1 AS a", "-e", "SELECT nothing"], 1, ["a", "1"], ["statement 2 of 2:", "nothing"]),
    (["-e", "SELECT 1 AS a", "-e", "SELECT *\nFROM t MATCH_RECOGNIZE (ORDER BY n PATTERN (A) DEFINE B AS true)"], 1, [],
     ["statement 2 of 2:", "  2 | FROM t MATCH_RECOGNIZE"]),
    (["-e", "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY d MEASURES 1 + :day AS x PATTERN (A) DEFINE A AS true)"], 1, [],
     ["MISSING_ARGUMENT", "Hint: write --param day=value."]),
    (["-e", "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY d MEASURES ? AS x PATTERN (A) DEFINE A AS true)"], 1, [],
     ["MISSING_ARGUMENT", "Hint: name the parameter, :name in the text, and write --param name=value."]),
    (["-e", "SELECT :day AS plain"], 1, [], ["UNBOUND_SQL_PARAMETER", "Hint: write --param day=value."]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "status", "out", "err"), SEVERAL)
def test_all_texts_of_a_command_are_run_in_order(spark, capsys, arguments, status, out, err):
    assert main(["run", *arguments, "--warehouse", spark.conf.get(WAREHOUSE)]) == status
    printed = capsys.readouterr()
    spark.catalog.dropTempView("several")
    assert printed.out.splitlines() == out
    assert [text for text in err if text not in printed.err] == []


@pytest.mark.parametrize(
    "arguments",
    [["no-such-command"], ["run"], ["run", "-", "--conf", "spark.x"],
      ["run", "-", "--param", "1=2"], ["run", "-", "--param", "d=2026-02-30"],
     ["run", "-", "--limit", "-1"], ["run", "-", "-e", "SELECT 1"], ["run", "-", "-o", "result"],
     ["run", "-", "--format", "parquet"], ["run", "-", "--format", "xml"],
     ["explain", "-", "--analyze", "--why", "a = 1"], ["explain", "-", "--rule", "r"],
     ["shell", "--limit", "-1"], ["playground", "--port", "65536"], ["playground", "--port", "-1"],
     ["playground", "--example", "11"]],
)  # fmt: skip
def test_a_wrong_call_ends_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == MISUSED
    assert "usage: sqlext" in capsys.readouterr().err


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: sqlext [-h]")


def test_settings_of_the_session_are_options(spark, capsys):
    setting = "spark.sql.test.of.sqlext"
    assert main(["run", "--conf", f"{setting}=a=b", "-e", f"SET {setting}", "-e", "SELECT 2 AS two"]) == 0
    spark.conf.unset(setting)
    assert capsys.readouterr().out.splitlines() == ["key\tvalue", f"{setting}\ta=b", "", "two", "2"]


USAGES = [
    (["check", "a.sql", "--bogus"], "usage: sqlext check "), (["run", "-", "--bogus"], "usage: sqlext run "),
    (["rules", "list", "t", "--bogus"], "usage: sqlext rules list "), (["hook", "show", "now"], "usage: sqlext hook "),
    (["notebook", "run", "a.sql", "-x"], "usage: sqlext notebook run "), (["--bogus", "hook"], "usage: sqlext ["),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "usage"), USAGES)
def test_an_unknown_option_shows_the_usage_of_its_command(arguments, usage, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    err = capsys.readouterr().err
    assert err.startswith(usage)
    assert f"{usage.removeprefix('usage: ').rstrip(' [')}: error: unrecognized arguments: " in err


def test_the_page_of_an_error_is_printed_by_its_name(capsys):
    assert main(["explain-error", "missing_pattern", "SQLEXT_DUPLICATE_ARGUMENT"]) == 0
    shown = capsys.readouterr().out
    assert "# SQLEXT_MISSING_PATTERN" in shown and "# SQLEXT_DUPLICATE_ARGUMENT" in shown and "## Cure" in shown
    assert main(["explain-error", "MISSING_PATERN"]) == MISUSED
    assert "did you mean MISSING_PATTERN" in capsys.readouterr().err
    assert main(["explain-error"]) == MISUSED
    assert "--list" in capsys.readouterr().err


def test_the_list_of_errors_has_the_names_of_all_pages(capsys):
    assert main(["explain-error", "--list"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert names == sorted(names) and {"MISSING_PATTERN", "TABLE_OR_VIEW_NOT_FOUND", "PARSE_SYNTAX_ERROR"} <= {*names}
    assert main(["explain-error", *names]) == 0
    assert len(re.findall("^# SQLEXT_", capsys.readouterr().out, re.MULTILINE)) == len(names)


@pytest.mark.parametrize(("names", "more"), [
    (["STEP_BUDGET"], " STEP_BUDGET"),
    (["TABLE_OR_VIEW_NOT_FOUND", "PARSE_SYNTAX_ERROR"], " TABLE_OR_VIEW_NOT_FOUND PARSE_SYNTAX_ERROR"),
    (["UNRESOLVED_COLUMN_WITH_SUGGESTION", "DATATYPE_MISMATCH_DATA_DIFF_TYPES"],
     " UNRESOLVED_COLUMN_WITH_SUGGESTION DATATYPE_MISMATCH"),
    (["UNSUPPORTED_DATATYPE", "MISSING_PATTERN"], " MISSING_PATTERN"),
    (["UNSUPPORTED_DATATYPE", "STREAM_OF_NOBODY"], None),
])  # fmt: skip
def test_a_message_names_the_pages_that_there_are(names, more, capsys):
    message = "\n\n".join(f"SQLEXT_{name}: no" for name in names)
    assert with_pages(message) == message + (f"\nFor more: sqlext explain-error{more}" if more else "")
    if more:
        assert main(["explain-error", *more.split()]) == 0


def test_the_status_of_the_hook_tells_whether_it_is_installed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sqlext.cli.hook_command.site_packages", lambda: tmp_path)
    assert [main(["hook", *words]) for words in ([], ["install"], ["show"], ["remove"], ["show"])] == [1, 0, 0, 0, 1]
    assert [line.split(" in ")[0] for line in capsys.readouterr().out.splitlines()] == [
        "not installed", "installed", "installed", "not installed", "not installed",
    ]  # fmt: skip


COMPLETED = """\
eval "$({python} -m sqlext completion bash)"
sqlext() {{ {python} -m sqlext "$@"; }}
COMP_WORDS=({words}) COMP_LINE="{words}" COMP_POINT={point} COMP_CWORD={last} COMP_TYPE=9
_python_argcomplete sqlext
printf '%s\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(("words", "expected"), [("sqlext fo", "format"), ("sqlext check --sc", "--schema")])
def test_bash_completes_commands_and_options(words, expected):
    script = COMPLETED.format(python=sys.executable, words=words, point=len(words), last=words.count(" "))
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.split(), done.stderr) == ([expected], "")


def test_the_commands_of_documents_are_commands():
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(path.read_text("utf-8") for path in documents).replace("\\\n", " ")
    commands = [line for line in re.findall(r"^sqlext (.*)$", text, re.MULTILINE)]
    parsed = [parser().parse_args(shlex.split(line, comments=True)) for line in commands]
    assert len(parsed) >= 4
    read = [options.file for options in parsed if getattr(options, "file", None) and options.command != "pack"]
    assert [file for file in read if not (ROOT / file).exists()] == []


def test_a_file_that_cannot_be_read_ends_with_status_2(tmp_path, capsys):
    assert main(["run", str(tmp_path / "none.sql")]) == MISUSED
    assert "sqlext: cannot read" in capsys.readouterr().err


def test_a_reader_may_close_the_pipe():
    """In a process of its own: `main` closes its standard output."""
    command = [sys.executable, "-m", "sqlext", "explain-error", "UNKNOWN_PATTERN_VARIABLE"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 0)


def test_a_library_that_is_missing_is_named():
    """In a process of its own, which has not imported PySpark yet."""
    without = (
        "import sys; sys.modules['pyspark'] = None; from sqlext.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    run = subprocess.run([sys.executable, "-c", without, "run", "-e", "SELECT 1"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (FAILED, "")
    assert run.stderr.startswith("sqlext: this command needs pyspark, which ")


@pytest.fixture
def run(spark, monkeypatch, capsys):
    """`run(sql, *options)` is (status, stdout, stderr) of `sqlext run -`."""

    def call(text, *options):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        status = main(["run", "-", "--warehouse", spark.conf.get(WAREHOUSE), *options])
        return (status, *capsys.readouterr())

    return call


def test_results_in_a_pipe_are_separated_by_tabs(run):
    text = "SELECT 1 AS a, NULL AS `b c`, 'x\\ty' AS a; USE default; SELECT array(1, NULL) AS l"
    assert run(text) == (0, "a\tb c\ta\n1\tNULL\tx\\ty\n\nl\n[1, null]\n", "")


def test_values_are_written_as_spark_writes_them(run):
    text = "SELECT true t, 1.50 d, DATE'2026-01-31' e, TIMESTAMP'2026-01-31 10:00' s, named_struct('x', 1) r, 1e10D f"
    assert run(text)[1].splitlines()[1] == "true\t1.50\t2026-01-31\t2026-01-31 10:00:00\t{1}\t1.0E10"


def test_limit_and_parameters(run):
    text = "SELECT id, :name || '!' AS n, typeof(:size) AS t FROM range(10) WHERE id >= :low ORDER BY id"
    options = ["--limit", "2", "--param", "name=it's", "--param", "low=3", "--param", "size=1.5"]
    assert run(text, *options) == (0, "id\tn\tt\n3\tit's!\tdecimal(2,1)\n4\tit's!\tdecimal(2,1)\n", "")


def test_a_mistake_is_told_without_a_traceback_and_stops_the_file(run):
    status, out, err = run("SELECT 1 AS a;\nSELECT * FROM no_such_table;\nSELECT 2 AS b")
    assert (status, out) == (FAILED, "a\n1\n")
    assert err.startswith("statement 2 of 3:\n[TABLE_OR_VIEW_NOT_FOUND]")
    assert "line 2 pos 14" in err
    assert not any(word in err for word in ("Traceback", "org.apache", "\tat ", "Unresolved"))


SYNTAX = [
    ("SELECT 1 AS a;\nSELECT 2 AS b;\nSELEC 3", "statement 3 of 3:\n[PARSE_SYNTAX_ERROR]"),
    ("SELECT 1 AS a;\nSELECT * FROM range(3) MATCH_RECOGNIZE (PATERN (A))", "statement 2 of 2:\nSQLEXT_"),
]


@pytest.mark.parametrize(("text", "message"), SYNTAX)
def test_a_syntax_error_is_reported_before_anything_runs(run, text, message):
    status, out, err = run(text)
    assert (status, out) == (FAILED, "")
    assert err.startswith(message)
    assert "EXPLAIN" not in err and "\n\n\n" not in err
    assert ("For more: sqlext explain-error" in err) == ("SQLEXT_" in err)  # not for Spark's own


def test_statements_may_be_an_argument(spark, capsys):
    assert main(["run", "-e", "SELECT 1 AS a", "--warehouse", spark.conf.get(WAREHOUSE), "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["a", "1"]


FILES = [("csv", 'a,b\n1,"x,y"\n2,\n'), ("json", '{"a":1,"b":"x,y"}\n{"a":2,"b":null}\n')]


@pytest.mark.parametrize(("form", "content"), FILES)
def test_a_result_is_written_to_a_file(run, tmp_path, form, content):
    file = tmp_path / f"result.{form}"
    assert run("SELECT * FROM VALUES (1, 'x,y'), (2, NULL) AS t(a, b)", "-o", str(file)) == (0, "", "")
    assert file.read_text().replace("\r\n", "\n") == content


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_that_cannot_be_written_is_told_without_a_traceback(run, tmp_path, form):
    file = tmp_path / "none" / f"result.{form}"
    assert run("SELECT 1", "-o", str(file)) == (FAILED, "", f"{file}: no such file or directory\n")


@pytest.mark.parametrize("options", [(), ("--format", "json"), ("--limit", "1")])
def test_an_error_of_java_is_told_without_a_traceback(run, tmp_path, options):
    file = tmp_path / "no.parquet"
    file.write_text("these are not the bytes of Parquet")
    view = f"CREATE TEMP VIEW broken (id INT) USING parquet OPTIONS (path '{file}')"
    status, _, err = run(f"{view}; TABLE broken", *options)
    run("DROP VIEW broken")
    assert status == FAILED
    assert err.startswith("statement 2 of 2:\n[FAILED_READ_FILE") and "\tat " not in err and "Traceback" not in err


HOSTILE = """SELECT X'00ff41' AS b, named_struct('x', X'C3', 'l', array(X'28', NULL)) AS s, map('k', X'FF') AS m,
    double('NaN') AS d, 1.50 AS e, '' AS f, CAST(NULL AS STRING) AS g, 'NA' AS h, CAST(NULL AS BINARY) AS i"""
NESTED = '"{C3, [28, null]}",{k -> FF}'


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--format", "csv"), f'00FF41,{NESTED},NaN,1.50,"",,NA,'),
        (("--format", "csv", "--null", "NA"), f'00FF41,{NESTED},NaN,1.50,"",NA,"NA",NA'),
        ((), "00FF41\t{C3, [28, null]}\t{k -> FF}\tNaN\t1.50\t\tNULL\tNA\tNULL"),
        (("--null", "\\N"), "00FF41\t{C3, [28, null]}\t{k -> FF}\tNaN\t1.50\t\t\\N\tNA\t\\N"),
        (("--format", "json"), '{"b":"AP9B","s":{"x":"ww==","l":["KA==",null]},"m":{"k":"/w=="},"d":"NaN","e":1.50,'
                               '"f":"","g":null,"h":"NA","i":null}'),
    ],
)  # fmt: skip
def test_no_format_loses_a_value(run, options, line):
    status, out, err = run(HOSTILE, *options)
    assert (status, out.splitlines()[-1], err) == (0, line, "")


WIDE = ", ".join(f"TIMESTAMP'2026-01-01 08:30:{i:02}' + INTERVAL '0.123456' SECOND AS t{i}" for i in range(30))


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_table_cuts_no_cell(run, monkeypatch, is_terminal):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal, raising=False)
    _, out, _ = run(f"SELECT {WIDE}", "--format", "table")
    assert [f"2026-01-01 08:30:{i:02}.123456" in out for i in range(30)] == [True] * 30
    assert ("─ row 1 ─" in out) == is_terminal
    assert "…" not in out


def test_a_result_is_written_as_parquet_and_a_second_one_is_an_error(run, tmp_path):
    file = tmp_path / "result.parquet"
    status, _, err = run("SELECT id FROM range(5); SELECT 2", "-o", str(file), "--limit", "3")
    assert (status, pq.read_table(file).to_pydict()) == (FAILED, {"id": [0, 1, 2]})
    assert "SQLEXT_OUTPUT_FILE" in err


def test_the_version_is_shown(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"sqlext {sqlext.__version__}\n"


def test_a_failure_at_run_time_is_told_without_a_stack(run):
    status, _, err = run("SELECT 1 / id FROM range(1)")
    assert status == FAILED
    assert err.startswith("[DIVIDE_BY_ZERO]")
    assert "Exception" not in err and "\tat " not in err


@pytest.mark.parametrize("form", ["csv", "json"])
def test_rows_go_into_a_pipe_as_they_are_computed(run, form):
    status, out, err = run("SELECT if(id < 90, 1, 1 / (id - id)) AS x FROM range(0, 100, 1, 10)", "--format", form)
    assert (status, len(out.splitlines()) > 20) == (FAILED, True)
    assert err.startswith("[DIVIDE_BY_ZERO]")


def test_a_stream_is_refused_with_a_hint_and_an_error_of_delta_is_its_message(run):
    run("CREATE TABLE cli_t (x INT)")
    status, _, err = run("SELECT * FROM STREAM cli_t")
    merge = run("MERGE INTO cli_t t USING cli_t s ON t.nope = s.x WHEN MATCHED THEN DELETE")
    run("DROP TABLE cli_t")
    assert status == FAILED
    assert "SQLEXT_STREAM_WITHOUT_TABLE" in err and "Hint: " in err
    assert (merge[0], merge[2].startswith("[DELTA_MERGE_UNRESOLVED_EXPRESSION] Cannot resolve")) == (FAILED, True)


def test_a_terminal_gets_a_table(run, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    _, out, _ = run("SELECT 1 AS n, '[b]' AS s UNION ALL SELECT NULL, 'x'", "--limit", "1")
    assert "[b]" in out and "┃" in out
    assert "the first 1 rows; --limit N shows more" in out


PAIRS = """CREATE TEMP VIEW cli_pairs AS SELECT * FROM VALUES (1, 5), (2, 4), (3, 4) AS t(n, x);
SELECT * FROM cli_pairs MATCH_RECOGNIZE (ORDER BY n MEASURES b.n AS n PATTERN (a b) DEFINE b AS x < PREV(x))"""
EXPLANATIONS = [
    (("--analyze",), "== Clause 1, line 2 ==\n== Start here ==\n1 match is found"),
    (("--why", "n = 3"), "Row 3 of 3, n = 3\nIt is in no match."),
    ((), "No clause of the extended language"),
    ((), "== Statement for Spark ==\nSELECT * FROM "),  # without the empty lines above the statement
]


@pytest.mark.parametrize(("options", "expected"), EXPLANATIONS)
def test_queries_of_a_file_are_explained_over_its_temporary_views(spark, capsys, options, expected):
    assert main(["explain", "-e", PAIRS, "--warehouse", spark.conf.get(WAREHOUSE), *options]) == 0
    assert expected in capsys.readouterr().out
    spark.sql("DROP VIEW cli_pairs")


RISE = "AS MATCH_RECOGNIZE (MEASURES LAST(B.x) AS x PATTERN (A B+) DEFINE B AS x > PREV(x))"


@pytest.fixture
def rules(spark, monkeypatch, capsys):
    """`rules(arguments, text)` is (status, lines of stdout, stderr) of `sqlext rules …`, over a table of ten events."""
    spark.sql("""CREATE TABLE cli_events AS SELECT id % 2 AS k, id AS x,
        TIMESTAMP '2026-01-01' + make_dt_interval(0, 0, id) AS ts FROM range(10)""")

    def call(arguments, text=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        status = main(["rules", *shlex.split(arguments), "--warehouse", spark.conf.get(WAREHOUSE)])
        out, err = capsys.readouterr()
        return status, out.splitlines(), err

    yield call
    for table in ("cli_rules", "cli_rules_errors", "cli_events"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")


def test_rules_are_checked_added_listed_and_disabled(rules):
    rise = f"CREATE PATTERN RULE rise ON cli_rules FOR TABLE cli_events {RISE}"
    never = (
        "CREATE PATTERN RULE never ON cli_rules FOR TABLE cli_events AS MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x < 0)"
    )
    assert rules("check - --rows 6 --partition-by k", f"{rise};\n{never}") == (
        0,
        ["rise: 2 matches in the last 6 rows of `default`.`cli_events`", "k\tfirst_time\tlast_time\tx",
         "0\t2026-01-01 00:04:00\t2026-01-01 00:08:00\t8", "1\t2026-01-01 00:05:00\t2026-01-01 00:09:00\t9", "",
         "never: 0 matches in the last 6 rows of `default`.`cli_events`"],
        "",
    )  # fmt: skip
    assert "SQLEXT_NO_RULES_TABLE" in rules("list cli_rules")[2]  # check has stored nothing
    assert rules("add -", rise)[0] == 0
    status, lines, _ = rules("disable rise --on cli_rules")
    assert (status, lines[1].split("\t")[:3], lines[1].split("\t")[-1]) == (0, ["rise", "2", "false"], "disabled")
    assert rules("list default.cli_rules")[1] == lines


def test_a_trial_of_rules_checks_its_options(rules):
    rise = f"CREATE PATTERN RULE rise ON cli_rules FOR TABLE cli_events {RISE}"
    error = rules("check - --partition-by kk", rise)[2]
    assert "SQLEXT_UNKNOWN_COLUMN: `default`.`cli_events` has no column `kk`" in error
    with pytest.raises(SystemExit, match="2"):
        rules("check - --rows -5", rise)


def test_a_file_of_rules_holds_nothing_else_and_errors_have_their_line(rules):
    status, _, err = rules("add -", f"CREATE PATTERN RULE r ON cli_rules FOR TABLE cli_events {RISE};\nSELECT 1")
    assert (status, err.splitlines()[0]) == (FAILED, "SQLEXT_RULE_FILE: this is not CREATE, ALTER or DROP PATTERN RULE")
    assert "SQLEXT_NO_RULES_TABLE" in rules("list cli_rules")[2]  # the first statement did not run
    status, _, err = rules(
        "check -", f"\nCREATE PATTERN RULE r ON cli_rules FOR TABLE cli_events\n{RISE.replace('> PREV(x)', '> y')}"
    )
    assert (status, "3 | AS MATCH_RECOGNIZE" in err) == (FAILED, True)
