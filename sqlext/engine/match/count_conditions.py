"""The counts of EXPLAIN MATCH ANALYZE about conditions that the row decides.

How often each part of DEFINE is TRUE, FALSE and NULL, and rows on which it alone is not TRUE.

Workers count while they search, or Spark in a query of its own. The rows that are shown as examples are then found by
their numbers, because texts of all rows would take more time than everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Row

from sqlext.engine.match.clause_report import ConjunctReport, VariableReport
from sqlext.engine.match.run_batch import input_query, unsorted_query
from sqlext.engine.queries.queries import Queries
from sqlext.engine.reports.counts import LONGEST
from sqlext.engine.reports.near_equal import difference, text_compared
from sqlext.engine.reports.shown_values import shown_text, typed_text
from sqlext.operators.match.tally import FIRST, LAST, NUMBER, PACKED_VERDICTS, ROW_ID, VERDICTS
from sqlext.pattern.program.mapped_variables import mandatory_variables
from sqlext.pattern.task.task import Condition
from sqlext.pattern.why.funnel import Funnel
from sqlext.pattern.why.verdicts import BITS, FALSE, NULL, PACKED, TRUE, VerdictCounts
from sqlext.rewriter.lowering.match_plan import WINDOW, CountedConjunct, InputColumn, MatchPlan
from sqlext.rewriter.scalars.row_filter import RowFilter
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.worker_functions import map_in_arrow

MAX_SHOWN = 20  # conjuncts of which rows are shown: each takes a part of the query that reads them
_FILTERS = -1  # in place of the label of a variable
Examples = dict[int, list[tuple[str, str]]]  # by conjunct, as in ConjunctReport


class _FoundRow(NamedTuple):
    """The verdicts of all conditions on a row, and as typed texts its keys and the operands of each shown conjunct."""

    verdicts: Sequence[int]
    keys: Sequence[Row]
    operands: Sequence[Sequence[Row]]


@dataclass(frozen=True, kw_only=True)
class ConditionCounting:
    """The conditions of a plan that are counted: its conjuncts that the row decides, and whether all `kept` hold, the
    filters by which the query drops rows.

    `in_turn`: each conjunct is computed only where those before it hold, because it cannot be computed on all rows
    (`d <> 0 AND n / d > 2`). Then Spark computes all of them.
    """

    plan: MatchPlan
    prefix: Text
    kept: Sequence[Text]
    in_turn: bool

    @cached_property
    def local(self) -> list[int]:
        """The numbers of the conjuncts that are counted."""
        return [i for i, conjunct in enumerate(self.plan.conjuncts) if conjunct.text is not None]

    @cached_property
    def labels(self) -> list[int]:
        """The label of each condition that is counted; the filters have one of their own."""
        return [*(self.plan.conjuncts[i].label for i in self.local), *([_FILTERS] if self.kept else [])]

    # for workers

    @property
    def worker_plan(self) -> MatchPlan:
        """The plan with the columns that workers need to count."""
        columns = self._packed([v for v, condition in zip(self._verdicts(), self.counted) if condition is None])
        needs_window = self.plan.needs_window or any(WINDOW in str(column.text) for column in columns)
        row_id = InputColumn(ROW_ID, self._row_id)
        return replace(self.plan, columns=(*self.plan.columns, *columns, row_id), needs_window=needs_window)

    @cached_property
    def counted(self) -> list[Condition | None]:
        """The conditions that workers evaluate themselves, because they are on neighbouring rows; None for one whose
        verdicts Spark computes."""
        evaluates = not (self.plan.needs_window or self.in_turn)
        conditions = [self.plan.conjuncts[i].condition if evaluates else None for i in self.local]
        return [*conditions, *([None] if self.kept else [])]

    def _verdicts(self) -> Iterator[Text]:
        """For each condition its verdict, as an INT."""
        for i in self.local:
            yield _verdict(self._guarded(i, self._text(i)))
        if self.kept:
            yield _verdict(join(*(join("(", f, ")") for f in self.kept), separator=" AND "))

    def _packed(self, verdicts: Sequence[Text]) -> list[InputColumn]:
        """Verdicts as `pattern.why.verdicts` packs them. A column for each would be most of a row."""
        columns = []
        for number, first in enumerate(range(0, len(verdicts), PACKED)):
            places = enumerate(verdicts[first : first + PACKED])
            bits = [join(f"shiftleft({(1 << BITS) - 1} & CAST(", v, f" AS BIGINT), {BITS * i})") for i, v in places]
            columns.append(InputColumn(PACKED_VERDICTS.format(number), join(*bits, separator=" | ")))
        return columns

    def _text(self, i: int) -> Text:
        text = self.plan.conjuncts[i].text
        assert text is not None
        return text

    def _guarded(self, i: int, text: Text) -> Text:
        """An expression of conjunct i, computed only where it can be."""
        before = [
            join("(", self._text(k), ")")
            for k in self.local
            if k < i and self.plan.conjuncts[k].label == self.plan.conjuncts[i].label
        ]
        if not (before and self.in_turn):
            return text
        return join("CASE WHEN ", join(*before, separator=" AND "), " THEN ", text, " END")

    @property
    def _row_id(self) -> Text:
        """A number by which a row is found again, the hash of its partition and its own. Two rows may have the same."""
        partition, row = _hash(self.plan.partition_by), _hash([text for text, _ in self.plan.order_by])
        return join("(shiftleft(CAST(", partition, " AS BIGINT), 32) | CAST(", row, f" AS BIGINT) & {(1 << 32) - 1}L)")

    # by Spark

    def count(self, queries: Queries) -> VerdictCounts:
        """The counts of all rows, if no condition reads neighbours. Spark counts rows with the same verdicts, and
        workers the verdicts of each condition: of many conditions nearly each row has other ones."""
        columns = [*self._packed(list(self._verdicts())), InputColumn(ROW_ID, self._row_id)]
        rows = join("SELECT ", join(*(join(c.text, f" AS {c.name}") for c in columns), separator=", "))
        names = [column.name for column in columns[:-1]]
        numbers = [f"count(*) AS {NUMBER}", f"min({ROW_ID}) AS {FIRST}", f"max({ROW_ID}) AS {LAST}"]
        by = f") GROUP BY {', '.join(names)}" if names else f") HAVING {NUMBER} > 0"
        query = join(self.prefix, f"SELECT {', '.join([*names, *numbers])} FROM (", rows, " FROM ", self.plan.input, by)
        labels = self.labels

        def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from sqlext.operators.match.tally import tally_verdicts  # loads Numba, which the driver does not need

            return tally_verdicts(batches, labels)

        counts = VerdictCounts()
        for (text,) in map_in_arrow(queries.run(query), count, VERDICTS).collect():
            counts.merge(VerdictCounts.of_json(text))
        return counts

    def examples(self, queries: Queries, counts: VerdictCounts) -> Examples:
        """For each of the MAX_SHOWN conjuncts that alone are not TRUE on the most rows up to two such rows: one on
        which it is FALSE and one on which it is NULL, or two with the same verdict if there is no other."""
        shown = sorted(self._shown(counts))
        row_ids = sorted({row_id for (at, _), ends in counts.row_ids.items() if at in shown for row_id in ends})
        if not row_ids:
            return {}
        columns = [
            InputColumn(ROW_ID, self._row_id),
            InputColumn("__verdicts", _array(list(self._verdicts())[: len(self.local)])),
            InputColumn("__keys", _texts(self._keys)),
            InputColumn("__operands", _array([self._operands(self.local[at]) for at in shown])),
        ]
        is_chosen = f" IN ({', '.join(f'{row_id}L' for row_id in row_ids)})"
        rows = queries.name(queries.run(self._rows_query(columns, join(self._row_id, is_chosen), row_ids)))
        alike = f"SELECT {ROW_ID}, __verdicts, min(struct(__keys, __operands)) AS __first FROM {rows} "
        query = join(alike, f"WHERE {ROW_ID}{is_chosen} GROUP BY {ROW_ID}, __verdicts")
        found = sorted(queries.run(query).collect(), key=lambda row: row[:2])
        found_rows = [_FoundRow(verdicts, *texts) for _, verdicts, texts in found]
        return {self.local[at]: self._shown_of(at, place, found_rows) for place, at in enumerate(shown)}

    def _rows_query(self, columns: Sequence[InputColumn], is_chosen: Text, row_ids: Sequence[int]) -> Text:
        """A query for columns of some rows. Where a column reads neighbours it has all rows of their partitions."""
        plan = replace(self.plan, columns=tuple(columns), masks=(), needs_window=False)
        if not any(WINDOW in str(column.text) for column in columns):
            return join(self.prefix, unsorted_query(replace(plan, filters=(*plan.filters, RowFilter.of(is_chosen)))))
        if plan.partition_by:
            partitions = ", ".join(map(str, sorted({row_id >> 32 for row_id in row_ids})))
            is_near = join(_hash(plan.partition_by), f" IN ({partitions})")
            plan = replace(plan, filters=(*plan.filters, RowFilter.of(is_near)))
        return input_query(replace(plan, needs_window=True), self.prefix)

    def _shown_of(self, at: int, place: int, rows: Sequence[_FoundRow]) -> list[tuple[str, str]]:
        """Of rows those that show conjunct `local[at]`, of which they have the operands at `place`."""
        conjunct = self.plan.conjuncts[self.local[at]]
        others = [k for k in range(len(self.local)) if k != at and self.labels[k] == conjunct.label]
        own = [row for row in rows if row.verdicts[at] != TRUE and all(row.verdicts[k] == TRUE for k in others)]
        chosen = {row.verdicts[at]: row for row in reversed(own)}
        if len(chosen) == 1:
            chosen[TRUE] = own[-1]
        names = [" ".join(str(key).split()) for key in self._keys]
        texts = {
            (_named(names, row.keys), _with_values(conjunct, row.operands[place], row.verdicts[at]))
            for row in chosen.values()
        }
        return sorted(texts)

    @property
    def _keys(self) -> list[Text]:
        """The expressions that name a row to users: the keys of PARTITION BY and ORDER BY."""
        written = len(self.plan.clause.order_by)
        return [*self.plan.partition_by, *(text for text, _ in self.plan.order_by[:written])]

    def _shown(self, counts: VerdictCounts) -> set[int]:
        """The places in `local` of the conjuncts of which rows are shown."""
        alone = {at: counts.alone[at, FALSE] + counts.alone[at, NULL] for at in range(len(self.local))}
        most = sorted((at for at in alone if alone[at]), key=lambda at: -alone[at])
        return set(most[:MAX_SHOWN])

    def near_texts(self, queries: Queries, counts: VerdictCounts) -> dict[int, str]:
        """For conjuncts `column = 'text'` that are TRUE on no row: a value of the column that hardly differs."""
        wanted: dict[int, tuple[Text, str]] = {}
        for at, i in enumerate(self.local):
            conjunct, text = self.plan.conjuncts[i], text_compared(self.plan.conjuncts[i].written)
            reads_neighbours = any(WINDOW in str(operand) for _, operand in conjunct.operands)
            if text is not None and len(conjunct.operands) == 1 and not counts.each[at, TRUE] and not reads_neighbours:
                wanted[i] = conjunct.operands[0][1], text
        if not wanted or self.in_turn:  # in turn: an operand may be one that cannot be computed on all rows
            return {}
        values = [
            join(
                "min(CASE WHEN lower(trim(CAST((",
                operand,
                f") AS STRING))) = {string_literal(text.strip().lower())}",
                " THEN CAST((",
                operand,
                ") AS STRING) END)",
            )
            for operand, text in wanted.values()
        ]
        query = join(self.prefix, "SELECT ", join(*values, separator=", "), " FROM ", self.plan.input)
        (found,) = queries.run(query).collect()
        notes = {i: (value, difference(text, value)) for (i, (_, text)), value in zip(wanted.items(), found)}
        return {i: f"{string_literal(value)}: {note}" for i, (value, note) in notes.items() if note}

    def _operands(self, i: int) -> Text:
        """The operands of conjunct i, as texts."""
        return _texts([self._guarded(i, join("(", text, ")")) for _, text in self.plan.conjuncts[i].operands])

    # the report

    def filtered(self, counts: VerdictCounts) -> int:
        """The number of rows that the query drops before the shuffle."""
        return counts.rows - counts.each[len(self.local), TRUE] if self.kept else 0

    def variables(
        self, counts: VerdictCounts, examples: Examples, near: Mapping[int, str], funnel: Funnel
    ) -> Iterator[VariableReport]:
        """The report about each variable that has a condition."""
        needed = mandatory_variables(self.plan.clause.pattern)
        for label, name in enumerate(self.plan.task.program.labels):
            mine = [(i, c) for i, c in enumerate(self.plan.conjuncts) if c.label == label]
            if not mine:
                continue
            dependent = tuple(c.written for _, c in mine if c.text is None)
            if dependent:
                true, false, null = (funnel.tests[label, verdict] for verdict in (True, False, None))
            else:
                true, false, null = (counts.all_of[label, verdict] for verdict in (TRUE, FALSE, NULL))
            yield VariableReport(
                name=name,
                is_needed=name in needed,
                is_tested=bool(dependent),
                true=true,
                false=false,
                null=null,
                conjuncts=tuple(self._conjunct(i, c, counts, examples, near) for i, c in mine if c.text is not None),
                dependent=dependent,
            )

    def _conjunct(
        self, i: int, conjunct: CountedConjunct, counts: VerdictCounts, examples: Examples, near: Mapping[int, str]
    ) -> ConjunctReport:
        at = self.local.index(i)
        true, false, null = (counts.each[at, verdict] for verdict in (TRUE, FALSE, NULL))
        return ConjunctReport(
            written=conjunct.written,
            true=true,
            false=false,
            null=null,
            alone_false=counts.alone[at, FALSE],
            alone_null=counts.alone[at, NULL],
            examples=tuple(examples.get(i, ())),
            near=near.get(i, ""),
        )


def _verdict(condition: Text) -> Text:
    """The verdict of a condition as an INT, see `pattern.why.verdicts`."""
    return join("coalesce(CAST(CAST((", condition, f") AS BOOLEAN) AS INT), {NULL})")


def _hash(expressions: Sequence[Text]) -> Text:
    """SQL for an INT."""
    return join("hash(", join(*expressions, separator=", "), ")") if expressions else join("0")


def _array(elements: Sequence[Text]) -> Text:
    return join("array(", join(*elements, separator=", "), ")")


def _texts(expressions: Sequence[Text]) -> Text:
    """SQL for the values of expressions as typed texts, no longer than they are shown."""
    texts = [typed_text(text, LONGEST + 1) for text in expressions]
    return join("CAST(", _array(texts), " AS ARRAY<STRUCT<text: STRING, spark_type: STRING>>)")


def _named(names: Sequence[str], values: Sequence[Row], between: str = ", ", is_: str = " = ") -> str:
    """
    >>> _named(["sym", "ts"], [Row("A", "string"), Row(None, "int")])
    "sym = 'A', ts = NULL"
    """
    return between.join(f"{name}{is_}{shown_text(*value)}" for name, value in zip(names, values))


def _with_values(conjunct: CountedConjunct, operands: Sequence[Row], verdict: int) -> str:
    """The conjunct with the values that it compared on a row.

    >>> operands = ("price", Text()), ("PREV(price)", Text())
    >>> price = CountedConjunct(label=0, written="price < PREV(price)", operands=operands)
    >>> _with_values(price, [Row("101.5", "double"), Row(None, "double")], NULL)
    'price < PREV(price) is NULL, where price is 101.5 and PREV(price) is NULL'
    """
    values = _named([written for written, _ in conjunct.operands], operands, " and ", " is ")
    where = f", where {values}" if values else ""
    return f"{conjunct.written} is {'NULL' if verdict == NULL else 'FALSE'}{where}"
