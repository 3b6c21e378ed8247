"""The counts of EXPLAIN MATCH ANALYZE about conditions that the row decides.

How often each part of DEFINE is TRUE, FALSE and NULL, and rows on which it alone is not TRUE.

Workers count while they search, or Spark in a query of its own. The rows that are shown as examples are then read from
few partitions, because texts of all rows would take more time than everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Row

from sqlext.engine.match.clause_report import ConjunctReport, VariableReport
from sqlext.engine.match.run_batch import input_query, unsorted_query
from sqlext.engine.queries.counts import LONGEST, one_line
from sqlext.engine.queries.near_equal import difference, text_compared
from sqlext.engine.queries.queries import Queries
from sqlext.operators.match.tally import FIRST, GROUP, LAST, NUMBER, PACKED_VERDICTS, VERDICTS
from sqlext.pattern.program.mapped_variables import mandatory_variables
from sqlext.pattern.task.task import Condition
from sqlext.pattern.why.funnel import Funnel
from sqlext.pattern.why.verdicts import BITS, FALSE, NULL, PACKED, TRUE, VerdictCounts
from sqlext.rewriter.lowering.match_plan import WINDOW, CountedConjunct, InputColumn, MatchPlan
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.worker_functions import map_in_arrow

MAX_SHOWN = 20  # conjuncts of which rows are shown: each takes a part of the query that reads them
_ROW = "__row_key"  # the keys of a row, by which the first and the last one are chosen
_FILTERS = -1  # in place of the label of a variable
Examples = dict[int, list[Row]]  # by conjunct: (row, values of the operands …, truth)


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
        group = InputColumn(GROUP, self._group)
        return replace(self.plan, columns=(*self.plan.columns, *columns, group), needs_window=needs_window)

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
    def _group(self) -> Text:
        """The number of the group of a row: few enough rows to look through all of them, if keys have few rows."""
        keys = self.plan.partition_by or [text for text, _ in self.plan.order_by]
        return join("xxhash64(", join(*keys, separator=", "), ")") if keys else join("0L")

    # by Spark

    def count(self, queries: Queries) -> VerdictCounts:
        """The counts of all rows, if no condition reads neighbours. Spark counts rows with the same verdicts, and
        workers the verdicts of each condition: of many conditions nearly each row has other ones."""
        columns = [*self._packed(list(self._verdicts())), InputColumn(GROUP, self._group)]
        rows = join("SELECT ", join(*(join(c.text, f" AS {c.name}") for c in columns), separator=", "))
        names = [column.name for column in columns[:-1]]
        numbers = [f"count(*) AS {NUMBER}", f"min({GROUP}) AS {FIRST}", f"max({GROUP}) AS {LAST}"]
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
        """For each of the MAX_SHOWN conjuncts that alone are not TRUE on the most rows up to two such rows: the first
        and the last one, by their keys, of the first and the last groups that have such rows."""
        shown = self._shown(counts)
        ends = (found for (condition, _), found in counts.groups.items() if condition in shown)
        groups = {group for found in ends for group in found}
        if not groups:
            return {}
        chosen_conjuncts = [self.local[at] for at in sorted(shown)]
        columns = [InputColumn(f"__verdict{i}", verdict) for i, verdict in zip(self.local, self._verdicts())]
        columns.append(InputColumn(_ROW, _struct(_keys(self.plan))))
        for i in chosen_conjuncts:
            operands = enumerate(self.plan.conjuncts[i].operands)
            columns += [
                InputColumn(f"__operand{i}_{j}", self._guarded(i, join("(", text, ")"))) for j, (_, text) in operands
            ]
        reads_neighbours = any(WINDOW in str(column.text) for column in columns)
        plan = replace(self.plan, columns=tuple(columns), masks=(), needs_window=reads_neighbours)
        if self.plan.partition_by or not reads_neighbours:
            chosen = join(self._group, f" IN ({', '.join(f'{group}L' for group in sorted(groups))})")
            plan = replace(plan, filters=(*plan.filters, chosen))
        query = input_query(plan, self.prefix) if reads_neighbours else join(self.prefix, unsorted_query(plan))
        aggregates = ", ".join(text for i in chosen_conjuncts for text in self._example_texts(i))
        counted = ", ".join(self._failed_texts())
        rows = f"SELECT *, {counted} FROM {queries.name(queries.run(query))}"
        (found,) = queries.run(join(f"SELECT {aggregates} FROM ({rows})")).collect()
        return {
            i: [row for row in dict.fromkeys(found[2 * n : 2 * n + 2]) if row is not None]
            for n, i in enumerate(chosen_conjuncts)
        }

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

    def _failed_texts(self) -> Iterator[str]:
        """For each variable how many of its conjuncts are not TRUE on a row."""
        for label in sorted({self.plan.conjuncts[i].label for i in self.local}):
            failed = [f"IF(__verdict{i} <> 1, 1, 0)" for i in self.local if self.plan.conjuncts[i].label == label]
            yield f"{' + '.join(failed)} AS __failed{label}"

    def _example_texts(self, i: int) -> Iterator[str]:
        """The first and the last row on which conjunct i alone is not TRUE."""
        values = [_short(f"CAST(__operand{i}_{j} AS STRING)") for j, _ in enumerate(self.plan.conjuncts[i].operands)]
        example = f"struct({', '.join([_row_text(self.plan), *values, f'__verdict{i}'])})"
        alone = f"__verdict{i} <> 1 AND __failed{self.plan.conjuncts[i].label} = 1"
        for function in ("min", "max"):
            yield f"{function}_by({example}, CASE WHEN {alone} THEN {_ROW} END)"

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
            examples=tuple((one_line(example[0]), _with_values(conjunct, example)) for example in examples.get(i, ())),
            near=near.get(i, ""),
        )


def _verdict(condition: Text) -> Text:
    """The verdict of a condition as an INT, see `pattern.why.verdicts`."""
    return join("coalesce(CAST(CAST((", condition, f") AS BOOLEAN) AS INT), {NULL})")


def _keys(plan: MatchPlan) -> list[Text]:
    """The expressions that name a row: the keys of PARTITION BY and ORDER BY."""
    return [*plan.partition_by, *(text for text, _ in plan.order_by[: len(plan.clause.order_by)])]


def _struct(keys: Sequence[Text]) -> Text:
    fields = [join(f"'k{i}', (", key, ")") for i, key in enumerate(keys)]
    return join("named_struct(", join(*fields, separator=", "), ")") if fields else join("TRUE")


def _short(text: str) -> str:
    """SQL for a value as `counts.short` shows it, in several lines."""
    return f"IF(length({text}) > {LONGEST}, left({text}, {LONGEST}) || '…', {text})"


def _row_text(plan: MatchPlan) -> str:
    """An expression over `_ROW`: a text that names a row by its keys."""
    names = [string_literal(f"{' '.join(str(key).split())} = ") for key in _keys(plan)]
    named = [f"{name} || coalesce({_short(f'CAST({_ROW}.k{i} AS STRING)')}, 'NULL')" for i, name in enumerate(names)]
    return f"concat_ws({', '.join([string_literal(', '), *named])})"


def _with_values(conjunct: CountedConjunct, example: Row) -> str:
    """The conjunct with the values that it compared on a row.

    >>> operands = ("price", Text()), ("PREV(price)", Text())
    >>> price = CountedConjunct(label=0, written="price < PREV(price)", operands=operands)
    >>> _with_values(price, Row("ts = 3", "101.5", None, NULL))
    'price < PREV(price) is NULL, where price is 101.5 and PREV(price) is NULL'
    """
    values = [
        f"{written} is {'NULL' if value is None else one_line(value)}"
        for (written, _), value in zip(conjunct.operands, example[1:-1])
    ]
    where = f", where {' and '.join(values)}" if values else ""
    return f"{conjunct.written} is {'NULL' if example[-1] == NULL else 'FALSE'}{where}"
