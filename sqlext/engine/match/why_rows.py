"""EXPLAIN MATCH WHY query FOR ROW condition: Spark chooses the rows and reads their partitions, `explain_row` explains.

Spark reads the input once. Of a long partition it returns the rows around those that were chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.queries.python_functions import python_function
from sqlext.engine.queries.queries import Queries, SparkTypeResolver
from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.why.chosen_rows import MAX_ROWS, more_rows, no_row
from sqlext.engine.why.explain_row import PartitionWhy
from sqlext.engine.why.row_condition import RowCondition
from sqlext.engine.why.why_clause import PartitionRows, WhyClause, sort_keys
from sqlext.errors import BindError, UnsupportedError
from sqlext.operators.rows.arrow import as_numpy, one_chunk
from sqlext.operators.rows.row_order import key_codes
from sqlext.pattern.why.row_search import Budget
from sqlext.rewriter.lowering.guard import cannot_fail, is_computable
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_conjuncts import SearchPlan
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.text.names import repeated
from sqlext.rewriter.text.splice import Edit, Text, TextLike, join
from sqlext.spark.quiet_probes import quiet_probes

MAX_READ = 20_000  # rows of their partitions
WHOLE_PARTITION, BEFORE, AFTER = 5_000, 2_000, 500  # rows; of a longer partition, those around the chosen rows
_NAMED = 10  # columns that an error names
_CHOSEN, _NUMBER, _TOTAL, _LOW, _HIGH = "__chosen", "__n", "__total", "__low", "__high"


@dataclass(frozen=True, kw_only=True)
class ChosenRows:
    """The rows of a clause's input that a condition chooses.

    `parameters`: the edits that bind the parameters of the statement with the clause; `budget`: of the searches;
    `extra`: columns that are read of each row besides the clause's own.
    """

    physical: PhysicalPlan
    queries: Queries
    spark: SparkSession
    condition: TextLike
    budget: Budget
    parameters: tuple[Edit, ...] = ()
    extra: Sequence[Text] = ()

    def clause(self) -> WhyClause:
        """The clause that is explained. Raises UnsupportedError for one that cannot be explained."""
        relation = self._relation()
        text, index = place_in_text(self.physical)
        return WhyClause(text=text, index=index, relation=relation, parameters=self.parameters)

    def _relation(self) -> InputRelation:
        """The input of the clause. Raises UnsupportedError for a clause that cannot be explained."""
        plan = self.physical.plan
        if plan.task.frame is not None or self.physical.is_streaming:
            what = "a stream: leave STREAM out to ask about the rows of the table"
            if plan.task.frame is not None:
                what = "windows with row patterns: write the pattern in MATCH_RECOGNIZE"
            raise UnsupportedError("WHY", f"WHY does not explain {what}", place=plan.clause.keyword.place)
        return input_of(self.physical, self.queries, self.spark)

    def partitions(self, clause: WhyClause) -> Iterator[PartitionWhy]:
        """The partitions of the chosen rows."""
        plan = clause.plan()
        for partition in _partitions(self._read(plan), plan, self._texts(plan)):
            yield PartitionWhy(clause=clause, plan=plan, partition=partition, budget=self.budget)

    def _read(self, plan: SearchPlan) -> pa.Table:
        """The rows of the partitions of chosen rows, by partition and in order, at most MAX_READ of them."""
        texts = self._texts(plan)
        try:
            with quiet_probes():
                return self._rows(plan, texts)
        except PySparkException:  # a part of DEFINE that can be computed only where those before it hold
            return self._rows(plan, {name: self._or_null(text) for name, text in texts.items()})

    def _or_null(self, text: Text) -> Text:
        """An expression that is NULL on a row on which it cannot be computed."""
        types = {name.lower(): spark_type for name, spark_type in self.physical.plan.input_types}
        if cannot_fail(str(text), types):
            return text
        return join("CASE WHEN ", is_computable([text]), " THEN ", text, " END")

    def _rows(self, plan: SearchPlan, texts: Mapping[str, Text]) -> pa.Table:
        """The rows of `_read`. `texts`: the expressions of a row, by how they are written."""
        keys = join("PARTITION BY ", join(*plan.partition_by, separator=", ")) if plan.partition_by else join("")
        order = join("ORDER BY ", join(*(join(*key) for key in plan.order_by), separator=", "))
        columns = [join("(", text, f") AS __w{i}") for i, text in enumerate(texts.values())]
        chosen = join("coalesce((", self.condition, f"), FALSE) AS {_CHOSEN}")
        numbers = join(
            "row_number() OVER (", keys, " ", order, f") AS {_NUMBER}, count(*) OVER (", keys, f") AS {_TOTAL}"
        )
        inner = join("SELECT ", join(*columns, chosen, numbers, separator=", "), " FROM ", self.physical.plan.relation)
        names = list(texts)
        own_keys = [f"__w{names.index(str(key))}" for key in plan.partition_by]
        over = f"OVER (PARTITION BY {', '.join(own_keys)})" if own_keys else "OVER ()"
        number = f"CASE WHEN {_CHOSEN} THEN {_NUMBER} END"
        edges = f"min({number}) {over} AS {_LOW}, max({number}) {over} AS {_HIGH}"
        near = f"{_TOTAL} <= {WHOLE_PARTITION} OR {_NUMBER} BETWEEN {_LOW} - {BEFORE} AND {_HIGH} + {AFTER}"
        query = join(
            self.physical.prefix,
            f"SELECT * FROM (SELECT *, {edges} FROM (",
            inner,
            ")) ",
            f"WHERE {_LOW} IS NOT NULL AND ({near}) ORDER BY {', '.join([*own_keys, _NUMBER])} LIMIT {MAX_READ}",
        )
        return self.queries.run(query).toArrow().combine_chunks()

    def _texts(self, plan: SearchPlan) -> dict[str, Text]:
        """The expressions that Spark computes on each row."""
        order, columns = (text for text, _ in plan.order_by), (column.computed for column in plan.columns)
        return {str(text): text for text in (*plan.partition_by, *order, *columns, *self.extra)}


def explain_rows(rows: ChosenRows, condition: RowCondition) -> str:
    """Why the rows that the condition chooses are, or are not, in a match.

    Raises UnsupportedError for what is not built, and BindError if Spark refuses the condition.
    """
    clause = rows.clause()
    try:
        asked = condition.over(rows.queries, rows.physical.prefix, rows.physical.plan.relation)
    except BindError as error:
        if not error.error_class.startswith(("SQLEXT_UNRESOLVED_COLUMN", "SQLEXT_OUTSIDE_MATCH_RECOGNIZE")):
            raise
        names = ", ".join(name for name, _ in rows.physical.plan.input_types[:_NAMED])
        more = ", …" * (len(rows.physical.plan.input_types) > _NAMED)
        raise error.with_(hint=f"FOR ROW chooses rows of the input of MATCH_RECOGNIZE, with {names}{more}.") from None
    return asked.run(lambda: "\n\n".join(_answers(rows, clause, condition.written.text)))


def _answers(rows: ChosenRows, clause: WhyClause, condition: str) -> Iterator[str]:
    shown = 0
    for why in rows.partitions(clause):
        partition = why.partition
        for row in why.chosen():
            if shown == MAX_ROWS:
                yield more_rows(condition)
                return
            shown += 1
            of = f" of {partition.total}{' of its partition' if why.plan.partition_by else ''}"
            title = ", ".join([f"Row {row + 1 + partition.first}{of}", *why.partition_keys(row), *why.keys(row)])
            lines = why.lines(row)
            if not partition.is_whole:
                n = len(partition.is_chosen)
                lines.append(f"The search read {n:,} rows of the partition, from row {partition.first + 1:,} on.")
            yield "\n".join([title, *lines])
    if not shown:
        yield no_row(condition)


def input_of(physical: PhysicalPlan, queries: Queries, spark: SparkSession) -> InputRelation:
    """The input of a clause, for the lowering of its conjuncts."""
    plan = physical.plan
    names = [name for name, _ in plan.input_types]
    settings = execution_settings(spark)
    return InputRelation(
        columns=plan.input_types,
        resolver=SparkTypeResolver(queries, physical.prefix, plan.relation, settings=settings),
        is_aggregate=queries.is_aggregate,
        python_function=cache(partial(python_function, spark)),
        settings=settings,
        ambiguous=repeated(names),
        chars=plan.chars,
    )


def place_in_text(physical: PhysicalPlan) -> tuple[str, int]:
    """The statement with a clause, and the number of the clause in it."""
    keyword = physical.plan.clause.keyword
    return keyword.source, next(i for i, site in enumerate(scan(keyword.source)) if site.keyword.start == keyword.start)


def _partitions(table: pa.Table, plan: SearchPlan, texts: Mapping[str, Text]) -> Iterator[PartitionRows]:
    """The rows of each partition."""
    if not table.num_rows:
        return
    names = list(texts)
    key_names = [f"__w{names.index(str(key))}" for key in plan.partition_by]
    (codes,) = key_codes([table], key_names) if key_names else (np.zeros(table.num_rows, np.int64),)
    starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
    for lo, hi in zip(starts.tolist(), [*starts[1:].tolist(), table.num_rows]):
        rows = table.slice(lo, hi - lo).combine_chunks()
        yield PartitionRows(
            columns={name: one_chunk(rows.column(i)) for i, name in enumerate(names)},
            sort=sort_keys(plan),
            keys=len(plan.clause.order_by),
            is_chosen=as_numpy(one_chunk(rows.column(_CHOSEN))),
            first=rows.column(_NUMBER)[0].as_py() - 1,
            total=rows.column(_TOTAL)[0].as_py(),
        )
