"""The near misses of a clause in some partitions, with columns of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.match.why_rows import ChosenRows
from sqlext.engine.planning.answers import MissesQuestion, PartitionMisses
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.session_settings import time_zone
from sqlext.engine.why.explain_row import MAX_ALL_STEPS, MAX_STEPS
from sqlext.engine.why.near_misses import near_misses
from sqlext.pattern.why.row_search import Budget
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join


def find_misses(
    physical: PhysicalPlan, queries: Queries, spark: SparkSession, question: MissesQuestion
) -> dict[str, PartitionMisses]:
    """The near misses in the partitions of a question, by their keys as `key_json` writes them."""
    key = key_json(physical.plan.partition_by, question.keys)
    condition = join(key, " IN (", ", ".join(map(string_literal, question.values)), ")")
    extra = [key, *(join(quoted(name)) for name in question.columns)]
    found, zone = {}, time_zone(spark)
    rows = ChosenRows(
        physical=physical,
        queries=queries,
        spark=spark,
        condition=str(condition),
        budget=Budget(MAX_ALL_STEPS, MAX_STEPS),
        parameters=question.parameters,
        extra=extra,
    )
    for why in rows.partitions(rows.clause()):
        read = {str(text): why.partition.columns[str(text)].take(pa.array(why.order)) for text in extra}
        values = {name: _as_pandas(read[quoted(name)], zone) for name in question.columns}
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
