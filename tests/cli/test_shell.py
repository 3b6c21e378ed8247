"""The shell, with prompt_toolkit's pipe in the place of a keyboard."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from sqlext.cli.file_views import create_file_views
from sqlext.cli.shell import Shell, kept_history
from sqlext.cli.shell_commands import COMMANDS, NAMES, help_lines, read_command
from sqlext.cli.shell_input import SqlCompleter, is_complete
from sqlext.cli.shell_programs import edited, page
from sqlext.errors import SqlExtError
from sqlext.formatting.completions import CompletionNames

ROOT = Path(__file__).parents[2]
COMPLETE = [
    "SELECT 1;", "SELECT 1; SELECT 2 ; -- two", "BEGIN SELECT 1; SELECT 2; END;", "SELECT 0; BEGIN SELECT 1; END;", "",
    ".tables", r"\d ticks", "SELECT CASE WHEN true THEN 1 END;", "SELECT ';' AS `;`;", "/* only */ SELECT 1 /* ; */;",
]  # fmt: skip
OPEN = ["SELECT 1", "SELECT ';", "SELECT 1; SELECT 2", "BEGIN SELECT 1;", "BEGIN IF x THEN SELECT 1; END IF;", "-- no;"]


@pytest.mark.parametrize("text", COMPLETE)
def test_enter_runs_what_ends_with_a_semicolon(text):
    assert is_complete(text)


@pytest.mark.parametrize("text", OPEN)
def test_enter_begins_a_line_in_what_goes_on(text):
    assert not is_complete(text)


TABLES = {"ticks": ["symbol", "price", "of day"], "db.orders": ["id", "placed_at"]}
COMPLETIONS = [
    ("SELECT * FROM ti", ["ticks", "TIMESTAMP"]),
    ("SELECT * FROM db.", ["db.orders"]),
    ("SELECT * FROM ticks t MATCH_RECOGNIZE (PARTITION BY sy", ["symbol"]),
    ("SELECT o.pl| FROM db.orders o", ["placed_at"]),
    ("SELECT * FROM ticks WHERE `o", []),
    ("SELECT nvl", ["nvl2"]),
    ("SELECT * FROM x MATCH_RECOGNIZE (PATTERN (strt (downhill+ `up h`)) DEFINE downh", ["downhill"]),
    ("SELECT * FROM x MATCH_RECOGNIZE (MEASURES LAST(zi|) PATTERN (zig zag) DEFINE", ["zig"]),
    ("SELECT * FROM ticks MATCH_R", ["MATCH_RECOGNIZE", "MATCH_ROWTIME", "MATCH_RULES"]),
    (".co", [".columns"]),
    ("\\d", ["\\dt", "\\d"]),
    ("SELECT 'unclosed sy", []),
]


@pytest.mark.parametrize(("text", "expected"), COMPLETIONS)
def test_the_word_before_the_cursor_is_completed(text, expected):
    completer = SqlCompleter(CompletionNames(lambda: TABLES, lambda table: TABLES[table]))
    before, _, after = text.partition("|")
    document = Document(before + after, len(before))
    assert [c.text for c in completer.get_completions(document, CompleteEvent(completion_requested=True))] == expected


def test_names_that_cannot_be_read_end_nothing():
    def fail(*_: str) -> list[str]:
        raise ConnectionError

    completer = SqlCompleter(CompletionNames(fail, fail))
    assert list(completer.get_completions(Document("SELECT zz"), CompleteEvent(completion_requested=True))) == []


READ = [
    (".help", ".help", ""), (r"\?", ".help", ""), (r"\q", ".quit", ""), (r"\dt", ".tables", ""), (r"\d", ".tables", ""),
    (r"\d ticks;", ".columns", "ticks"), (r"\i a b.sql", ".read", "a b.sql"), (r"\e", ".edit", ""),
    (".edit x.sql", ".edit", "x.sql"), (r"\x", ".expanded", ""), (".expanded auto", ".expanded", "auto"),
    (r"\timing off", ".timing", "off"), (".LIMIT 5", ".limit", "5"), ("help", ".help", ""), ("?", ".help", ""),
    ("exit", ".quit", ""), ("QUIT;", ".quit", ""), (".mode csv", ".mode", "csv"), (r"\o a.csv", ".output", "a.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "argument"), READ)
def test_a_command_is_read_by_its_name_and_by_that_of_psql(text, name, argument):
    command, found = read_command(text)
    assert (command.name, found) == (name, argument)


UNREAD = [
    (".tabels", "there is no command .tabels", "did you mean .tables? .help lists the commands.", 0),
    (r"\z", r"there is no command \z", ".help lists the commands.", 0),
    (".limit", ".limit does not go like this", "write .limit N. .help lists the commands.", 0),
    (".limit -1", ".limit does not go like this", "write .limit N. .help lists the commands.", 7),
    (".columns", ".columns does not go like this", "write .columns NAME. .help lists the commands.", 0),
    (r"\timing yes", r"\timing does not go like this", "write .timing [on|off]. .help lists the commands.", 8),
    (".quit now", ".quit does not go like this", "write .quit. .help lists the commands.", 6),
]


@pytest.mark.parametrize(("text", "message", "hint", "start"), UNREAD)
def test_an_unknown_command_says_so(text, message, hint, start):
    with pytest.raises(SqlExtError) as error:
        read_command(text)
    assert (error.value.message, error.value.hint, error.value.place.start) == (message, hint, start)


def test_help_and_the_documents_list_each_command():
    document = (ROOT / "docs/tools.md").read_text("utf-8")
    rows = ["| `{}` | {} |".format(str(c).replace("|", r"\|"), c.psql and f"`{c.psql}`") for c in COMMANDS]
    assert [row for row in rows if row not in document] == []
    assert len(help_lines()) == len(COMMANDS) + 1 and len(NAMES) == len(COMMANDS) + sum(bool(c.psql) for c in COMMANDS)


def program(folder, name, text):
    """A command that runs a Python program."""
    (folder / name).write_text(text)
    return shlex.join([sys.executable, str(folder / name)])


def test_the_editor_changes_a_statement_or_a_file(tmp_path, monkeypatch):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", program(tmp_path, "add.py", "import sys; open(sys.argv[-1], 'a').write(' + 1;')"))
    file = tmp_path / "a.sql"
    assert edited("SELECT 1", None) == "SELECT 1 + 1;"
    assert edited("SELECT 1", file) == " + 1;"
    assert edited("", file) == file.read_text() == " + 1; + 1;"
    monkeypatch.setenv("EDITOR", program(tmp_path, "quit.py", "import sys; open(sys.argv[-1], 'a').close()"))
    assert edited("DELETE FROM t;", None) is None
    monkeypatch.setenv("VISUAL", program(tmp_path, "fail.py", "import sys; open(sys.argv[-1], 'w'); sys.exit(1)"))
    assert edited("DELETE FROM t;", None) is None


def test_a_pager_gets_what_is_long_and_without_one_it_is_printed(tmp_path, monkeypatch, capsys):
    pager = "import os, sys; open(sys.argv[0] + '.txt', 'w').write(os.environ['LESS'] + sys.stdin.read())"
    monkeypatch.delenv("LESS", raising=False)
    monkeypatch.setenv("PAGER", program(tmp_path, "pager", pager))
    page("rows")
    assert (tmp_path / "pager.txt").read_text() == "-RSXrows"
    monkeypatch.setenv("PAGER", "no-such-pager")
    page("rows\n")
    assert capsys.readouterr().out == "rows\n"


TYPED = """SELECT *
FROM VALUES (1), (2), (3) AS t(n)
  MATCH_RECOGNIZE (ORDER BY n MEASURES LAST(n) AS last_n PATTERN (A B) DEFINE B AS n > PREV(n));
SELECT nope FROM VALUES (1) AS t(n); SELECT 'not run';
.limit 1
SELECT * FROM range(10);
\\x on
SELECT 7 AS seven;
.bogus
\\timing off
BEGIN SELECT 41; SELECT 42 AS answer; END;
USE default;
\\e
\\q
SELECT 'behind';
"""


def test_statements_are_run_and_shown_and_an_error_ends_no_shell(spark, capsys, tmp_path, monkeypatch):
    editor = "import sys; open(sys.argv[-1], 'w').write('SELECT 8 AS e;')"
    monkeypatch.setenv("VISUAL", program(tmp_path, "edit.py", editor))
    history = InMemoryHistory()
    with create_pipe_input() as keyboard:
        keyboard.send_text(TYPED.replace("\n", "\r"))
        Shell(spark, 100, history=history, keyboard=keyboard, screen=DummyOutput()).loop()
    out, err = capsys.readouterr()
    assert "│      2 │" in out and "last_n" in out
    assert "answer" in out and "41" not in out
    assert "nope" in err and "not run" not in out and "behind" not in out
    assert "─ row 1 ─\nseven  7\n" in out and "e  8\n" in out
    assert "SQLEXT_SHELL_COMMAND: there is no command .bogus" in err
    notes = [line for line in err.splitlines() if re.match(r"\d+ rows?|the first|done", line)]
    assert [re.sub(r"\d+\.\d s", "T", note) for note in notes] == [
        "1 row, T", "the first 1 rows; .limit N shows more, T", "1 row, T", "1 row", "done", "1 row",
    ]  # fmt: skip
    assert history.get_strings()[0].startswith("SELECT *\nFROM VALUES")
    assert history.get_strings()[-1] == r"\q" and "SELECT 8 AS e;" in history.get_strings()


def test_results_are_written_in_a_mode_and_into_a_file(spark, tmp_path, capsys):
    shell = Shell(spark, 1, history=InMemoryHistory(), screen=DummyOutput())
    file = tmp_path / "rows.json"
    for text in (".mode csv", "SELECT id FROM range(2);", f".output {file}", "SELECT 1 AS a; SELECT id FROM range(2);"):
        shell.run(text)
    assert file.read_text() == '{"a":1}\n{"id":0}\n{"id":1}\n'
    shell.run(".output")
    shell.run("SELECT 5 AS five;")
    out, err = capsys.readouterr()
    assert out.startswith("id\r\n0\r\n") and "│" in out and "five" in out
    assert f"written to {file}, " in err and f".output {file}, json" in err


def test_files_become_views_and_na_is_null_where_it_is_no_text(spark, tmp_path):
    csv, json, other = tmp_path / "2013 flights.csv", tmp_path / "a-b.json", tmp_path / "c.xlsx"
    csv.write_text("day,delay,origin\n1,5,JFK\n2,NA,NA\n")
    json.write_text('{"x": 1}\n')
    assert create_file_views(spark, [csv, json]) == [
        f"`2013_flights`: 3 columns of {csv}; NA is NULL, in delay", f"a_b: 1 column of {json}",
    ]  # fmt: skip
    rows = spark.table("2013_flights")
    assert rows.dtypes == [("day", "int"), ("delay", "int"), ("origin", "string")]
    assert sorted(map(tuple, rows.collect())) == [(1, 5, "JFK"), (2, None, "NA")]
    for file, error in ((other, SqlExtError), (tmp_path / "no.csv", FileNotFoundError)):
        with pytest.raises(error):
            create_file_views(spark, [file])
    for view in ("2013_flights", "a_b"):
        spark.catalog.dropTempView(view)


def test_errors_of_a_file_name_its_statement_and_its_line(spark, tmp_path, capsys):
    shell = Shell(spark, 100, history=InMemoryHistory(), screen=DummyOutput())
    file, other = tmp_path / "read.sql", tmp_path / "latin1.sql"
    clause = "MATCH_RECOGNIZE (ORDER BY id PATTERN (a) DEFINE b AS true)"
    file.write_text(f"SELECT 1 AS one;\n\nSELECT * FROM range(3)\n  {clause};\n")
    other.write_bytes("SELECT 'é'".encode("latin-1"))
    shell.run(f".read {file}")
    assert "\nstatement 2 of 2:\nSQLEXT_" in (error := capsys.readouterr().err)
    assert f"  4 |   {clause}\n" in error
    shell.run(f".read {other}")
    assert capsys.readouterr().err == f"{other}: byte 8 is not UTF-8\n"
    shell.run(".read ~nobody_has_this_name/read.sql")
    assert capsys.readouterr().err == "~nobody_has_this_name/read.sql: no such file or directory\n"


def test_an_error_of_java_ends_no_shell(spark, tmp_path, capsys):
    file = tmp_path / "no.parquet"
    file.write_text("these are not the bytes of Parquet")
    shell = Shell(spark, 100, history=InMemoryHistory(), screen=DummyOutput())
    shell.run(f"CREATE TEMP VIEW broken (id INT) USING parquet OPTIONS (path '{file}'); TABLE broken;")
    shell.run("DROP VIEW broken;")
    error = capsys.readouterr().err
    assert "statement 2 of 2:\n[FAILED_READ_FILE" in error and "\tat " not in error


def test_without_a_home_the_history_ends_with_the_shell(tmp_path, capsys):
    history = kept_history(tmp_path / "none" / "history")
    history.append_string("SELECT 1;")
    assert history.get_strings() == ["SELECT 1;"]
    assert "The history ends with this shell." in capsys.readouterr().err


def test_what_is_longer_than_the_screen_goes_to_the_pager(spark, monkeypatch, capsys):
    pages = []
    monkeypatch.setattr("sqlext.cli.shell.page", pages.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("LINES", "10")
    monkeypatch.setenv("COLUMNS", "80")
    shell = Shell(spark, 100, history=InMemoryHistory(), screen=DummyOutput())
    for text in ("SELECT 1 AS n;", "SELECT id AS long FROM range(30);", ".pager", "SELECT id AS m FROM range(30);"):
        shell.run(text)
    out = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
    assert ["long" in text for text in pages] == [True]
    assert [name in out for name in (" n ", " long ", " m ")] == [True, False, True]
