"""Drop keys that cannot match before the shuffle, if a sample of the rows shows that this saves time.

A partition without a row for a variable that every match maps has no match. So the input query reads only

    ticks AS t WHERE pmod(xxhash64(t.sym), 2097152) IN (
        SELECT /*+ BROADCAST */ DISTINCT pmod(xxhash64(t.sym), 2097152) FROM ticks AS t WHERE t.price < 0)

The result is the same with and without the filter. Buckets of a hash are broadcast instead of keys, so that their
number is limited even if the sample was misleading: a wrong decision costs the time of one more scan. Conditions on
FLOAT and DOUBLE are in a form that Spark does not push into the scan (`rewriter.scalars.row_filter`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import Row

from sqlext.engine.queries.pushable_columns import pushable_columns
from sqlext.engine.queries.queries import Queries, SparkTypeResolver, user_functions
from sqlext.engine.queries.session_settings import is_true
from sqlext.expressions.spark_types import has_plain_equality
from sqlext.pattern.program.mapped_variables import mandatory_variables
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.pushdown import are_repeatable
from sqlext.rewriter.scalars.row_filter import RowFilter
from sqlext.rewriter.text.names import name_at
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.text.tokens import Token, tokenize
from sqlext.spark.quiet_probes import quiet_probes

MODES = AUTO, OFF, ON = "auto", "off", "on"
BUCKETS = 1 << 21  # the most integers that are broadcast; they take 32 MB
MIN_BYTES = 32 << 20  # about 4 M rows; the sample takes 0.1 s, which is 5 % of the whole query on a table of this size
SAMPLE_ROWS = 1 << 15
MAX_NEEDS = 16  # the most bits of a sampled row
PAYS_BELOW = 0.25  # the share of keys; the second scan pays below 0.85 if the estimate is right
SAMPLE_KEYS = 200  # at least about this many keys are read whole, if there are as many
FEW_USABLE = 0.15  # of the rows: if only such rows are shuffled, to drop all of them saves no more than a scan costs
MAX_ANSWERS = 1000  # after as many, the answers of samples are forgotten
_SHARED_HITS = 0.8  # if this share of hits is on keys with several hits, the sample shows almost all keys with a hit

# what samples have shown, by the version of the table, the keys and the conditions
_ANSWERS: dict[tuple[object, ...], tuple[tuple[str, ...], str]] = {}


@dataclass(frozen=True)
class Need:
    """A need of every match: it maps a row to `label`, and this row satisfies `condition`, which reads only that
    row."""

    label: str
    condition: Text


def prefiltered(
    plan: MatchPlan, prefix: Text, queries: Queries, mode: str, usable: Sequence[RowFilter]
) -> tuple[MatchPlan, str]:
    """The plan, with a filter on its input if that pays, and the reason.

    `mode` is one of MODES; `usable`: the filter, if any, by which only rows that a match can use are read.

    Runs a small job over the table if `mode` is "auto" and neither the clause nor the size of the table rules it out,
    once for each version of the table.
    """
    needs, why_not = _needs(plan, mode)
    if why_not:
        return plan, f"none, {why_not}"
    table = _delta_table(plan, prefix, queries)
    if table is None:
        return plan, "none, the input is not just a Delta table"
    if mode == "auto" and table.sizeInBytes < MIN_BYTES:
        return plan, f"none, the table is small, {table.sizeInBytes / 2**20:.1f} MB"
    if why_not := _refusal(plan, prefix, queries, needs):
        return plan, f"none, {why_not}"
    if mode == "on":
        rare, why = tuple(need.label for need in needs), "sqlext.prefilter is on"
    else:
        conditions = [each.sql for each in usable]
        rare, why = _rare_labels_of_version(plan, prefix, queries, needs, conditions, table)
    if not rare:
        return plan, f"none, {why}"
    rare_needs = [need for need in needs if need.label in rare]
    dropped = f"keys without a row for {' and '.join(rare)} are dropped before the shuffle: {why}"
    pushable = pushable_columns(queries, prefix, plan.relation, plan.input_types, [n.condition for n in rare_needs])
    keys = RowFilter.of(key_filter(replace(plan, pushable=pushable), rare_needs))
    return replace(plan, filters=(*plan.filters, keys)), dropped


def key_filter(plan: MatchPlan, needs: Sequence[Need]) -> Text:
    """A condition that holds on all rows of the keys that have a row for each need, and on few other rows."""
    bucket = join("pmod(", plan.key_hash, f", {BUCKETS})")
    conditions = [join("(", need.condition, ")") for need in needs]
    has_one = plan.pushable.filter(join("(", join(*conditions, separator=" OR "), ")"))
    rows = join(plan.input, " AND " if plan.filters else " WHERE ", has_one)
    if len(needs) == 1:
        return join(bucket, " IN (SELECT /*+ BROADCAST */ DISTINCT ", bucket, " FROM ", rows, ")")
    has_all = join(*(join("bool_or", c) for c in conditions), separator=" AND ")
    return join(
        bucket, " IN (SELECT /*+ BROADCAST */ ", bucket, " FROM ", rows, " GROUP BY ", bucket, " HAVING ", has_all, ")"
    )


# whether it is possible


def _needs(plan: MatchPlan, mode: str) -> tuple[tuple[Need, ...], str]:
    """The needs of the clause, and the reason why a filter on them would be wrong ("" if the clause has none)."""
    if mode == "off":
        return (), "sqlext.prefilter is off"
    if not plan.partition_by:
        return (), "there is no PARTITION BY"
    if plan.task.output.shows_unmatched:
        return (), "unmatched rows are shown"
    if plan.task.output.shows_timeouts:
        return (), "partial matches are shown"
    needs = needs_of(plan)
    return needs, "" if needs else "no variable that every match maps has a condition on its own row alone"


def needs_of(plan: MatchPlan) -> tuple[Need, ...]:
    """The needs of each partition with a match, in the order of the labels."""
    mandatory = mandatory_variables(plan.clause.pattern)
    labels = zip(plan.task.program.labels, plan.task.bits)
    conditions = {label: plan.masks[bit].rest for label, bit in labels if label in mandatory and bit is not None}
    return tuple(Need(label, c) for label, c in conditions.items() if _reads_only_its_row(c))[:MAX_NEEDS]


def _reads_only_its_row(condition: Text) -> bool:
    words = {token.word for token in tokenize(str(condition))}
    return words != {"TRUE"} and not words & {"SELECT", "OVER"}


def _delta_table(plan: MatchPlan, prefix: Text, queries: Queries) -> Row | None:
    """What DESCRIBE DETAIL says of the relation, if it is a Delta table; None for any other relation, whose rows may
    differ when it is read again."""
    tokens = tokenize(str(plan.relation))
    name = name_at(tokens, 0)
    if name is None or not _is_alias([t for t in tokens if t.start >= name.stop]):
        return None
    if len(name.parts) == 1 and any(t.text.strip("`").lower() == name.parts[0].lower() for t in tokenize(str(prefix))):
        return None  # the relation is a CTE
    try:
        with quiet_probes():  # Spark logs an error for all kinds of views
            (row,) = queries.sql(f"DESCRIBE DETAIL {str(plan.relation)[: name.stop]}").collect()
    except PySparkException:
        return None
    return row if row.format == "delta" else None


def _is_alias(tokens: list[Token]) -> bool:
    """Return True if these tokens are `x`, `AS x` or empty."""
    if tokens and tokens[0].word == "AS":
        tokens = tokens[1:] or tokens
    return not tokens or (len(tokens) == 1 and tokens[0].is_name)


def _refusal(plan: MatchPlan, prefix: Text, queries: Queries, needs: tuple[Need, ...]) -> str:
    """A reason against the filter that only Spark knows, "" if there is none."""
    if not is_true(queries.sql("SET spark.sql.adaptive.enabled").collect()[0].value):
        return "without adaptive execution Spark limits the time of a broadcast"
    resolver = SparkTypeResolver(queries, prefix, plan.relation)
    if not all(map(has_plain_equality, resolver.types(plan.partition_by))):
        return "the keys have a type with values that are equal but not identical"
    texts = [*plan.partition_by, *(need.condition for need in needs)]
    if _calls_user_function(queries, texts):
        return "a condition calls a user's function"
    if not are_repeatable(texts, resolver):
        return "a condition may give another result when it is computed again"
    return ""


def _calls_user_function(queries: Queries, texts: Sequence[Text]) -> bool:
    """Return True if a text calls a function that is not built in. Such a call could take much longer than a scan."""
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
    return any(function.rpartition(".")[2] in called for function in user_functions(queries.sql))


# whether the filter pays: the first rows of the table as it is stored, then all rows of some keys


def _rare_labels_of_version(
    plan: MatchPlan, prefix: Text, queries: Queries, needs: Sequence[Need], usable: Sequence[Text], table: Row
) -> tuple[tuple[str, ...], str]:
    """What `_rare_labels` returns, which reads a version of a table only once for the same conditions."""
    if plan.filters:
        return (), "other filters have chosen the rows already"  # and LIMIT could read the whole table to find its rows
    version = (table.id, table.lastModified, table.numFiles, table.sizeInBytes)
    conditions = (*((need.label, str(need.condition)) for need in needs), *map(str, usable))
    question = (version, str(plan.key_hash), conditions)
    answer = _ANSWERS.get(question)
    if answer is None:
        try:
            answer = _rare_labels(plan, prefix, queries, needs, usable)
        except PySparkException:  # a condition failed on some row; the query itself raises the error, if it ever runs
            return (), "the sample could not be read"
        if len(_ANSWERS) >= MAX_ANSWERS:
            _ANSWERS.clear()
        _ANSWERS[question] = answer
    return answer


def _rare_labels(
    plan: MatchPlan, prefix: Text, queries: Queries, needs: Sequence[Need], usable: Sequence[Text]
) -> tuple[tuple[str, ...], str]:
    """The labels for which few keys of the table have a row, and the reason. If there are none, the filter does not
    pay."""
    sample = _sample(plan, prefix, queries, needs, usable)
    if sample is None:
        return (), "the table is empty"
    if sample.usable and 0 < sample.usable.rows < FEW_USABLE * sample.all.rows:
        shares = f"{sample.usable.rows:,} of {sample.all.rows:,}"
        return (), f"a match can use {shares} sampled rows, and no others are read"
    rare, why = pays(sample, sample.all.rows)
    if not rare or (sample.is_clustered and not sample.is_uniform):  # the size of the table changes nothing
        return rare, why
    (count,) = queries.run(join(prefix, "SELECT count(*) FROM ", plan.relation)).collect()
    rare, why = pays(sample, count[0])
    if not rare or not sample.is_uniform:
        return rare, why
    rare_needs = [need for need in needs if need.label in rare]
    every = max(1, int(min(sample.all.all_keys / SAMPLE_KEYS, count[0] / SAMPLE_ROWS)))
    return _if_rare_in_whole_keys(plan, prefix, queries, rare_needs, every)


def _sample(
    plan: MatchPlan, prefix: Text, queries: Queries, needs: Sequence[Need], usable: Sequence[Text]
) -> Sample | None:
    """A sample of the table, each row as one integer: the hash of its key, and in the lowest bits one bit per need and
    one for `usable`."""
    conditions = [*(need.condition for need in needs), *usable]
    bits = [join("IF(", condition, f", {1 << b}L, 0L)") for b, condition in enumerate(conditions)]
    keys = join("(", plan.key_hash, f" & {-(1 << len(conditions))}L)")
    value = join(keys, *bits, separator=" | ")
    frame = queries.run(join(prefix, "SELECT ", value, " FROM ", plan.relation, f" LIMIT {SAMPLE_ROWS}"))
    with quiet_probes():
        rows = frame.collect()  # toArrow() would read that many rows of every file
    labels = [need.label for need in needs]
    return sample_of(np.array([row[0] for row in rows], np.int64), labels, has_usable=bool(usable)) if rows else None


def _if_rare_in_whole_keys(
    plan: MatchPlan, prefix: Text, queries: Queries, needs: Sequence[Need], every: int
) -> tuple[tuple[str, ...], str]:
    """The labels of the needs if few keys have a row for each need, and the reason; reads all rows of one key in
    `every` keys.

    This takes as long as the first scan of the filter.
    """
    key = plan.key_hash
    has_all = join(*(join("bool_or(", need.condition, ")") for need in needs), separator=" AND ")
    chosen = join("SELECT ", has_all, " AS __has_all FROM ", plan.relation, " WHERE pmod(", key, f", {every}) = 0")
    counts = join(prefix, "SELECT count(*), count_if(__has_all) FROM (", chosen, " GROUP BY ", key, ")")
    ((keys, surviving_keys),) = queries.run(counts).collect()
    labels = tuple(need.label for need in needs)
    why = f"{surviving_keys:,} of {keys:,} sampled keys have a row for {' and '.join(labels)}"
    return labels if surviving_keys < PAYS_BELOW * keys else (), why


@dataclass(frozen=True, kw_only=True)
class KeyCounts:
    """`rows` rows with `keys` keys: `once` of the keys have exactly one of the rows, and `twice` have exactly two."""

    rows: int
    keys: int
    once: int = 0
    twice: int = 0

    @property
    def all_keys(self) -> float:
        """A lower bound of the number of keys, including keys without a row in the sample (Chao 1984)."""
        return self.keys + self.once * (self.once - 1) / (2 * (self.twice + 1))


@dataclass(frozen=True)
class Sample:
    """The first rows of a table as they are stored: the cheapest sample, but not a random one.

    The rows of a key may be adjacent or spread over the table, so `runs` counts the runs of adjacent rows with one key.
    `hits`: for each label the rows that satisfy it. `usable`: the rows that a match can use, None if it can use all.
    """

    all: KeyCounts
    runs: int
    hits: tuple[tuple[str, KeyCounts], ...]
    usable: KeyCounts | None = None

    @property
    def is_clustered(self) -> bool:
        """Return True if the rows of each key are adjacent, so that the sample contains all rows of most of its
        keys."""
        return self.all.rows >= 2 * self.all.keys and self.runs <= 2 * self.all.keys

    @property
    def is_uniform(self) -> bool:
        """Return True if every condition has one value on all rows of the sample.

        A log in the order of time may have its logins in the first hour: such a sample says nothing about later rows.
        """
        return all(hits.rows in (0, self.all.rows) for _, hits in self.hits)


def sample_of(values: np.ndarray, labels: Sequence[str], *, has_usable: bool = False) -> Sample:
    """The sample of `values: int64[n]`, n > 0.

    Bit l is set if the row satisfies label l, and with `has_usable` the next bit if a match can use the row; the bits
    above identify its key.

    >>> sample_of(np.array([2, 3, 3, 4]), ["C"]).hits
    (('C', KeyCounts(rows=2, keys=1, once=0, twice=1)),)
    """
    keys = values >> (len(labels) + has_usable)
    counts = [_counts(keys[(values >> bit) & 1 == 1]) for bit in range(len(labels) + has_usable)]
    runs = 1 + int(np.count_nonzero(keys[1:] != keys[:-1]))
    return Sample(_counts(keys), runs, tuple(zip(labels, counts)), counts[-1] if has_usable else None)


def _counts(keys: np.ndarray) -> KeyCounts:
    counts = np.unique(keys, return_counts=True)[1]
    return KeyCounts(rows=len(keys), keys=len(counts), once=int(np.sum(counts == 1)), twice=int(np.sum(counts == 2)))


def surviving(sample: Sample, hits: KeyCounts, table_rows: int) -> float:
    """The expected share of keys with a hit among all keys; the estimate is more often too large than too small.

    Laplace's rule of succession accounts for hits that the sample missed: even if there is none among n rows, one row
    in n may be a hit. The share is too small where each of many files holds all keys, in order.
    """
    if sample.is_clustered:
        return (hits.keys + 1) / (sample.all.keys + 2)
    if hits.rows and 1 - hits.once / hits.rows >= _SHARED_HITS:
        return min(1.0, hits.all_keys / sample.all.keys)
    hits_in_table = table_rows * (hits.rows + 1) / (sample.all.rows + 2)  # each on a different key
    return min(1.0, hits_in_table / min(sample.all.all_keys, table_rows))


def pays(sample: Sample, table_rows: int) -> tuple[tuple[str, ...], str]:
    """The labels for which few keys have a row, and the reason. If there are none, the filter does not pay.

    >>> read, hits = KeyCounts(rows=30_000, keys=10_000), KeyCounts(rows=0, keys=0)
    >>> pays(Sample(read, 30_000, (("C", hits),)), table_rows=10_000_000)
    (('C',), '0 of 30,000 sampled rows satisfy C, about 3 % of the keys stay')
    """
    shares = {label: surviving(sample, hits, table_rows) for label, hits in sample.hits}
    rare = tuple(label for label, share in shares.items() if share < PAYS_BELOW)
    rows = {label: hits.rows for label, hits in sample.hits}
    label = min(shares, key=lambda name: (shares[name], rows[name]))
    share = shares[label]
    kept = f"about {share:.0%}".replace("%", " %") if share >= 0.01 else "less than 1 %"
    return rare, f"{rows[label]:,} of {sample.all.rows:,} sampled rows satisfy {label}, {kept} of the keys stay"
