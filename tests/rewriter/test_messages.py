"""No message of the error data shows a name that sqlext generated, or a plan of Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(
    path
    for pattern in ("rewriter/bad_input.txt", "statements/*.txt", "engine/*/*errors.txt",
                    "rewriter/rules/errors.txt", "migration/*.sql")
    for path in TESTS.glob(pattern)
)  # fmt: skip
_INTERNAL = re.compile(r"__\w|_pyspark|sqlext_helper|\+- |one of \[it\b|\bit - it\b|commonexpressionref", re.IGNORECASE)
_EXCERPT = re.compile(r" *\d* \| ")  # a line of the user's text, or the carets under it
_ERROR = re.compile(r"^(?:-- )?(?:error|>>)$")


def messages(path: Path) -> Iterator[str]:
    """The lines of the messages in a data file, without excerpts of statements."""
    is_error = False
    for line in path.read_text("utf-8").splitlines():
        text = line.removeprefix("-- ")
        if _ERROR.match(line):
            is_error = True
        elif line.startswith(("== ", "-- == ")) or (path.suffix == ".sql" and not line.startswith("--")):
            is_error = False
        elif is_error and not _EXCERPT.match(text):
            yield text


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_messages_show_no_internal_names(path):
    assert [line for line in messages(path) if _INTERNAL.search(line)] == []


def test_messages_are_found():
    assert sum(1 for path in FILES for _ in messages(path)) > 400
