"""Run-dependent conditions of DEFINE: from the tree of an expression to a Condition that a matcher evaluates.

Spark computes every part that needs only one row: any of its functions may stand around `B.v` or around one navigation
(`upper(LAST(A.name))`), which then reads a column with the function's values. Where several rows meet, matchers
evaluate operators and functions. Spark's own coercion rules choose the types of all parts: a TypeResolver returns them.

A condition is compiled if all of it can be (`compiled_condition`), and otherwise interpreted (`interpreted_condition`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlext.errors import BindError, SqlExtError, UnsupportedError
from sqlext.pattern.task.task import Condition
from sqlext.rewriter.conditions.compiled_condition import CompiledCondition
from sqlext.rewriter.conditions.condition_parts import ConditionParts
from sqlext.rewriter.conditions.interpreted_condition import InterpretedCondition
from sqlext.rewriter.scalars.expression import parse
from sqlext.rewriter.text.splice import Text


def texts_of_condition(parts: ConditionParts, ranges: Sequence[tuple[int, int]]) -> list[Text]:
    """The texts whose types the lowering of a compiled condition asks for; fewer of what is not compiled."""
    texts: list[Text] = []
    for start, stop in ranges:
        try:
            node = parse(parts.items, start, stop)
            texts.append(parts.typed_text(node))
            texts += CompiledCondition(parts).texts_to_type(node)
        except SqlExtError:
            pass  # the lowering reports it
    return texts


def build_condition(parts: ConditionParts, start: int, stop: int, undo: Callable[[], None]) -> Condition:
    """The condition of items `start` to `stop`; `undo` removes the operand columns that an attempt has added.

    Raises BindError (it is not Boolean, or Spark refuses a part of it) and UnsupportedError.
    """
    node = parse(parts.items, start, stop)
    parts.resolve([parts.typed_text(node)])
    if parts.type(node) not in ("boolean", "void"):
        message = f"a DEFINE condition must be boolean, not {parts.type(node)}"
        raise BindError("NOT_A_CONDITION", message, place=parts.place(node))
    try:
        return CompiledCondition(parts).lower(node)
    except UnsupportedError:
        undo()
    try:
        return InterpretedCondition(parts).value(node, "boolean")
    except UnsupportedError as e:
        raise e.with_(place=e.place or parts.place(node)) from None
