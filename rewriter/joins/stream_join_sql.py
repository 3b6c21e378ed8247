"""INTERVAL JOIN of streams as Spark's own stream-stream join: the range in ON and both watermarks bound its state.

Spark keeps rows by key and reads all rows of a key for each new row, and it refuses a join without an equality. So

- without a key, inner and one-sided joins get buckets of time, as over tables: their copies take no state of their own;
- ANTI, which Spark does not have on streams, is LEFT, and only its padded rows go on;
- FULL and ANTI without a key get one that all rows have, in one task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.rewriter.joins.interval_sql import RewrittenJoin
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.text.splice import Edit, Text, TextLike, join


@dataclass(frozen=True)
class RightColumn:
    """An expression of the right relation, and what it is called in an anti join."""

    expression: Text
    name: str


def same_key(left: Text, right: Text) -> Text:
    """An equality of two times that holds for all of them, which Spark does not see.

    >>> print(same_key(join("l.at"), join("r.at")))
    unix_micros(CAST((l.at) AS TIMESTAMP)) % 1 = unix_micros(CAST((r.at) AS TIMESTAMP)) % 1
    """
    return join(*(join("unix_micros(CAST((", time, ") AS TIMESTAMP)) % 1") for time in (left, right)), separator=" = ")


def anti_join(clause: JoinClause, columns: Sequence[RightColumn], condition: TextLike, number: int) -> RewrittenJoin:
    """`condition` reads the left relation and `columns`, all that the join has of the right one."""
    mark = f"__sqlext_right{number}"
    shown = join(*(join("(", c.expression, f") AS {c.name}") for c in columns), f"true AS {mark}", separator=", ")
    on = clause.on
    assert on is not None
    edits = (
        Edit(clause.words.start, clause.words.stop, "LEFT JOIN"),
        Edit(clause.right.start, clause.right.start, join("(SELECT ", shown, " FROM ")),
        Edit(clause.right.stop, clause.right.stop, f") AS {mark}s"),
        Edit(on.start, on.stop, condition),
        # A semi join with a row of its own is a WHERE that may stand inside a FROM.
        Edit(clause.whole.stop, clause.whole.stop, f" LEFT SEMI JOIN (SELECT 1) ON {mark} IS NULL"),
    )
    hidden = (*(c.name for c in columns), mark)
    return RewrittenJoin(clause, edits, hidden, (("stream", "Spark's own stream-stream LEFT JOIN, its padded rows."),))
