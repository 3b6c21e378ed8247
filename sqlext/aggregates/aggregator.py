"""The type of an aggregate: a state for no rows, a function that adds a row, and the value of a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlext.expressions.function import ExecutionSettings, Types


@dataclass(frozen=True, kw_only=True)
class Aggregator:
    """An aggregate function, bound to the types of its arguments.

    `empty` is the state for no rows. `add(state, *values)` returns the state with one more row, `values` being its
    arguments, and leaves the old state as it was. `merge(state, later)` returns the state for the rows of both, in this
    order. `value(state)` is Spark's value of the aggregate. `needs_rows`: a state grows with its rows.

    Raises DataError where Spark ends the query, from `add`, `merge` or `value`.
    """

    empty: Any
    add: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    value: Callable[[Any], Any]
    needs_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class AggregateCall:
    """One use of an aggregate: its name, the types of its arguments, the type of its result, and the values of the
    arguments (by position) that are constants. `is_descending`, `ignores_nulls`, `respects_nulls`: as in
    BoundAggregate."""

    name: str
    types: Types
    result: str
    settings: ExecutionSettings
    constants: Mapping[int, Any] = field(default_factory=dict)
    is_descending: bool = False
    ignores_nulls: bool = False
    respects_nulls: bool = False


def fold(aggregator: Aggregator, rows: Iterable[Sequence[Any]]) -> Any:
    """Return the value of an aggregate over rows; a row is the values of the arguments.

    >>> count = Aggregator(empty=0, add=lambda n, x: n + 1, merge=int.__add__, value=int)
    >>> fold(count, [(7,), (8,)])
    2
    """
    state = aggregator.empty
    for row in rows:
        state = aggregator.add(state, *row)
    return aggregator.value(state)


def of_all_calls(aggregators: Mapping[str, Aggregator]) -> dict[str, Callable[[AggregateCall], Aggregator]]:
    """The functions of calls for aggregators that are the same for all types and constants, by name."""
    return {name: partial(_of_any_call, aggregator) for name, aggregator in aggregators.items()}


def _of_any_call(aggregator: Aggregator, call: AggregateCall) -> Aggregator:
    return aggregator


def of_complete_rows(aggregator: Aggregator, position: int) -> Aggregator:
    """The aggregate of the argument at `position`, over the rows on which no argument is NULL."""

    def add(state: Any, *values: Any) -> Any:
        return state if None in values else aggregator.add(state, values[position])

    return replace(aggregator, add=add)


# collections as linked lists

EMPTY: tuple = ()


class Collection(tuple[Any, Any, int]):
    """A linked list: the list before its last value, the last value, and the length."""

    __slots__ = ()


def collection(values: Iterable[Any]) -> tuple:
    result = EMPTY
    for value in values:
        result = appended(result, value)
    return result


def appended(before: tuple, value: Any) -> tuple:
    return Collection((before, value, 1 + (before[2] if before else 0)))


def listed(collection: tuple) -> list[Any]:
    """The values in order.

    >>> listed(appended(appended(EMPTY, "a"), "b"))
    ['a', 'b']
    """
    return list(_backwards(collection))[::-1]


def concatenated(before: tuple, later: tuple) -> tuple:
    for value in listed(later):
        before = appended(before, value)
    return before


def _backwards(collection: tuple) -> Iterator[Any]:
    while collection:
        yield collection[1]
        collection = collection[0]
