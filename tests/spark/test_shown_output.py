"""What people see of the output of Spark and its workers: cases of shown_output.txt, in chunks of any size."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sqlext.spark.shown_output import shown_output

BLOCKS = re.split(r"\n== (?=[a-z])", (Path(__file__).parent / "shown_output.txt").read_text("utf-8"))[1:]
CASES = [(title, *body.split("\n>>\n")) for title, body in (block.split("\n", 1) for block in BLOCKS)]


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize(("title", "written", "shown"), CASES, ids=[title for title, _, _ in CASES])
def test_output_is_shown_without_what_says_nothing(title, written, shown, size):
    text = (written + "\n").replace("→", "\t").encode()
    chunks = [text[i : i + size] for i in range(0, len(text), size)]
    assert b"".join(shown_output(chunks)).decode().rstrip("\n") == shown.rstrip("\n").replace("→", "\t")


def test_who_sets_the_level_of_the_log_sees_failed_tasks():
    written = next(written for title, written, _ in CASES if title == "a failed task").replace("→", "\t") + "\n"
    assert b"".join(shown_output([written.encode()], shows_failed_tasks=True)).decode() == written
