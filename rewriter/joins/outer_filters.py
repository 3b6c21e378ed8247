"""Finds the columns of a join that a WHERE outside of it reads: Spark applies such a filter before its own joins, but
not before workers."""

from __future__ import annotations

from collections.abc import Container

from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.tree.statement_tree import Tree


def filtered_name(tree: Tree, clause: JoinClause, names: Container[str]) -> str | None:
    """One of `names`, which are in lower case, that a WHERE of the statement outside of the join reads, as it is
    written."""
    wheres = {r.query.where for r in tree.relations if r.query is not None and r.query.where is not None}
    outside = (
        token
        for lo, hi in wheres
        for token in tree.tokens[lo:hi]
        if token.is_name and not clause.whole.start <= token.start < clause.whole.stop
    )
    return next((t.text for t in outside if unquoted(t.text).lower() in names), None)
