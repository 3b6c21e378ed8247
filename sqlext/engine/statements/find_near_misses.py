"""The near misses of a statement's last clause in some partitions, with columns of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.match.why_rows import ChosenRows
from sqlext.engine.queries.session_settings import time_zone
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.engine.why.explain_row import MAX_ALL_STEPS, MAX_STEPS
from sqlext.engine.why.near_misses import NearMiss, near_misses
from sqlext.pattern.why.row_search import Budget
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join


@dataclass(frozen=True)
class PartitionMisses:
    """The near misses of a partition, and the columns that were asked for, in the order of the partition, as `toPandas`
    gives them."""

    misses: Sequence[NearMiss]
    columns: Mapping[str, Sequence[Any]]


def find_near_misses(
    call: SqlCall, keys: Sequence[str], wanted: Sequence[str], columns: Sequence[str]
) -> dict[str, PartitionMisses]:
    """The near misses in the partitions whose keys, as `key_json` writes them, are `wanted`. `keys`: the names of the
    keys; `columns`: columns of the input. Raises the SqlExtError that planning the statement raises.
    """
    plan = plan_statement(call)
    physical = max(
        (relation for relation in plan.relations.values() if isinstance(relation, PhysicalPlan)),
        key=lambda relation: relation.plan.clause.keyword.start,
    )
    key = key_json(physical.plan.partition_by, keys)
    condition = join(key, " IN (", ", ".join(map(string_literal, wanted)), ")")
    extra = [key, *(join(quoted(name)) for name in columns)]
    found, zone = {}, time_zone(call.spark)
    rows = ChosenRows(
        call=call,
        physical=physical,
        queries=plan.queries,
        condition=str(condition),
        budget=Budget(MAX_ALL_STEPS, MAX_STEPS),
        parameters=plan.parameters,
        extra=extra,
    )
    for why in rows.partitions(rows.clause()):
        read = {str(text): why.partition.columns[str(text)].take(pa.array(why.order)) for text in extra}
        values = {name: _as_pandas(read[quoted(name)], zone) for name in columns}
        found[read[str(key)][0].as_py()] = PartitionMisses(near_misses(why), values)
    return found


def _as_pandas(column: pa.Array, time_zone: str) -> Sequence[Any]:
    """A column as a Series; times are in the session's time zone, without a zone."""
    if not pa.types.is_timestamp(column.type) or column.type.tz is None:
        return column.to_pandas()
    return column.cast(pa.timestamp("us", time_zone)).to_pandas().dt.tz_localize(None)


def key_json(keys: Sequence[Text], names: Sequence[str]) -> Text:
    """The keys of a row as JSON; a clause without keys has one partition, `{}`.

    >>> str(key_json([join("t.sym")], ["sym"])), str(key_json([], []))
    ('to_json(struct(t.sym AS `sym`))', "'{}'")
    """
    named = [join(key, f" AS {quoted(name)}") for key, name in zip(keys, names)]
    return join("to_json(struct(", join(*named, separator=", "), "))") if named else join("'{}'")
