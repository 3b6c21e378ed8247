"""The relations that a relation of a join on time joins: itself, or those of the join tree that it is."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.rewriter.joins.join_conditions import LEFT
from sqlext.rewriter.text.tokens import index_at
from sqlext.rewriter.tree.statement_tree import Relation


def members(sides: JoinSides, side: str) -> list[Relation]:
    """The relations of one side of a join whose names qualify columns there."""
    fragment, tree = sides.clause.left if side == LEFT else sides.clause.right, sides.tree
    return list(_members(sides, index_at(tree.tokens, fragment.start), index_at(tree.tokens, fragment.stop)))


def _members(sides: JoinSides, start: int, stop: int) -> Iterator[Relation]:
    """The relations at tokens `start` to `stop` of the FROM of the join."""
    end = start
    for relation in sides.tree.relations:  # an outer one comes before those in its parentheses
        if relation.query != sides.clause.query or relation.start < end or relation.stop > stop:
            continue
        is_tree = relation.aliases[-1] is None and not relation.clauses and _has_inner(sides, relation)
        if not is_tree:
            end = relation.stop
            yield relation


def _has_inner(sides: JoinSides, outer: Relation) -> bool:
    """Whether a relation is a join tree in parentheses."""
    return any(
        relation.query == outer.query and outer.start < relation.start and relation.stop < outer.stop
        for relation in sides.tree.relations
    )
