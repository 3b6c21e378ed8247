"""The triggers that can be written and the triggers that fire are the same, and so are their hints."""

from __future__ import annotations

import pytest

from sqlext.errors import ParseError
from sqlext.operators.emit.parts import AFTER_WATERMARK, KEEP_ROWS
from sqlext.operators.emit.triggers import TRIGGERS
from sqlext.rewriter.emit.emit_clause import EmitClause, parse_emits
from sqlext.rewriter.emit.window_tvf import parse_window_tvfs
from sqlext.rewriter.tree.read_tree import read_tree

EACH = (
    "AFTER WATERMARK, EARLY EVERY INTERVAL 1 DAY, EARLY EVERY INTERVAL 1 HOUR PROCESSING TIME, EVERY 2 ROWS, "
    "ON DELTA(v) > 1, AFTER DELAY INTERVAL 1 DAY"
)


def clause(emit: str) -> EmitClause:
    tree = read_tree(f"SELECT k FROM GLOBAL_WINDOW(TABLE t) GROUP BY k EMIT {emit}")
    (parsed,) = parse_emits(tree, parse_window_tvfs(tree))
    return parsed


def test_each_trigger_that_can_be_written_fires():
    assert {trigger.kind for trigger in clause(EACH).triggers} == {AFTER_WATERMARK, *TRIGGERS}


@pytest.mark.parametrize("rows", ["1 ROW", "1 ROWS"])
def test_an_evictor_keeps_one_row_as_its_hint_writes_it(rows):
    evictor = clause(f"EVICT KEEP LAST {rows}").evictor
    assert evictor is not None and evictor.amount is not None
    assert (evictor.kind, evictor.amount.text, evictor.is_of_rows) == (KEEP_ROWS, "1", True)


@pytest.mark.parametrize("emit", ["EVICT KEEP DELTA(", "ON DELTA(", "ON DELTA(;", "EVICT KEEP DELTA(v"])
def test_a_difference_that_is_cut_off_is_a_syntax_error(emit):
    with pytest.raises(ParseError, match="EMIT_SYNTAX"):
        clause(emit)
