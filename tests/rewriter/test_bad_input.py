"""The errors of wrong clauses: bad_input.txt holds statements and the whole text of their errors."""

from __future__ import annotations

import pickle

import pytest

from sqlext.errors import SqlExtError

from .cases import HERE, blocks, compile_statement

FILE = "bad_input.txt"
CASES = dict(blocks(FILE))


def error_of(statement: str) -> SqlExtError | None:
    try:
        compile_statement(statement)
    except SqlExtError as e:
        return e
    return None


def test_titles_are_unique() -> None:
    assert len(CASES) == len(list(blocks(FILE)))


@pytest.mark.parametrize("title", CASES)
def test_error(title: str) -> None:
    statement, _, expected = CASES[title].partition("\n>>\n")
    error = error_of(statement)
    assert str(error) == expected
    assert str(pickle.loads(pickle.dumps(error))) == expected


def write() -> None:
    text = (HERE / FILE).read_text("utf-8").partition("\n== ")[0].rstrip() + "\n"
    for title, block in blocks(FILE):
        statement = block.partition("\n>>")[0]
        text += f"\n== {title}\n{statement}\n>>\n{error_of(statement)}\n"
    (HERE / FILE).write_text(text, "utf-8")


if __name__ == "__main__":
    write()
