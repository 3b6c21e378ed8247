"""INTERVAL JOIN of streams as Spark's own stream-stream join: the range in ON and both watermarks bound its state.

Spark keeps rows by key and reads all rows of a key for each new row, and it refuses a join without an equality. So

- without a key, inner and one-sided joins get buckets of time, as over tables: their copies take no state of their own;
- FULL without a key gets a key that all rows have, in one task;
- ANTI, which Spark does not have on streams, is LEFT, and only its padded rows go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.rewriter.interval_join import RewrittenJoin
from sqlext.rewriter.join_clauses import JoinClause
from sqlext.rewriter.splice import Edit, Text, TextLike, join

_REASON = ("stream", "Spark's own stream-stream join, whose state the range and the watermarks bound")


@dataclass(frozen=True)
class RightColumn:
    """An expression of the right relation, and what it is called in an anti join."""

    expression: Text
    name: str


def keyless_full_join(clause: JoinClause, times: Sequence[Text]) -> RewrittenJoin:
    """With a key that is the same in all rows, and that Spark does not see to be so. `times`: one of each side."""
    left, right = (join("unix_micros(CAST((", time, ") AS TIMESTAMP)) % 1") for time in times)
    on = clause.on
    assert on is not None
    edits = (
        Edit(clause.keyword.start, clause.keyword.stop, "JOIN"),
        Edit(on.start, on.start, "("),
        Edit(on.stop, on.stop, f") AND {left} = {right}"),
    )
    return RewrittenJoin(clause, edits, reasons=((_REASON[0], f"{_REASON[1]}; no key, so all rows meet in one task."),))


def anti_join(clause: JoinClause, columns: Sequence[RightColumn], condition: TextLike, number: int) -> RewrittenJoin:
    """`condition` reads the left relation and `columns`, all that the join has of the right one."""
    mark = f"__sqlext_right{number}"
    shown = join(*(join("(", c.expression, f") AS {c.name}") for c in columns), f"true AS {mark}", separator=", ")
    on = clause.on
    assert on is not None
    edits = (
        Edit(clause.words.start, clause.words.stop, "LEFT JOIN"),
        Edit(clause.right.start, clause.right.start, f"(SELECT {shown} FROM "),
        Edit(clause.right.stop, clause.right.stop, f") AS {mark}s"),
        Edit(on.start, on.stop, str(condition)),
        # A semi join with a row of its own is a WHERE that may stand inside a FROM.
        Edit(clause.whole.stop, clause.whole.stop, f" LEFT SEMI JOIN (SELECT 1) ON {mark} IS NULL"),
    )
    hidden = (*(c.name for c in columns), mark)
    return RewrittenJoin(clause, edits, hidden, ((_REASON[0], f"{_REASON[1]}; LEFT, of which padded rows go on."),))
