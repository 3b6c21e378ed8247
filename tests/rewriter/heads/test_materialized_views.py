"""Errors of statements about materialized views: materialized_views.txt holds them with the whole text of their errors.

`python -m tests.rewriter.heads.test_materialized_views` writes the file anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.errors import SqlExtError
from sqlext.rewriter.statements.read_statement import read_statement

FILE = Path(__file__).with_name("materialized_views.txt")
HEAD, *BLOCKS = FILE.read_text("utf-8").split("\n== ")
CASES = {title: block for title, _, block in (text.partition("\n") for text in BLOCKS)}


def error_of(statement: str) -> str:
    with pytest.raises(SqlExtError) as error:
        read_statement(statement)
    return str(error.value)


@pytest.mark.parametrize("title", CASES)
def test_an_error_says_what_is_wrong_and_what_to_write(title):
    statement, _, expected = CASES[title].partition("\n>>\n")
    assert error_of(statement) == expected.strip("\n")


def write() -> None:
    statements = {title: block.partition("\n>>")[0] for title, block in CASES.items()}
    texts = [f"\n== {title}\n{text}\n>>\n{error_of(text)}\n" for title, text in statements.items()]
    FILE.write_text(HEAD.rstrip("\n") + "\n" + "".join(texts), "utf-8")


if __name__ == "__main__":
    write()
