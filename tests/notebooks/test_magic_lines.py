"""What follows `%sql` and `%%sql`, and the statements about widgets: pure text."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from sqlext.errors import BindError, Place, SqlExtError, SqlExtErrors
from sqlext.notebooks.cell_values import with_texts
from sqlext.notebooks.failed_line import failed_line
from sqlext.notebooks.live_progress import LiveProgress
from sqlext.notebooks.magic_line import MagicLine, parse_magic_line
from sqlext.notebooks.widgets import Widgets, parse_widget_statement

LINES = [
    ("", False, MagicLine()),
    ("SELECT 1", False, MagicLine(sql="SELECT 1")),
    ("-- a comment", False, MagicLine(sql="-- a comment")),
    ("--view v --limit=3 -c SELECT 1", False, MagicLine(view="v", limit=3, is_cached=True, sql=" " * 22 + "SELECT 1")),
    ("df", True, MagicLine(target="df")),
    ("df <<", True, MagicLine(target="df")),
    ("df << SELECT 1 << 2", False, MagicLine(target="df", sql="      SELECT 1 << 2")),
    ("--explain --draw", True, MagicLine(explains=True, draws=True)),
    ("-w", True, MagicLine(says_why=True)),
    ("SHOW TABLES", True, MagicLine(sql="SHOW TABLES")),
]


@pytest.mark.parametrize(("line", "has_body", "options"), LINES)
def test_options_and_a_target_stand_before_the_sql(line, has_body, options):
    assert parse_magic_line(line, has_body=has_body) == options


WRONG = [
    ("--lmit 3", "--lmit is no option of %sql", "did you mean --limit?"),
    ("-x", "-x is no option of %sql", "the options are --view, --limit, --cache, --explain, --draw, --why."),
    ("--limit SELECT 1", "--limit needs a number of rows", "write --limit a number of rows."),
    ("--view", "--view needs a name", "write --view a name."),
]


@pytest.mark.parametrize(("line", "message", "hint"), WRONG)
def test_a_wrong_option_is_an_error_that_names_the_right_one(line, message, hint):
    with pytest.raises(SqlExtError) as error:
        parse_magic_line(line)
    assert (error.value.message, error.value.hint, error.value.error_class) == (message, hint, "SQLEXT_MAGIC_OPTION")


STATEMENTS = [
    ("CREATE WIDGET TEXT day DEFAULT '2026-01-01'", ("day", "TEXT", "2026-01-01", None)),
    ('create widget text day default ""', ("day", "TEXT", "", None)),
    ("CREATE WIDGET TEXT day", ("day", "TEXT", "", None)),
    ("CREATE WIDGET TEXT `a``b` DEFAULT 'O''Neil'", ("a`b", "TEXT", "O'Neil", None)),
    ("CREATE WIDGET COMBOBOX `a b` DEFAULT 'x' CHOICES SELECT y FROM t", ("a b", "COMBOBOX", "x", "SELECT y FROM t")),
    ("REMOVE WIDGET day", ("day", None, "", None)),
    ("CREATE WIDGET day", "CREATE WIDGET needs a kind and a name"),
    ("CREATE WIDGET TEXT day 'x'", "a widget has a DEFAULT, then CHOICES"),
    ("REMOVE WIDGET", "REMOVE WIDGET takes one name"),
    ("SELECT 1", None),
]


@pytest.mark.parametrize(("text", "parts"), STATEMENTS)
def test_a_statement_about_a_widget_is_read(text, parts):
    if isinstance(parts, str):
        with pytest.raises(SqlExtError, match=parts):
            parse_widget_statement(text)
        return
    widget = parse_widget_statement(text)
    choices = widget and widget.choices and widget.choices.text
    assert parts == (widget and (widget.name, widget.kind, widget.default, choices))


def test_only_a_whole_call_of_get_argument_is_replaced():
    widgets = Widgets({"it's": "1"})
    assert str(with_texts("SELECT getArgument('it''s')", widgets)) == "SELECT '1'"
    assert str(with_texts("SELECT getArgument('it''s', 'b')", widgets)) == "SELECT getArgument('it''s', 'b')"


CODE = "%%sql\nSELECT 1;\nSELECT x\n"
FAILURES = [
    (BindError("X", "no x", place=Place(CODE, 23, 24)), 3),
    (BindError("X", "in a stored view", place=Place("SELECT * FROM other", 14, 19)), None),
    (SqlExtErrors([BindError("X", "without a place"), BindError("X", "no x", place=Place(CODE, 6, 7))]), 2),
    (PySparkException("[PARSE_SYNTAX_ERROR] Syntax error (line 3, pos 7)"), 3),
    (PySparkException("[TABLE_OR_VIEW_NOT_FOUND] … line 2 pos 14;"), 2),
    (PySparkException("[DIVIDE_BY_ZERO] … == SQL (line 4, position 8) =="), 4),
    (PySparkException("[X] without a place"), None),
    (SyntaxError("invalid", ("cell", 5, 1, "x")), 5),
    (None, None),
]


@pytest.mark.parametrize(("error", "line"), FAILURES)
def test_an_error_names_the_line_of_its_cell(error, line):
    assert failed_line(error, CODE, {}) == line


def test_an_error_in_python_names_the_line_of_the_cell_and_not_that_of_a_function():
    variables = {}
    exec("def f():\n\n\n    return 1 / 0\n", variables)
    with pytest.raises(ZeroDivisionError) as error:
        exec("x = 1\nf()\n", variables)
    assert failed_line(error.value, "x = 1\nf()\n", variables) == 2


def test_the_text_of_a_running_stream_says_how_to_stop_it():
    cells = ("1", "9", "5", "", "", "", "")
    running, ended = (LiveProgress((("alerts", state, *cells),)) for state in ("running", "ended"))
    assert repr(running).split("\n")[1:] == ["%stop ends all streams, %stop NAME one of them"]
    assert repr(ended).split("\n")[1:] == [] and "%stop" not in ended._repr_html_()


def test_a_widget_keeps_its_value_until_it_is_removed():
    widgets = Widgets({"passed": "1"})
    widgets.text("a", "x")
    widgets.text("a", "y")
    widgets.dropdown("passed", "0", [0, 1])
    assert widgets.getAll() == {"a": "x", "passed": "1"}
    widgets.remove("a")
    assert widgets.getArgument("a", "z") == "z"
    with pytest.raises(SqlExtError, match='there is no widget "a"'):
        widgets.remove("a")
    with pytest.raises(SqlExtError, match='"c" is no choice of the widget "m"'):
        widgets.multiselect("m", "a,c", ["a", "b"])
