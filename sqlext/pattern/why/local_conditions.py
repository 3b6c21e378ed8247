"""Which conditions the tested row and its neighbours decide, whatever the path to the row is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlext.expressions.scalar_tree import Column, Read, ScalarCall
from sqlext.pattern.task.task import Condition, Literal, MachineCall, Navigation, Operand


def is_local(condition: Condition, label: int) -> bool:
    """Whether a condition of a label reads nothing but columns of the tested row and of rows at a distance from it.

    >>> v = Navigation(argument=0)
    >>> [is_local(Read(source, "int"), 1) for source in (v, replace(v, step=-1), replace(v, labels=(0,)))]
    [True, True, False]
    """
    if isinstance(condition, (MachineCall, ScalarCall)):
        return all(is_local(argument, label) for argument in condition.arguments)
    if isinstance(condition, (Read, Operand)):
        return _is_current(condition.source, label)
    return isinstance(condition, Literal) or not isinstance(condition, Column)


def _is_current(source: object, label: int) -> bool:
    """Whether a navigation begins at the tested row, which is the last one that its label has."""
    return (
        isinstance(source, Navigation)
        and source.argument >= 0
        and source.expression is None
        and not (source.by_label or source.from_first or source.offset)
        and (source.labels is None or label in source.labels)
    )


def unlabelled(condition: Condition) -> Condition:
    """A local condition with navigations that begin at the tested row, whatever its label is.

    >>> unlabelled(Read(Navigation(argument=0, labels=(3,), step=1), "int")).source.labels
    """
    if isinstance(condition, (MachineCall, ScalarCall)):
        arguments: Any = tuple(map(unlabelled, condition.arguments))
        return replace(condition, arguments=arguments)
    if isinstance(condition, (Read, Operand)):
        return replace(condition, source=replace(condition.source, labels=None))
    return condition
