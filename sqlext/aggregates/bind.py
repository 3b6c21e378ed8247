"""One call of an aggregate, bound to its types. MEASURES, DEFINE, EMIT and pattern rules all bind their calls here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol, TypeVar

from sqlext.aggregates import collected_rows, counts, extremes, moments, sums
from sqlext.aggregates.aggregator import AggregateCall, Aggregator
from sqlext.aggregates.distinct_rows import AggregateSortKey, distinct, ordered
from sqlext.aggregates.registry import (
    AGGREGATES,
    A,
    AggregateParts,
    Nulls,
    SortPart,
    WithinGroupKey,
    unknown_aggregate,
)
from sqlext.errors import BindError, Place, SqlExtError
from sqlext.expressions.function import ExecutionSettings, Types, of_one_row

B = TypeVar("B", contravariant=True)
AGGREGATORS: Mapping[str, Callable[[AggregateCall], Aggregator]] = {
    **counts.AGGREGATORS,
    **sums.AGGREGATORS,
    **extremes.AGGREGATORS,
    **collected_rows.AGGREGATORS,
    **moments.AGGREGATORS,
}
IGNORE, RESPECT = "IGNORE", "RESPECT"


class TypesOf(Protocol[B]):
    """Returns the types of arguments, and the values of constant arguments, which have the types `types`."""

    def types(self, texts: Sequence[B]) -> Sequence[str]: ...

    def values(self, texts: Sequence[B], types: Sequence[str]) -> Sequence[Any]: ...


@dataclass(frozen=True, kw_only=True)
class BoundAggregate:
    """A call with its types, which is pickled to executors.

    `types`: the types of all arguments, including constants. `result`: the type of the value. `constants`: the values
    of the constants, by position. `is_descending`: the key of WITHIN GROUP that is aggregated is descending.
    `ignores_nulls`: IGNORE NULLS was written. `respects_nulls`: RESPECT NULLS was written for a function that leaves
    NULLs out without it.
    """

    function: str
    types: Types
    result: str
    constants: tuple[tuple[int, Any], ...] = ()
    order_by: tuple[AggregateSortKey, ...] = ()
    is_distinct: bool = False
    is_descending: bool = False
    ignores_nulls: bool = False
    respects_nulls: bool = False

    @property
    def own_types(self) -> Types:
        """The types of the arguments that are not constants."""
        constants = dict(self.constants)
        return tuple(t for i, t in enumerate(self.types) if i not in constants)

    @property
    def column_types(self) -> Types:
        """The types of the values that each row has: the arguments that are not constants, and the sort keys."""
        return (*self.own_types, *(key.spark_type for key in self.order_by))

    def check(self, settings: ExecutionSettings, place: Place | None) -> None:
        """Bind the call on the driver, so that `settings` holds what it depends on before they are sent to workers.

        Raises the errors of `aggregator` at `place`.
        """
        try:
            self.aggregator(settings)
        except SqlExtError as error:
            raise error.with_(place=place) from None

    def aggregator(self, settings: ExecutionSettings) -> Aggregator:
        """Return the aggregator of the call. Its `add` receives values of the types `column_types`.

        Raises UnsupportedError UNKNOWN_AGGREGATE, and DataError for a wrong constant. The aggregator itself raises only
        DataError (see `of_one_row`).

        >>> from sqlext.aggregates.aggregator import fold
        >>> call = BoundAggregate(function="sum", types=("int",), result="bigint", is_distinct=True)
        >>> fold(call.aggregator(ExecutionSettings(True, "UTC")), [(1,), (1,), (None,), (2,)])
        3
        """
        if self.function not in AGGREGATORS:
            raise unknown_aggregate(self.function)
        call = AggregateCall(
            name=self.function,
            types=self.types,
            result=self.result,
            settings=settings,
            constants=dict(self.constants),
            is_descending=self.is_descending,
            ignores_nulls=self.ignores_nulls,
            respects_nulls=self.respects_nulls,
        )
        aggregator = AGGREGATORS[self.function](call)
        if self.is_distinct:
            aggregator = distinct(aggregator, self.own_types)
        if self.order_by:
            aggregator = ordered(aggregator, self.order_by, len(self.own_types))
        return replace(
            aggregator,
            add=of_one_row(self.function, aggregator.add),
            merge=of_one_row(self.function, aggregator.merge),
            value=of_one_row(self.function, aggregator.value),
        )


def bind_aggregate(
    name: str, parts: AggregateParts[A], types: TypesOf[A], result: str | None = None
) -> tuple[BoundAggregate, tuple[A, ...]]:
    """Return the bound call, and the expressions of its `column_types`: arguments to be cast to them, and sort keys.

    `result`: the type of the value where Spark knows it. The condition of FILTER stays with the caller.

    Raises UnsupportedError UNKNOWN_AGGREGATE for a function that workers do not compute, and BindError WRONG_ARGUMENTS
    for a part that the function does not take: every part is either used or refused.

    >>> class Columns:
    ...     def types(self, names): return ["int" if name == "v" else "decimal(2,2)" for name in names]
    ...     def values(self, constants, types): return list(map(float, constants))
    >>> key = SortPart(key="v", is_descending=True)
    >>> parts = AggregateParts(arguments=("0.25",), order_by=(key,), is_within_group=True)
    >>> bound, arguments = bind_aggregate("percentile_cont", parts, Columns())
    >>> bound.is_descending, bound.constants, bound.result, arguments
    (True, ((1, 0.25),), 'double', ('v',))
    """
    function = AGGREGATES.get(name)
    if function is None or not function.is_computed:
        raise unknown_aggregate(name, parts.place)
    arguments, keys, is_descending = _arguments_and_keys(name, parts)
    written = list(types.types(arguments))
    casts = tuple(t if i in function.constants else function.cast(t) for i, t in enumerate(written))
    fixed = [i for i in function.constants if i < len(arguments)]
    values = types.values([arguments[i] for i in fixed], [casts[i] for i in fixed]) if fixed else ()
    key_types = types.types([part.key for part in keys]) if keys else ()
    bound = BoundAggregate(
        function=name,
        types=casts,
        result=function.result(casts) if result is None else result,
        constants=tuple((i, tuple(v) if isinstance(v, list) else v) for i, v in zip(fixed, values)),
        order_by=tuple(
            AggregateSortKey(t, part.is_descending, part.is_descending if part.nulls_last is None else part.nulls_last)
            for t, part in zip(key_types, keys)
        ),
        is_distinct=parts.is_distinct,
        is_descending=is_descending,
        ignores_nulls=parts.nulls == IGNORE,
        respects_nulls=parts.nulls == RESPECT and function.nulls is Nulls.LEFT_OUT,
    )
    own = tuple(argument for i, argument in enumerate(arguments) if i not in fixed)
    return bound, (*own, *(part.key for part in keys))


def _arguments_and_keys(name: str, parts: AggregateParts[A]) -> tuple[tuple[A, ...], tuple[SortPart[A], ...], bool]:
    """All arguments, the sort keys of the rows, and whether the key of WITHIN GROUP, if aggregated, is descending."""
    _check(name, parts)
    if not parts.is_within_group or AGGREGATES[name].within_group is not WithinGroupKey.VALUE:
        return parts.arguments, parts.order_by, False
    key = parts.order_by[0]
    return (key.key, *parts.arguments), (), key.is_descending


def _check(name: str, parts: AggregateParts[A]) -> None:
    """Raise BindError for a part that the function does not take."""
    function = AGGREGATES[name]
    least, most = function.arity
    if parts.is_within_group and function.within_group is None:
        _refuse(name, "no WITHIN GROUP", parts)
    if not parts.is_within_group and function.needs_key:
        _refuse(name, "a key in WITHIN GROUP (ORDER BY …)", parts)
    number = len(parts.arguments)
    if parts.is_within_group and function.within_group is WithinGroupKey.VALUE:
        if len(parts.order_by) != 1 or number != least - 1:
            _refuse(name, f"{least - 1} arguments and one key in WITHIN GROUP", parts)
    elif not least <= number <= most:
        _refuse(name, f"{least} arguments here" if least == most else f"{least} to {most} arguments here", parts)
    if parts.is_distinct and function.is_distinct_refused:
        _refuse(name, "no DISTINCT", parts)
    if parts.nulls == IGNORE and function.nulls is Nulls.SKIPPED:
        _refuse(name, "no IGNORE NULLS", parts)


def _refuse(name: str, what: str, parts: AggregateParts[Any]) -> NoReturn:
    raise BindError("WRONG_ARGUMENTS", f"{name} takes {what}", place=parts.place)
