"""The shell, with prompt_toolkit's pipe in the place of a keyboard."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from sqlext.cli.shell import Shell
from sqlext.cli.shell_input import Names, SqlCompleter, is_complete

COMPLETE = [
    "SELECT 1;", "SELECT 1; SELECT 2 ; -- two", "BEGIN SELECT 1; SELECT 2; END;", "SELECT 0; BEGIN SELECT 1; END;", "",
    ".tables", "SELECT CASE WHEN true THEN 1 END;", "SELECT ';' AS `;`;", "/* only */ SELECT 1 /* ; */;",
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
    ("SELECT * FROM ticks MATCH_R", ["MATCH_RECOGNIZE", "MATCH_ROWTIME", "MATCH_RULES"]),
    (".co", [".columns"]),
    ("SELECT 'unclosed sy", []),
]


@pytest.mark.parametrize(("text", "expected"), COMPLETIONS)
def test_the_word_before_the_cursor_is_completed(text, expected):
    completer = SqlCompleter(Names(lambda: TABLES, lambda table: TABLES[table]))
    before, _, behind = text.partition("|")
    document = Document(before + behind, len(before))
    assert [c.text for c in completer.get_completions(document, CompleteEvent(completion_requested=True))] == expected


def test_names_that_cannot_be_read_end_nothing():
    def fail(*_: str) -> list[str]:
        raise ConnectionError

    completer = SqlCompleter(Names(fail, fail))
    assert list(completer.get_completions(Document("SELECT zz"), CompleteEvent(completion_requested=True))) == []


TYPED = """SELECT *
FROM VALUES (1), (2), (3) AS t(n)
  MATCH_RECOGNIZE (ORDER BY n MEASURES LAST(n) AS last_n PATTERN (A B) DEFINE B AS n > PREV(n));
SELECT nope FROM VALUES (1) AS t(n); SELECT 'not run';
.limit 1
SELECT * FROM range(10);
BEGIN SELECT 41; SELECT 42 AS answer; END;
.quit
SELECT 'behind';
"""


def test_statements_are_run_and_shown_and_an_error_ends_no_shell(spark, capsys):
    history = InMemoryHistory()
    with create_pipe_input() as keyboard:
        keyboard.send_text(TYPED.replace("\n", "\r"))
        Shell(spark, 100, history=history, keyboard=keyboard, screen=DummyOutput()).loop()
    out, err = capsys.readouterr()
    assert "│      2 │" in out and "last_n" in out
    assert "the first 1 rows" in out and "answer" in out and "41" not in out
    assert "nope" in err and "not run" not in out and "behind" not in out
    assert history.get_strings()[0].startswith("SELECT *\nFROM VALUES")
