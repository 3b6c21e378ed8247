"""The stored state of an ASOF JOIN of the current version is read, and the join goes on from it.

`python -m tests.operators.asof.test_golden_asof` writes the files of the current version, which must not exist yet.
"""

from __future__ import annotations

from pathlib import Path

from sqlext.operators.asof.operator import AsofOperator
from sqlext.operators.asof.plan import OF_LEFT, OF_RIGHT
from sqlext.operators.stateful import state_log
from tests.operators.driven import Driven, read_golden, write_golden

from .test_step import emitted, plan_of, table

FOLDER = Path(__file__).parent / "golden" / f"state_v{state_log.VERSION}"
BEFORE = [(OF_RIGHT, 5, "a", None, 1, "x"), (OF_LEFT, 7, "a", 1, None, None), (OF_LEFT, 9, "a", 2, None, None),
          (OF_RIGHT, 12, None, None, 2, None)]  # fmt: skip
AFTER = [(OF_RIGHT, 10, "a", None, 3, "y"), (OF_LEFT, 13, None, 3, None, None)]


def before() -> Driven:
    driven = Driven(AsofOperator(plan=plan_of("NEAREST", 3, True)))
    driven.step(9, rows=table(BEFORE))
    return driven


def test_a_join_goes_on_from_stored_state():
    driven = Driven(AsofOperator(plan=plan_of("NEAREST", 3, True)), read_golden(FOLDER))
    driven.step(20, rows=table(AFTER))
    assert emitted(driven) == [(10, 1, 1, "x"), (12, 2, 3, "y"), (16, 3, 2, None)]


def test_the_files_are_what_this_version_writes():
    assert before().stored.header_bytes() == (FOLDER / "header").read_bytes()


if __name__ == "__main__":
    write_golden(FOLDER, before().stored)
