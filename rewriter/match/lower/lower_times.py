"""WITHIN, conditions that say the same, and the time of rows: what bounds a match and when it is decided."""

from __future__ import annotations

from dataclasses import replace

from sqlext.errors import BindError, SqlExtError
from sqlext.pattern.program import Program
from sqlext.rewriter.match.lower.context import Context
from sqlext.rewriter.match.lower.lower_define import Defined
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.match_plan import ROW_TIME, WITHIN_END, WITHIN_KEY, Bound, InputColumn
from sqlext.rewriter.match.start_bounds import Definitions, Key, match_bounds
from sqlext.rewriter.spark_types import INTEGER_BITS, kind_of
from sqlext.rewriter.text.lexemes import names_in
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join


def within(context: Context) -> list[Bound]:
    """WITHIN as a bound. Raises BindError: WITHIN_TYPE."""
    within = context.clause.within
    if within is None:
        return []
    key = context.slice(context.clause.order_by[0].expression)
    end = join("(", key, ") + ", context.slice(within.bound))
    key_type, common = _bound_types(context, key, end)
    if not common:
        raise BindError(
            "WITHIN_TYPE",
            f"WITHIN needs a time or a number as the first ORDER BY key, this is {key_type}",
            place=within.bound.place,
        )
    bound = Bound(is_inclusive=within.is_inclusive, admits_start=within.between_rows)
    _add_columns(context, bound, key, end, common)
    return [bound]


def _bound_types(context: Context, key: Text, end: Text) -> tuple[str, str]:
    """The type of the key, and the one in which it is compared with the end; "" if matchers cannot."""
    key_type, common = context.relation.resolver.types([key, join("coalesce(", key, ", ", end, ")")])
    is_number = all(kind_of(t) in ("int", "float") for t in (key_type, common))
    return key_type, common if is_number else ""


def _add_columns(context: Context, bound: Bound, key: Text, end: Text, common: str) -> None:
    context.columns.append(InputColumn(bound.key, join("CAST(", key, f" AS {common})")))
    context.columns.append(InputColumn(bound.end, join("CAST(", end, f" AS {common})")))


def start_bounds(
    context: Context, program: Program, labels: tuple[str, ...], defined: Defined
) -> tuple[list[Bound], set[tuple[int, int]]]:
    """Conjuncts that say how far from its first row a match may reach become bounds, like WITHIN.

    Gives the bounds and the conjuncts that they make true, each as (label, where it begins in its condition).
    """
    bounds: list[Bound] = []
    dropped: set[tuple[int, int]] = set()
    is_free = context.relation.takes_start_bounds and not context.relation.is_static
    key = _key_column(context) if is_free and not context.needs_states else None
    if key is None or context.needs_times:  # conditions on later rows may be true or false: only WITHIN ends a match
        return bounds, dropped
    items = {labels.index(variable): items for variable, (_, items) in defined.items()}
    definitions = Definitions(
        items=items, label_sets=context.label_sets, is_local=context.is_local, source=context.source
    )
    for found in match_bounds(program, key, definitions, context.relation.is_ansi):
        column = join(quoted(key.column))
        try:
            _, common = _bound_types(context, column, found.bound.end)
            is_condition = context.relation.resolver.types([found.bound.whole]) == ["boolean"]
        except SqlExtError:
            continue  # the conjunct will be told where it stands
        if common and is_condition:
            number = f"_{len(bounds)}"
            names = Bound(key=WITHIN_KEY + number, end=WITHIN_END + number)
            bound = replace(
                names,
                is_inclusive=found.bound.is_inclusive,
                admits_start=found.admits_start,
                written=found.bound.written,
            )
            _add_columns(context, bound, column, found.bound.end, common)
            bounds.append(bound)
            dropped |= found.dropped
    return bounds, dropped


def _key_column(context: Context) -> Key | None:
    """The first ORDER BY key, if it is an ascending column."""
    order = context.clause.order_by[0] if context.clause.order_by else None
    if order is None or order.is_descending:
        return None
    try:
        column = context.column_name(order.expression)
    except SqlExtError:
        return None  # Spark will tell
    return Key(column, dict(context.relation.columns)[column], order.nulls_first is False) if column else None


def needs_rowtime(clause: MatchClause) -> bool:
    return any("match_rowtime" in names_in(m.expression) for m in clause.measures)


def add_row_time(context: Context) -> None:
    """The time of each row: the first ORDER BY key, which WITHIN has as a column already."""
    if not context.needs_times:
        return
    order = context.clause.order_by[0] if context.clause.order_by else None
    key_type = context.relation.resolver.types([context.slice(order.expression)])[0] if order else ""
    is_time = key_type in (*INTEGER_BITS, "float", "double", "date", "timestamp", "timestamp_ntz")
    if order is None or order.is_descending or not is_time or context.relation.is_static:
        raise BindError(
            "ROWTIME_WITHOUT_TIME",
            "MATCH_ROWTIME() is a value of the first ORDER BY key, which must be an ascending time or number",
            place=order.expression.place if order else context.clause.keyword.place,
            hint="write ORDER BY time before MEASURES.",
        )
    if context.clause.within is None:
        context.columns.append(InputColumn(ROW_TIME, context.slice(order.expression)))
