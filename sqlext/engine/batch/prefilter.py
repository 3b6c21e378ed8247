"""Keys that cannot match are dropped before the shuffle, where a look at some rows says that it pays.

A partition without a row for a variable that every match maps has no match. So the input query reads only

    ticks AS t WHERE pmod(xxhash64(t.sym), 2097152) IN (
        SELECT /*+ BROADCAST */ DISTINCT pmod(xxhash64(t.sym), 2097152) FROM ticks AS t WHERE t.price < 0)

The result is the same whatever the decision. What is broadcast are buckets of a hash and not keys, so that it is never
large, even if the sample misled us: a wrong decision costs the time of one more scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pyspark.errors import PySparkException

from sqlext.engine.batch.key_sample import Sample, pays, sample_of
from sqlext.engine.queries import Queries, SparkTypeResolver
from sqlext.pattern.mapped_variables import mandatory_variables
from sqlext.quiet import quiet_probes
from sqlext.rewriter.match.match_plan import MatchPlan
from sqlext.rewriter.match.pushdown import are_repeatable
from sqlext.rewriter.spark_types import has_plain_equality
from sqlext.rewriter.text.names import name_at
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.text.tokens import Token, tokenize

MODES = ("auto", "off", "on")
BUCKETS = 1 << 21  # at most so many integers are broadcast, 32 MB
MIN_BYTES = 32 << 20  # 4 M rows or so; the look costs 0.1 s, which is 5 % of a smaller table's whole query
SAMPLE_ROWS = 1 << 15
MAX_NEEDS = 16  # bits of a sampled row


@dataclass(frozen=True)
class Need:
    """Every match maps a row to `label`, and such a row satisfies `condition`, which reads that row only."""

    label: str
    condition: Text


def prefiltered(plan: MatchPlan, prefix: Text, queries: Queries, mode: str) -> tuple[MatchPlan, str]:
    """The plan with a filter on its input if that pays, and why or why not. `mode` is one of MODES.

    Runs a small job over the table where `mode` is "auto" and the clause and the table's size speak for it.
    """
    found, why_not = _candidates(plan, prefix, queries, mode)
    if why_not:
        return plan, f"none, {why_not}"
    if mode == "on":
        chosen, why = tuple(need.label for need in found), "sqlext.prefilter is on"
    else:
        chosen, why = _looked(plan, prefix, queries, found)
    if not chosen:
        return plan, f"none, {why}"
    needs = [need for need in found if need.label in chosen]
    dropped = f"keys without a row for {' and '.join(chosen)} are dropped before the shuffle: {why}"
    return replace(plan, filters=(*plan.filters, key_filter(plan, needs))), dropped


def key_filter(plan: MatchPlan, needs: Sequence[Need]) -> Text:
    """A condition that holds on all rows of the keys that have a row for each need, and on few other rows."""
    bucket = join("pmod(xxhash64(", join(*plan.partition_by, separator=", "), f"), {BUCKETS})")
    conditions = [join("(", need.condition, ")") for need in needs]
    rows = join(plan.input, " AND " if plan.filters else " WHERE ", "(", join(*conditions, separator=" OR "), ")")
    if len(needs) == 1:
        return join(bucket, " IN (SELECT /*+ BROADCAST */ DISTINCT ", bucket, " FROM ", rows, ")")
    seen = join(*(join("bool_or", c) for c in conditions), separator=" AND ")
    return join(
        bucket, " IN (SELECT /*+ BROADCAST */ ", bucket, " FROM ", rows, " GROUP BY ", bucket, " HAVING ", seen, ")"
    )


# where it is possible


def needs(plan: MatchPlan) -> tuple[Need, ...]:
    """What each partition with a match must have, in label order."""
    always, found = mandatory_variables(plan.clause.pattern), []
    for label, bit in zip(plan.task.program.labels, plan.task.bits):
        if label in always and bit is not None and _is_of_one_row(plan.masks[bit].rest):
            found.append(Need(label, plan.masks[bit].rest))
    return tuple(found[:MAX_NEEDS])


def _is_of_one_row(condition: Text) -> bool:
    words = {token.word for token in tokenize(str(condition))}
    return words != {"TRUE"} and not words & {"SELECT", "OVER"}


def _candidates(plan: MatchPlan, prefix: Text, queries: Queries, mode: str) -> tuple[tuple[Need, ...], str]:
    """What can be asked of keys; or why the filter would be wrong or not worth a look. Cheap checks first."""
    if mode == "off":
        return (), "sqlext.prefilter is off"
    if not plan.partition_by:
        return (), "there is no PARTITION BY"
    if plan.task.output.shows_unmatched:
        return (), "unmatched rows are shown"
    if plan.task.output.shows_timeouts:
        return (), "partial matches are shown"
    found = needs(plan)
    if not found:
        return (), "no variable that every match maps has a condition on its own row alone"
    size = _size_of_table(plan, prefix, queries)
    if size is None:
        return (), "the input is not just a Delta table"
    if mode == "auto" and size < MIN_BYTES:
        return (), f"the table is small, {size / 2**20:.1f} MB"
    return found, _objection(plan, prefix, queries, found)


def _size_of_table(plan: MatchPlan, prefix: Text, queries: Queries) -> int | None:
    """The bytes of the Delta table that the relation is; None if it is anything else, which might give other rows the
    second time."""
    tokens = tokenize(str(plan.relation))
    name = name_at(tokens, 0)
    if name is None or not _is_alias([t for t in tokens if t.start >= name.stop]):
        return None
    if len(name.parts) == 1 and any(t.text.strip("`").lower() == name.parts[0].lower() for t in tokenize(str(prefix))):
        return None  # a CTE
    try:
        with quiet_probes():  # an error for all kinds of views
            (row,) = queries.sql(f"DESCRIBE DETAIL {str(plan.relation)[: name.stop]}").collect()
    except PySparkException:
        return None
    return row.sizeInBytes if row.format == "delta" else None


def _is_alias(tokens: list[Token]) -> bool:
    """`x`, `AS x` or nothing."""
    if tokens and tokens[0].word == "AS":
        tokens = tokens[1:] or tokens
    return not tokens or (len(tokens) == 1 and tokens[0].is_name)


def _objection(plan: MatchPlan, prefix: Text, queries: Queries, found: tuple[Need, ...]) -> str:
    """What only Spark knows to say against it; "" if nothing."""
    if queries.sql("SET spark.sql.adaptive.enabled").collect()[0].value == "false":
        return "without adaptive execution a broadcast has a limit of time"
    resolver = SparkTypeResolver(queries, prefix, plan.relation)
    if not all(map(has_plain_equality, resolver.types(plan.partition_by))):
        return "the keys' type has values that are equal and not the same"
    if _calls_user_function(queries, [*plan.partition_by, *(need.condition for need in found)]):
        return "a condition calls a user's function"
    if not are_repeatable([*plan.partition_by, *(need.condition for need in found)], resolver):
        return "a condition is not the same each time"
    return ""


def _calls_user_function(queries: Queries, texts: Sequence[Text]) -> bool:
    """Is a function called that is not built in? It could take much longer than a scan."""
    called: set[str] = set()
    for text in texts:
        tokens = tokenize(str(text))
        for before, token, after in zip((None, *tokens), tokens, tokens[1:]):
            if token.is_name and after.text == "(":
                called.add(token.text.strip("`").lower())
                if before is not None and before.text == ".":
                    return True
    if not called:
        return False
    rows = queries.sql("SHOW USER FUNCTIONS").collect()
    return any(f"{row[0]}".lower().split(".")[-1] in called for row in rows)


# whether it pays


def _looked(plan: MatchPlan, prefix: Text, queries: Queries, found: tuple[Need, ...]) -> tuple[tuple[str, ...], str]:
    """`pays`, of the table's first rows."""
    if plan.filters:
        return (), "other filters have chosen the rows already"  # and LIMIT would search the whole table for its rows
    try:
        sample = _sample(plan, prefix, queries, found)
        if sample is None:
            return (), "the table is empty"
        rare, why = pays(sample, sample.all.rows)
        if not rare or sample.is_clustered:  # the answer does not depend on the rows of the table
            return rare, why
        (count,) = queries.run(join(prefix, "SELECT count(*) FROM ", plan.relation)).collect()
        return pays(sample, count[0])
    except PySparkException:  # a condition that fails on some rows: the query itself will tell, if it is ever run
        return (), "the look at the table failed"


def _sample(plan: MatchPlan, prefix: Text, queries: Queries, found: tuple[Need, ...]) -> Sample | None:
    """The first rows of the table, one integer each: the hash of the key and below it a bit for each need."""
    bits = [join("IF(", need.condition, f", {1 << b}L, 0L)") for b, need in enumerate(found)]
    keys = join("(xxhash64(", join(*plan.partition_by, separator=", "), f") & {-(1 << len(found))}L)")
    value = join(keys, *bits, separator=" | ")
    frame = queries.run(join(prefix, "SELECT ", value, " FROM ", plan.relation, f" LIMIT {SAMPLE_ROWS}"))
    with quiet_probes():
        rows = frame.collect()  # not toArrow(), which reads so many rows of every file
    return sample_of(np.array([row[0] for row in rows], np.int64), [need.label for need in found]) if rows else None
