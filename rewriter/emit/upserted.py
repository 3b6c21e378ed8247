"""Adds columns that identify the firing of each row to a query that EMITs into a table with UPSERT KEY.

They are added whatever the query selects.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlext.operators.emit.parts import FIRING, MERGED, ROWTIME, START, TIMING
from sqlext.rewriter.emit.lower_emit import EmitPlan
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.tree.statement_tree import Tree

HIDDEN = (ROWTIME, TIMING, FIRING)  # columns that decide which row of a key is kept, and that are not written


def is_whole_query(emit: Fragment, target: StreamTarget | None, tree: Tree) -> bool:
    """Whether the table is written by exactly the query that EMITs, apart from a WITH clause before it.

    >>> from sqlext.rewriter.heads.stream_target import parse_target
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> def whole(query):
    ...     text = f"CREATE STREAMING TABLE t AS {query}"
    ...     return is_whole_query(Fragment(text, text.rindex("SELECT"), len(text)), parse_target(text), read_tree(text))
    >>> [whole(q) for q in ("SELECT 1", "WITH c AS (VALUES 1) SELECT 1", "SELECT 1 UNION ALL SELECT 2")]
    [True, True, False]
    """
    if target is None or emit.stop != target.query.stop:
        return False
    if emit.start == target.query.start:
        return True
    before = [token for token in tree.tokens if target.query.start <= token.start < emit.start]
    return (
        before[0].word == "WITH"
        and before[-1].text == ")"
        and not any(token.depth == before[0].depth and token.word == "SELECT" for token in before)
    )


def upserted(plan: EmitPlan, key: Collection[str]) -> EmitPlan:
    """The plan with the HIDDEN columns. `key` holds the names of the key's columns, in lower case.

    Rows of timing MERGED, which delete, need not satisfy HAVING. If the key does not distinguish windows, the firing of
    the session that continues takes precedence over the MERGED row of the same time.
    """
    having: Text | None = None
    if plan.having is not None:
        having = join("(", plan.having, f") OR {TIMING} = '{MERGED}'")
    tells_windows = any(name.lower() in key and str(text).strip() == START for name, text in plan.shown)
    number = FIRING if tells_windows else f"IF({TIMING} = '{MERGED}', 0, {FIRING})"
    hidden = zip(HIDDEN, map(join, (ROWTIME, TIMING, number)))
    return replace(plan, shown=(*plan.shown, *hidden), having=having)
