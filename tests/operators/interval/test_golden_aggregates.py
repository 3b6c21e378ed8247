"""The stored state of an INTERVAL JOIN … AGGREGATE of the current version is read, and the join goes on from it.

`python -m tests.operators.interval.test_golden_aggregates` writes the files of the current version, which must not
exist yet.
"""

from __future__ import annotations

from pathlib import Path

from sqlext.operators.interval.aggregates_plan import OF_RIGHT
from sqlext.operators.stateful import state_log
from tests.operators.driven import Driven, read_golden, write_golden

from .test_step import CALLS, F, Form, Row, emitted, left_row, operator_of, table

FOLDER = Path(__file__).parent / "golden" / f"state_v{state_log.VERSION}"
FORM = Form(before=-3, after=2, is_prevailing=True, calls=((CALLS[0], ""), (CALLS[9], ""), (CALLS[2], F)))


def right_row(time: int, key: str | None, value: int) -> Row:
    return (OF_RIGHT, time, None, None, key, None, value, "x", value % 2 == 0, None)


def before() -> Driven:
    driven = Driven(operator_of(FORM))
    rights = [right_row(1, "a", 10), right_row(2, "a", 11), right_row(8, "a", 12), right_row(12, None, 13)]
    driven.step(9, rows=table([*rights, left_row(1, 7, "a", FORM, None), left_row(2, 9, "a", FORM, None)]))
    return driven


def test_a_join_goes_on_from_stored_state():
    driven = Driven(operator_of(FORM), read_golden(FOLDER))
    driven.step(20, rows=table([right_row(11, "a", 14), left_row(3, 10, "b", FORM, None)]))
    assert emitted(driven) == [(11, 2, 3, [11, 12, 14], 26), (12, 3, 0, [], None)]


def test_the_files_are_what_this_version_writes():
    assert before().stored.header_bytes() == (FOLDER / "header").read_bytes()


if __name__ == "__main__":
    write_golden(FOLDER, before().stored)
