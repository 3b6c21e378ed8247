"""`sqlext format`: the canonical layout, and that nothing but layout changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlext.cli.format_command import CHANGES, CLEAN, UNREADABLE
from sqlext.cli.main import main
from sqlext.errors import SqlExtError
from sqlext.formatting.format_text import format_text
from sqlext.formatting.gaps import comments, gap_before, same_tokens
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.scan import is_extended
from sqlext.rewriter.text.tokens import tokenize
from tests.sampling import sample

from .statement_files import examples, statements

CASES = [block.split("\n", 1) for block in (Path(__file__).parent / "format.txt").read_text("utf-8").split("\n== ")[1:]]
WRONG = "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)"
LONG = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n MEASURES LAST(n) AS last_n PATTERN (A) DEFINE A AS n > 0)"


def comments_of(text: str) -> list[str]:
    tokens = tokenize(text)
    gaps = [gap_before(text, tokens, i) for i in range(len(tokens))] + [text[tokens[-1].stop :]]
    return [comment.text for gap in gaps for comment in comments(gap)]


def check_unharmed(old: str, new: str) -> None:
    """The same tokens, comments and patterns, and a layout that does not change any more."""
    assert same_tokens(tokenize(old), tokenize(new))
    assert comments_of(old) == comments_of(new)
    assert format_text(new) == new


@pytest.mark.parametrize(("title", "case"), CASES, ids=[title for title, _ in CASES])
def test_a_statement_is_laid_out(title, case):
    old, new = case.rstrip().split("\n--\n")
    assert format_text(old) == new
    check_unharmed(old, new)


@pytest.mark.parametrize("name", examples())
def test_every_example_is_laid_out(name):
    text = examples()[name]
    assert format_text(text) == text


@pytest.mark.slow
def test_statements_of_all_tests_keep_tokens_comments_and_patterns():
    checked = 0
    for where, text in sample(list(statements()), 5):
        try:
            new = format_text(text)
        except SqlExtError:
            continue  # a statement about an error
        if new != text:
            check_unharmed(text, new)
            checked += 1
            if is_extended(text) and not text.lstrip().upper().startswith(("EXPLAIN", "BEGIN")):
                old_clauses, new_clauses = (parse_statement(t).all_clauses for t in (text, new))
                assert [c.pattern for c in old_clauses] == [c.pattern for c in new_clauses], where
    assert checked > 60


BLANKS = st.sampled_from([" ", "  ", "\n", "\n\n   ", "\t", " /* c */ ", " -- c\n", "\n-- d\n  ", "\n  /* e\n f */"])


@settings(max_examples=60)
@given(st.data())
def test_blanks_and_comments_anywhere_between_tokens_are_kept_or_laid_out(data):
    text = data.draw(st.sampled_from([new for _, case in CASES for new in [case.rstrip().split("\n--\n")[1]]]))
    tokens = tokenize(text)
    places = data.draw(st.lists(st.integers(1, len(tokens) - 1), max_size=12))
    for i in sorted(set(places), reverse=True):
        if tokens[i - 1].stop < tokens[i].start:
            text = text[: tokens[i - 1].stop] + data.draw(BLANKS) + text[tokens[i].start :]
    check_unharmed(text, format_text(text))


def test_windows_line_ends_stay():
    new = format_text(LONG.replace(" MEASURES", "\r\nMEASURES"))
    assert new.count("\r\n") == new.count("\n") == 5


def test_only_the_text_of_clauses_changes():
    before, after = "select   1 ;\n\n\tSELECT a,b from x  ;-- end\n", "\n;  SELECT  (1 ) -- no newline"
    assert format_text(before + LONG + after) == before + format_text(LONG) + after


def test_files_are_written_and_a_second_time_they_stay(tmp_path, capsys):
    file = tmp_path / "a.sql"
    file.write_text(LONG, "utf-8")
    assert main(["format", "--check", str(file)]) == CHANGES
    assert main(["format", "--diff", str(file)]) == CHANGES
    assert "\n+  ORDER BY n\n" in capsys.readouterr().out
    assert file.read_text("utf-8") == LONG
    assert main(["format", str(tmp_path)]) == CLEAN
    assert file.read_text("utf-8") == format_text(LONG)
    assert main(["format", "--check", str(file)]) == CLEAN


def test_a_file_with_an_error_stays_as_it_is(tmp_path, capsys):
    file = tmp_path / "a.sql"
    file.write_text(LONG + ";" + WRONG, "utf-8")
    assert main(["format", str(file)]) == UNREADABLE
    assert file.read_text("utf-8") == LONG + ";" + WRONG
    assert re.match(r".*a\.sql:1:\d+: SQLEXT_UNKNOWN_PATTERN_VARIABLE", capsys.readouterr().err)
