"""What conditions read: their operands, the rows around the current one, labels, and the match number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlext.expressions.scalar_tree import Constant, Read, ScalarCall
from sqlext.pattern.task.task import (
    CLASSIFIERS,
    MATCH_NUMBER,
    Aggregate,
    Condition,
    InterpretedAggregate,
    MachineCall,
    Navigation,
    Operand,
    Task,
)


def walk(condition: Condition) -> Iterator[Condition]:
    """Yield the condition and all conditions below it, parents first, left to right."""
    stack = [condition]
    while stack:
        current = stack.pop()
        yield current
        if isinstance(current, (MachineCall, ScalarCall)):
            stack.extend(reversed(current.arguments))


def operands(condition: Condition) -> tuple[Operand | Read, ...]:
    """The distinct leaves of a condition that read the path, in order of their first use.

    >>> operands(MachineCall(function="is_null", arguments=(Operand(Navigation(argument=0), "int"),),
    ...     kind="bool"))[0].source.argument
    0
    """
    return tuple(dict.fromkeys(part for part in walk(condition) if isinstance(part, (Operand, Read))))


def columns_read(source: InterpretedAggregate, label: int | None) -> Iterator[int]:
    """The columns that the arguments of an aggregate read on a row with this label, by Navigation.argument."""
    for navigation in _navigations(source):
        by_label = navigation.by_label
        yield by_label[-1 if label is None else label] if by_label else navigation.argument


def all_columns_read(source: InterpretedAggregate) -> Iterator[int]:
    """The columns that the arguments of an aggregate read on any row."""
    for navigation in _navigations(source):
        yield from navigation.by_label or (navigation.argument,)


def _navigations(source: InterpretedAggregate) -> Iterator[Navigation]:
    for operand in (operand for argument in source.arguments for operand in operands(argument)):
        if isinstance(operand.source, Navigation):
            yield operand.source


def columns_of(condition: Condition | None) -> Iterator[int]:
    """The columns that a condition reads on any row, by Navigation.argument.

    >>> list(columns_of(Operand(Navigation(argument=2, step=-1), "int")))
    [2]
    """
    for source in () if condition is None else [operand.source for operand in operands(condition)]:
        if isinstance(source, InterpretedAggregate):
            for part in (*source.arguments, source.filter):
                yield from columns_of(part)
        elif source.argument is not None:
            by_label = source.by_label if isinstance(source, Navigation) else ()
            yield from (argument for argument in by_label or (source.argument,) if argument >= 0)
            yield from columns_of(source.expression if isinstance(source, Navigation) else None)


def is_interpreted(condition: Condition | None) -> bool:
    """Return True if a part of the condition has values that only Python can compute with.

    >>> from sqlext.pattern.task.task import Literal
    >>> is_interpreted(Literal(True, "bool")), is_interpreted(Constant("a", "string"))
    (False, True)
    """
    return condition is not None and any(isinstance(part, (Read, Constant, ScalarCall)) for part in walk(condition))


def reads_number(condition: Condition | None) -> bool:
    """True if the condition reads MATCH_NUMBER()."""
    return condition is not None and any(source_reads_number(operand.source) for operand in operands(condition))


def source_reads_number(source: Navigation | Aggregate | InterpretedAggregate) -> bool:
    """True if an operand with this source reads MATCH_NUMBER()."""
    if isinstance(source, InterpretedAggregate):
        return any(map(reads_number, (*source.arguments, source.filter)))
    return source.argument == MATCH_NUMBER or (isinstance(source, Navigation) and reads_number(source.expression))


def source_reads_labels(source: Navigation | Aggregate | InterpretedAggregate) -> bool:
    """True if an operand with this source reads the labels of the rows that it reaches."""
    if isinstance(source, InterpretedAggregate):
        return any(map(_reads_labels, (*source.arguments, source.filter)))
    if source.argument in CLASSIFIERS:
        return True
    return isinstance(source, Navigation) and (bool(source.by_label) or _reads_labels(source.expression))


def _reads_labels(condition: Condition | None) -> bool:
    return condition is not None and any(source_reads_labels(operand.source) for operand in operands(condition))


def rows_ahead(condition: Condition | None) -> int:
    """The number of rows after the current one that a condition may read.

    >>> from sqlext.pattern.task.task import MachineCall, Operand
    >>> ahead = Operand(Navigation(argument=0, step=2), "int")
    >>> rows_ahead(MachineCall(function="is_null", arguments=(ahead,), kind="bool"))
    2
    """
    return max([0, *_steps(condition)])


def reads_ahead(task: Task, neighbours: Iterable[Condition | None] = ()) -> bool:
    """True if a condition of a task, or one of `neighbours` (part of its masks), reads rows after the current one."""
    return any(map(rows_ahead, (*task.conditions, *neighbours)))


def rows_back(condition: Condition | None) -> int:
    """The number of rows before a match's first one that a condition may read."""
    return max([0, *(-step for step in _steps(condition))])


def _steps(condition: Condition | None) -> list[int]:
    """The steps of the navigations in a condition that read columns."""
    sources = [operand.source for operand in operands(condition)] if condition is not None else []
    return [s.step for s in sources if isinstance(s, Navigation) and s.argument not in CLASSIFIERS]
