"""Lowers the tree of a run-dependent condition of DEFINE to a Condition that a matcher evaluates.

Spark computes every part that needs only one row: `B.v` or one navigation may be an argument of any Spark function
(`upper(LAST(A.name))`), and the navigation then reads a column of the function's values. Matchers evaluate the
operators and functions that combine several rows. Spark's own coercion rules determine the types of all parts, which
are returned by a TypeResolver.

A condition is compiled if all of it can be (`compiled_condition`), and otherwise interpreted (`interpreted_condition`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError
from sqlext.pattern.task.task import Condition
from sqlext.rewriter.conditions.compiled_condition import CompiledCondition
from sqlext.rewriter.conditions.condition_parts import ConditionParts
from sqlext.rewriter.conditions.interpreted_condition import InterpretedCondition
from sqlext.rewriter.conditions.padded_texts import with_padding
from sqlext.rewriter.scalars.expression import parse
from sqlext.rewriter.text.splice import Text


def texts_of_condition(parts: ConditionParts, ranges: Sequence[tuple[int, int]]) -> list[Text]:
    """The texts whose types the lowering of a compiled condition needs; only some of them if it is not compiled."""
    texts: list[Text] = []
    for start, stop in ranges:
        try:
            node = with_padding(parse(parts.items, start, stop), parts)
            texts.append(parts.typed_text(node))
            texts += CompiledCondition(parts).texts_to_type(node)
        except SqlExtError:
            pass  # the lowering reports it
    return texts


def build_condition(parts: ConditionParts, start: int, stop: int, undo: Callable[[], None]) -> Condition:
    """The condition of items `start` to `stop`; `undo` removes the operand columns that a failed attempt has added.

    Raises BindError (the condition is not Boolean, or Spark refuses a part of it) and UnsupportedError.
    """
    node = with_padding(parse(parts.items, start, stop), parts)
    parts.resolve([parts.typed_text(node)])
    if parts.type(node) not in ("boolean", "void"):
        raise not_boolean(parts.type(node), parts.place(node))
    try:
        return CompiledCondition(parts).lower(node)
    except UnsupportedError:
        undo()
    try:
        return InterpretedCondition(parts).value(node, "boolean")
    except UnsupportedError as e:
        raise e.with_(place=e.place or parts.place(node)) from None


def not_boolean(spark_type: str, place: Place) -> BindError:
    """The error for a condition of another type."""
    return BindError("NOT_A_CONDITION", f"a DEFINE condition must be boolean, not {spark_type}", place=place)
