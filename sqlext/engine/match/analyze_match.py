"""EXPLAIN MATCH ANALYZE of a clause: the queries that count where its rows are lost.

One pass over the input, besides the query itself: Spark counts how often each part of DEFINE that the row decides is
TRUE, FALSE and NULL, while it sends the rows to workers, which run the search that defines matching, with a recorder,
and count what it tries.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Observation, Row
from pyspark.sql import functions as F

from sqlext.engine.match.clause_report import ClauseReport, ConjunctReport, ElementReport, VariableReport
from sqlext.engine.match.forms import PhysicalPlan
from sqlext.engine.match.run_batch import check_types, input_query, sorted_rows, unsorted_query
from sqlext.engine.queries.queries import Queries
from sqlext.operators.match.tally import TALLY
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.nfa_compile import skeleton
from sqlext.pattern.program.elements import elements
from sqlext.pattern.program.mapped_variables import mandatory_variables
from sqlext.pattern.why.funnel import Funnel, Steps, steps_of
from sqlext.rewriter.lowering.match_plan import WINDOW, CountedConjunct, InputColumn, MatchPlan
from sqlext.rewriter.lowering.operator_plan import worker_plan
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Text, join
from sqlext.spark.worker_functions import map_in_arrow


def analyze_clause(planned: PhysicalPlan, queries: Queries, limit: int | None) -> ClauseReport:
    """The report about a clause in batch, whose input is read twice. `limit`: at most so many partitions."""
    plan = _limited(replace(planned.plan, filters=planned.filters_as_written), limit)
    began = time.monotonic()
    try:
        in_turn = False
        counts, funnel = _counted(plan, planned, queries, in_turn=in_turn)
    except PySparkException:
        in_turn = True
        counts, funnel = _counted(plan, planned, queries, in_turn=in_turn)
    return ClauseReport(
        line=plan.clause.keyword.place.line,
        column=plan.clause.keyword.place.column,
        rows=funnel.rows,
        filtered=counts["filtered"],
        filters=tuple(" ".join(str(f).split()) for f in planned.filters_of_engine),
        variables=_variables(plan, counts, funnel),
        elements=_elements(plan, funnel),
        funnel=funnel,
        is_contiguous=not isinstance(plan.task, CepTask),
        in_turn=in_turn,
        strategy=planned.strategy,
        limit=limit,
        seconds=time.monotonic() - began,
    )


def _limited(plan: MatchPlan, limit: int | None) -> MatchPlan:
    """The plan over at most so many of its partitions, always the same ones."""
    if limit is None or not plan.partition_by:
        return plan
    key = join("xxhash64(", join(*plan.partition_by, separator=", "), ")")
    chosen = join("SELECT DISTINCT ", key, " AS __hash FROM ", plan.input, f" ORDER BY __hash LIMIT {limit}")
    return replace(plan, filters=(*plan.filters, join(key, " IN (", chosen, ")")))


def _counted(
    plan: MatchPlan, planned: PhysicalPlan, queries: Queries, *, in_turn: bool
) -> tuple[Mapping[str, Any], Funnel]:
    """The counts and examples of `_aggregates` over all rows of the input, and what the search tries.

    `in_turn`: each conjunct is computed only where those before it hold, because it cannot be computed on all rows
    (`d <> 0 AND n / d > 2`).
    """
    columns = tuple(_counting_columns(plan, planned, in_turn=in_turn))
    observed = Observation()
    aggregates = [F.expr(text) for text in _aggregates(plan)]
    hidden = [quoted(column.name) for column in columns]
    if any(WINDOW in str(column.text) for column in columns):
        plan = replace(plan, needs_window=True)
    with_columns = replace(plan, columns=(*plan.columns, *columns))
    if plan.needs_window:
        every = queries.run(input_query(with_columns, planned.prefix))
        rows = every.observe(observed, *aggregates).drop(*hidden)
    else:  # rows are counted before they are shuffled
        every = queries.run(join(planned.prefix, unsorted_query(with_columns)))
        name = queries.name(every.observe(observed, *aggregates).drop(*hidden))
        rows = queries.run(sorted_rows(plan, name))
    check_types(plan, rows.schema)
    worker, steps = worker_plan(plan), _steps(plan)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sqlext.operators.match.tally import tally  # loads Numba, which the driver does not need

        return tally(batches, worker, steps)

    total = Funnel()
    for row in map_in_arrow(rows, count, TALLY).collect():
        total.merge(Funnel.of_json(row[0]))
    return observed.get, total


def _steps(plan: MatchPlan) -> Steps:
    is_contiguous = not isinstance(plan.task, CepTask)
    return steps_of(skeleton(plan.clause.pattern) if is_contiguous else plan.clause.pattern, is_contiguous)


# what the search tries


def _elements(plan: MatchPlan, funnel: Funnel) -> tuple[ElementReport, ...]:
    source = plan.clause.pattern_text.source
    knows_copies = not isinstance(plan.task, CepTask)
    return tuple(
        ElementReport(
            written=" ".join(source[element.whole[0] : element.whole[1]].split()),
            variable=element.name,
            at_least=element.at_least,
            reached=funnel.reached[number, 0],
            enough=funnel.reached[number, element.at_least] if knows_copies and element.at_least > 1 else None,
            lost={reason: count for (e, reason), count in funnel.lost.items() if e == number},
        )
        for number, element in enumerate(elements(plan.clause.pattern))
    )


# what Spark counts


def _counting_columns(plan: MatchPlan, planned: PhysicalPlan, *, in_turn: bool) -> Iterator[InputColumn]:
    """The columns that `_aggregates` reads: `__key`, the keys of a row; `__kept`: the query reads the row; for conjunct
    i that the row decides `__ci`, its truth, and `__ci_j`, the operands that it compares."""
    keys = [join(f"'k{i}', (", key, ")") for i, key in enumerate(_keys(plan))]
    yield InputColumn("__key", join("named_struct(", join(*keys, separator=", "), ")") if keys else join("TRUE"))
    kept = join(*(join("(", f, ")") for f in planned.filters_of_engine), separator=" AND ")
    yield InputColumn("__kept", kept if planned.filters_of_engine else join("TRUE"))
    for i, conjunct in enumerate(plan.conjuncts):
        if conjunct.text is None:
            continue
        before = [
            join("(", c.text, ")") for c in plan.conjuncts[:i] if c.label == conjunct.label and c.text is not None
        ]
        is_first = not (before and in_turn)
        begin, end = ("", "") if is_first else (join("CASE WHEN ", join(*before, separator=" AND "), " THEN "), " END")
        yield InputColumn(f"__c{i}", join(begin, "CAST((", conjunct.text, ") AS BOOLEAN)", end))
        for j, (_, text) in enumerate(conjunct.operands):
            yield InputColumn(f"__c{i}_{j}", join(begin, "(", text, ")", end))


def _keys(plan: MatchPlan) -> list[Text]:
    """The expressions that name a row: the keys of PARTITION BY and ORDER BY."""
    return [*plan.partition_by, *(text for text, _ in plan.order_by[: len(plan.clause.order_by)])]


def _row_text(plan: MatchPlan) -> str:
    """An expression over `__key`: a text that names a row by its keys."""
    named = [
        f"{string_literal(' '.join(str(key).split()) + ' = ')} || coalesce(CAST(__key.k{i} AS STRING), 'NULL')"
        for i, key in enumerate(_keys(plan))
    ]
    return f"concat_ws({', '.join([string_literal(', '), *named])})"


def _aggregates(plan: MatchPlan) -> Iterator[str]:
    """For conjunct i: t, f, n (TRUE, FALSE, NULL); alone_f and alone_n; the first and the last row on which it alone
    failed. For label l: T, F, N of all its conjuncts that the row decides.

    Texts are made only of a row that is the first or the last one so far, because they take more time than all else.
    """
    conjuncts, row = plan.conjuncts, _row_text(plan)
    yield "count_if(NOT coalesce(__kept, FALSE)) AS filtered"
    labels = sorted({c.label for c in conjuncts})
    for label in labels:
        local = [i for i, c in enumerate(conjuncts) if c.label == label and c.text is not None]
        if not local:
            continue
        whole = " AND ".join(f"__c{i}" for i in local)
        yield f"count_if({whole}) AS T{label}"
        yield f"count_if(NOT ({whole})) AS F{label}"
        yield f"count_if(({whole}) IS NULL) AS N{label}"
        for i in local:
            others = " AND ".join([*(f"coalesce(__c{k}, FALSE)" for k in local if k != i), "TRUE"])
            values = [f"CAST(__c{i}_{j} AS STRING)" for j, _ in enumerate(conjuncts[i].operands)]
            example = f"struct({', '.join([row, *values, f'__c{i}'])})"
            yield f"count_if(__c{i}) AS t{i}"
            yield f"count_if(NOT __c{i}) AS f{i}"
            yield f"count_if(__c{i} IS NULL) AS n{i}"
            yield f"count_if(NOT __c{i} AND {others}) AS alone_f{i}"
            yield f"count_if(__c{i} IS NULL AND {others}) AS alone_n{i}"
            for function in ("min", "max"):
                alone = f"NOT coalesce(__c{i}, FALSE) AND {others}"
                yield f"{function}_by({example}, CASE WHEN {alone} THEN __key END) AS {function}{i}"


def _variables(plan: MatchPlan, counts: Mapping[str, Any], funnel: Funnel) -> tuple[VariableReport, ...]:
    needed = mandatory_variables(plan.clause.pattern)
    reports = []
    for label, name in enumerate(plan.task.program.labels):
        mine = [(i, c) for i, c in enumerate(plan.conjuncts) if c.label == label]
        if not mine:
            continue
        dependent = tuple(c.written for _, c in mine if c.text is None)
        local = [_conjunct(i, c, counts) for i, c in mine if c.text is not None]
        if dependent:
            true, false, null = (funnel.tests[label, verdict] for verdict in (True, False, None))
        else:
            true, false, null = counts[f"T{label}"], counts[f"F{label}"], counts[f"N{label}"]
        reports.append(
            VariableReport(
                name=name,
                is_needed=name in needed,
                is_tested=bool(dependent),
                true=true,
                false=false,
                null=null,
                conjuncts=tuple(local),
                dependent=dependent,
            )
        )
    return tuple(reports)


def _conjunct(i: int, conjunct: CountedConjunct, counts: Mapping[str, Any]) -> ConjunctReport:
    examples = dict.fromkeys(example for name in ("min", "max") if (example := counts[f"{name}{i}"]) is not None)
    return ConjunctReport(
        written=conjunct.written,
        true=counts[f"t{i}"],
        false=counts[f"f{i}"],
        null=counts[f"n{i}"],
        alone_false=counts[f"alone_f{i}"],
        alone_null=counts[f"alone_n{i}"],
        examples=tuple((example[0], _with_values(conjunct, example)) for example in examples),
    )


def _with_values(conjunct: CountedConjunct, example: Row) -> str:
    """The conjunct with the values that it compared on a row.

    >>> operands = ("price", Text()), ("PREV(price)", Text())
    >>> price = CountedConjunct(label=0, written="price < PREV(price)", operands=operands)
    >>> _with_values(price, Row("ts = 3", "101.5", None, None))
    'price < PREV(price) is NULL, where price is 101.5 and PREV(price) is NULL'
    """
    values = [
        f"{written} is {'NULL' if value is None else value}"
        for (written, _), value in zip(conjunct.operands, example[1:-1])
    ]
    verdict = "NULL" if example[-1] is None else "FALSE"
    where = f", where {' and '.join(values)}" if values else ""
    return f"{conjunct.written} is {verdict}{where}"
