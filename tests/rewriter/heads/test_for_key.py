"""The condition of DESCRIBE STREAMING TABLE … FOR KEY: where it ends, and errors at the place of what is wrong."""

from __future__ import annotations

import pytest

from sqlext.errors import ParseError
from sqlext.rewriter.heads.stream_heads import parse_command

FOR_KEY = "DESCRIBE STREAMING TABLE t FOR KEY "


@pytest.mark.parametrize(
    ("rest", "condition"),
    [("(card = '1')", "card = '1'"), ("((a = 1) OR (b = 2));", "(a = 1) OR (b = 2)"), ("(a = ')')", "a = ')'")],
)
def test_the_condition_is_what_the_parentheses_hold(rest, condition):
    assert parse_command(FOR_KEY + rest).key.text == condition


@pytest.mark.parametrize(
    ("rest", "message", "marked"),
    [
        ("(card = '1'", "this parenthesis is not closed", "("),
        ("((card = '1')", "this parenthesis is not closed", "("),
        ("(card = f(1)", "this parenthesis is not closed", "("),
        ("()", "a condition on the key is missing", "()"),
        ("(card = '1'))", "nothing may follow the condition of FOR KEY", ")"),
        ("(a = 1) OR (b = 2)", "nothing may follow the condition of FOR KEY", "OR (b = 2)"),
        ("card = 1", "card is written where a condition on the key in parentheses must follow", "card"),
        ("", "a condition on the key in parentheses must follow here", "KEY"),
        ("(", "( is written where a condition on the key in parentheses must follow", "("),
    ],
)
def test_an_error_marks_what_is_wrong(rest, message, marked):
    with pytest.raises(ParseError) as error:
        parse_command(FOR_KEY + rest)
    place = error.value.place
    assert (error.value.message, place.text[place.start : place.stop]) == (message, marked)
