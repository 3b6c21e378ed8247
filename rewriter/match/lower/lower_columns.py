"""The clause's keys and order, and the columns of its result that are those of its input."""

from __future__ import annotations

from sqlext.errors import UnsupportedError
from sqlext.rewriter.match.lower.context import Context
from sqlext.rewriter.match.match_plan import ShownColumn
from sqlext.rewriter.spark_types import has_plain_equality, is_orderable
from sqlext.rewriter.text.lexemes import names_in
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join

Groups = dict[str, list[tuple[str, str]]]  # partition, order, rest: (shown name, column of the input query)


def partition_by(context: Context) -> tuple[Text, ...]:
    texts = [context.slice(k.expression) for k in context.clause.partition_by]
    return tuple({str(t): t for t in texts}.values())  # a key that is written twice is one


def keys_need_window(context: Context) -> bool:
    """Only a window knows when NaN, -0.0 or collated strings are one key."""
    if context.relation.is_static:
        return True
    types = context.relation.resolver.types(partition_by(context))
    odd = next((t for t in types if not has_plain_equality(t)), None)
    if odd and context.needs_times:
        raise UnsupportedError(
            "KEY_TYPE",
            f"a stream, or a clause with MATCH_ROWTIME(), cannot be partitioned by {odd}",
            place=context.clause.partition_by[0].expression.place,
            hint="CAST it AS STRING, or AS DECIMAL.",
        )
    return odd is not None


def order_by(context: Context) -> tuple[tuple[Text, str], ...]:
    """The ORDER BY keys, then the other columns that the query reads, so that ties have one order."""
    keys = []
    for key in context.clause.order_by:
        nulls = "" if key.nulls_first is None else (" NULLS FIRST" if key.nulls_first else " NULLS LAST")
        keys.append((context.slice(key.expression), (" DESC" if key.is_descending else "") + nulls))
    read = _names_read(context)
    plain = {str(k.text).lower() for k in map(lambda o: o.expression, context.clause.order_by)}
    plain |= {str(k.expression.text).lower() for k in context.clause.partition_by}
    ties = [n for n, t in context.relation.columns if n.lower() in read and n.lower() not in plain and is_orderable(t)]
    return tuple([*keys, *((join(quoted(n)), "") for n in ties)]) or ((join("1"), ""),)


def _names_read(context: Context) -> set[str]:
    fragments = [m.expression for m in context.clause.measures] + [d.condition for d in context.clause.definitions]
    read: set[str] = set().union(*(names_in(f) for f in fragments))
    if context.clause.rows_per_match.is_all_rows:
        read |= {n.lower() for n in context.relation.names} - context.relation.unread
    return read


def carried(context: Context) -> tuple[tuple[str, ...], Groups]:
    """Input columns that are shown as they are, and (shown name, column) of each group."""
    groups: Groups = {"partition": [], "order": [], "rest": []}
    seen: set[str] = set()
    for key in context.clause.partition_by:
        column = context.column_name(key.expression)
        name = key.name.text if key.name else column or key.expression.text
        groups["partition"].append((name, context.input_column("k", context.slice(key.expression))))
        seen.add((column or "").lower())
    if context.clause.rows_per_match.is_all_rows:
        for order in context.clause.order_by:
            column = context.column_name(order.expression)
            if column is not None and column.lower() not in seen | context.relation.unread:
                groups["order"].append((column, context.input_column("o", context.slice(order.expression))))
                seen.add(column.lower())
        for name in context.relation.names:
            if name.lower() not in seen | context.relation.unread:
                groups["rest"].append((name, context.input_column("c", join(quoted(name)))))
    names = dict.fromkeys(column for group in groups.values() for _, column in group)
    return tuple(names), groups


def shown(measures: list[tuple[str, Text]], groups: Groups) -> tuple[ShownColumn, ...]:
    """The result's columns in their order: keys, with ALL ROWS the order, measures, with ALL ROWS what is left."""

    def rows(group: str) -> list[ShownColumn]:
        return [ShownColumn(name, join(column)) for name, column in groups[group]]

    return tuple([*rows("partition"), *rows("order"), *(ShownColumn(n, t) for n, t in measures), *rows("rest")])
