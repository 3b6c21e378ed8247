"""The handler of `sqlext_match`: each call is analysed beside the driver, and its rows are matched on executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as T
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

from sqlext.engine.shipped.data_types import char_type
from sqlext.engine.shipped.output_schema import output_schema
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Scalar
from sqlext.operators.match.plan import MASK_BITS, Bound, MatchOperatorPlan, Slot, mask_names
from sqlext.operators.rows.columns import IS_MATCHED, PARTITION_START, WITHIN_END, WITHIN_KEY
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.match.check import check
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.and_list import and_list
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, Text
from sqlext.rewriter.text.tokens import tokenize
from sqlext.spark.versions import arrow_type

_UNKNOWN_ZONE = "the session's"  # no zone has this name, so an expression that depends on the zone is refused
_COMPUTE_IN_TABLE = "compute it in the table argument: TABLE(SELECT *, expression AS name FROM ...)."


@dataclass(kw_only=True)
class MatchAnalysis(AnalyzeResult):
    """The values that `analyze` passes to the workers besides the schema.

    `order`: for each column of the result, the column of the worker; `reads`: (name in the plan, input column); `bits`:
    the Boolean input column of each bit; `within`: the two input columns of WITHIN, if any; `types`: the Arrow types of
    the input columns.
    """

    plan: MatchOperatorPlan | None = None
    order: tuple[int, ...] = ()
    reads: tuple[tuple[str, int], ...] = ()
    bits: tuple[int, ...] = ()
    within: tuple[int, ...] = ()
    types: tuple[pa.DataType, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ArgumentBinder(StaticBinder):
    """Binds expressions in the arguments of `sqlext_match`. Columns may have any type, and aggregates have no type.

    `conditions`: the conjuncts of DEFINE, for messages.
    """

    conditions: tuple[Fragment, ...] = ()

    def types(self, texts: Sequence[Text]) -> list[str]:
        """The types of expressions. Raises BindError EXPRESSION_IN_ARGUMENT, like `tree`."""
        columns = {name.lower(): spark_type for name, spark_type in self.columns.items()}
        return [columns.get(_column_name(str(text)).lower()) or self.tree(text).type for text in texts]

    def tree(self, text: Text) -> Scalar:
        try:
            return super().tree(text)
        except (BindError, UnsupportedError):
            place = None if text.origin(0) is None else Place(str(text), 0, len(str(text)))
            raise BindError(
                "EXPRESSION_IN_ARGUMENT",
                f"sqlext_match reads columns and cannot compute {self._written(text)}",
                place=place,
                hint=_COMPUTE_IN_TABLE,
            ) from None

    def _written(self, text: Text) -> str:
        """The condition as the user wrote it whose part is `text`, in which navigations are replaced."""
        start, stop = text.span or (-1, -1)
        return next((c.in_line for c in self.conditions if c.start <= start and stop <= c.stop), str(text))


class MatchFunction:
    """The handler: `eval` is called once for each row, `terminate` after the last row of a partition."""

    @staticmethod
    def analyze(
        rows: AnalyzeArgument,
        pattern: AnalyzeArgument,
        define: AnalyzeArgument | None = None,
        measures: AnalyzeArgument | None = None,
        rows_per_match: AnalyzeArgument | None = None,
        after_match: AnalyzeArgument | None = None,
        subset: AnalyzeArgument | None = None,
        columns: AnalyzeArgument | None = None,
        within: AnalyzeArgument | None = None,
        ansi: AnalyzeArgument | None = None,
    ) -> MatchAnalysis:
        texts = {
            "pattern": pattern,
            "define": define,
            "measures": measures,
            "rows_per_match": rows_per_match,
            "after_match": after_match,
            "subset": subset,
            "columns": columns,
            "within": within,
        }
        arguments = {
            name: argument.value for name, argument in texts.items() if argument is not None and argument.value
        }
        if not isinstance(rows.dataType, T.StructType):
            raise BindError("TABLE_ARGUMENT", "the first argument of sqlext_match is TABLE(...)")
        return _analyse(rows.dataType, arguments, is_ansi=ansi is None or bool(ansi.value))

    def __init__(self, analysis: MatchAnalysis):
        self.analysis = analysis
        self.rows: list[Any] = []

    def eval(self, rows: Any, *texts: Any, **named: Any) -> None:
        self.rows.append(rows)

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        if self.rows:
            yield from _match_rows(self.rows, self.analysis)


def clause_text(arguments: dict[str, str]) -> str:
    """The clause that the arguments describe.

    >>> clause_text({"pattern": "A B", "define": "A AS is_a"})
    't MATCH_RECOGNIZE ( PATTERN (A B) DEFINE A AS is_a)'
    """
    parts = [
        f"MEASURES {arguments['measures']}" if "measures" in arguments else "",
        arguments.get("rows_per_match", ""),
        arguments.get("after_match", ""),
        f"PATTERN ({arguments['pattern']})",
        f"SUBSET {arguments['subset']}" if "subset" in arguments else "",
        f"DEFINE {arguments['define']}" if "define" in arguments else "",
    ]
    return f"t MATCH_RECOGNIZE ( {' '.join(filter(None, parts))})"


def _analyse(schema: T.StructType, arguments: dict[str, str], *, is_ansi: bool) -> MatchAnalysis:
    text = "SELECT * FROM " + clause_text(arguments)
    clause = parse_match(text, tokenize(text), scan(text)[0])
    check(clause)
    columns = tuple((f.name, f.dataType.simpleString()) for f in schema.fields)
    settings = ExecutionSettings(is_ansi=is_ansi, time_zone=_UNKNOWN_ZONE)
    plan = lower(
        clause,
        Source(text),
        InputRelation(
            columns=columns,
            resolver=ArgumentBinder(
                columns=dict(columns),
                settings=settings,
                conditions=tuple(part for d in clause.definitions for part in and_list(d.condition)),
            ),
            is_aggregate=lambda name: False,
            settings=settings,
            is_static=True,
        ),
    )
    shown_columns = _shown_columns(plan, schema, arguments.get("columns"))
    carrying = replace(plan, carried=tuple(f"__c_{c}" for c in shown_columns))
    reads = {c.name: _index(schema, str(c.text)) for c in plan.columns}
    reads.update({f"__c_{c}": _index(schema, c) for c in shown_columns})
    fields = [T.StructField(name, schema[i].dataType, metadata=char_type(schema[i])) for name, i in reads.items()]
    result = output_schema(carrying, T.StructType(fields))
    measures = _measures(plan)
    unknown = next((s.aggregate.function for s in plan.slots if s.kind == "members"), None)
    if unknown is not None:
        raise UnsupportedError(
            "AGGREGATE_IN_ARGUMENT",
            f"sqlext_match does not compute {unknown}",
            hint="take array_agg(column) as the measure and aggregate over the array of the result.",
        )
    order = (*range(len(shown_columns)), *(len(shown_columns) + i for _, i in measures))
    names = [*shown_columns, *(name for name, _ in measures)]
    shown = T.StructType(
        [T.StructField(name, result[i].dataType, metadata=result[i].metadata) for name, i in zip(names, order)]
    )
    within = tuple(_index(schema, c) for c in arguments.get("within", "").replace("<=", "<").split("<") if c)
    slots = tuple(replace(s, columns=tuple(map(_row_column, s.columns))) if _is_by_row(s) else s for s in plan.slots)
    worker = MatchOperatorPlan(
        task=replace(plan.task, is_within=bool(within)),
        masks=mask_names(len(plan.masks)),
        operands=plan.operands,
        carried=tuple(map(_row_column, carrying.carried)),
        slots=slots,
        bounds=(Bound(is_inclusive="<=" in arguments["within"]),) if within else (),
        settings=settings,
    )
    return MatchAnalysis(
        schema=shown,
        plan=worker,
        order=order,
        reads=tuple(reads.items()),
        bits=tuple(_index(schema, str(m.text)) for m in plan.masks),
        within=within,
        types=tuple(_arrow_type(f.dataType) for f in schema.fields),
    )


def _arrow_type(spark_type: T.DataType) -> pa.DataType:
    """The type in which a column is read: times have no zone, types that conditions cannot read become NULL."""
    if isinstance(spark_type, (T.TimestampType, T.TimestampNTZType)):
        return pa.timestamp("us")
    try:
        return arrow_type(spark_type)
    except PySparkException:
        return pa.null()


def _shown_columns(plan: MatchPlan, schema: T.StructType, wanted: str | None) -> list[str]:
    """The input columns in the result: the columns of the argument `columns` or, by default, all columns with ALL ROWS
    PER MATCH and none with ONE ROW PER MATCH."""
    if wanted is not None:
        return [schema[_index(schema, c)].name for c in wanted.split(",")]
    return list(schema.names) if plan.task.output.is_all_rows else []


def _index(schema: T.StructType, text: str) -> int:
    name = _column_name(text)
    for i, field in enumerate(schema.fields):
        if field.name.lower() == name.lower():
            return i
    raise BindError(
        "EXPRESSION_IN_ARGUMENT",
        f"sqlext_match reads columns of its table argument, and {text} is not one of them",
        hint=_COMPUTE_IN_TABLE,
    )


def _column_name(text: str) -> str:
    """The name of a column that is written plainly or in backquotes, perhaps in parentheses."""
    name = text.strip().strip("()").strip()
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _measures(plan: MatchPlan) -> list[tuple[str, int]]:
    """(name, index of its slot) of each measure; two measures may have one slot."""
    slots = {slot.name: i for i, slot in enumerate(plan.slots)}
    slots.update({f"CASE WHEN {IS_MATCHED} THEN {name} END": i for name, i in slots.items()})
    texts = [(c.name, str(c.text)) for c in plan.shown if str(c.text) not in plan.carried]
    if all(text in slots for _, text in texts):
        return [(name, slots[text]) for name, text in texts]
    raise BindError(
        "EXPRESSION_IN_ARGUMENT",
        "a measure of sqlext_match is one navigation, one aggregate or CLASSIFIER()",
        hint="compute with the result: SELECT a - b FROM sqlext_match(...).",
    )


def _is_by_row(slot: Slot) -> bool:
    """Return True if workers can read row numbers in place of the values.

    They can if a value is only returned, or only tested for NULL.
    """
    return slot.kind in ("value", "array") or slot.aggregate == replace(
        slot.aggregate, function="count", is_distinct=False
    )


def _row_column(name: str) -> str:
    """The column of row numbers, NULL where the input column `name` is NULL."""
    return f"{name}#"


def _match_rows(rows: list[Any], analysis: MatchAnalysis) -> Iterator[tuple[Any, ...]]:
    """The result rows of one partition."""
    from sqlext.operators.match.match_rows import match_partitions  # loads Numba, which the driver does not need

    plan = analysis.plan
    assert plan is not None
    reads = {_row_column(name): i for name, i in analysis.reads}
    origins = [*plan.carried, *(s.columns[0] if s.kind in ("value", "array") and s.columns else "" for s in plan.slots)]
    for batch in match_partitions(_chunk(rows, analysis, plan), plan):
        columns = [_originals(c.to_pylist(), rows, reads.get(o)) for c, o in zip(batch.columns, origins)]
        yield from zip(*(columns[i] for i in analysis.order))


def _chunk(rows: list[Any], analysis: MatchAnalysis, plan: MatchOperatorPlan) -> dict[str, pa.Array]:
    """The partition as the worker reads it: operands and arguments of aggregates by value, other columns by row
    number."""

    def values(i: int) -> pa.Array:
        return pa.array([row[i] for row in rows], analysis.types[i])

    numbers = np.arange(len(rows))
    wanted = {*plan.carried, *(c for s in plan.slots for c in s.columns), *(operand.name for operand in plan.operands)}
    columns: dict[str, pa.Array] = {}
    for name, i in analysis.reads:
        if name in wanted:
            columns[name] = values(i)
        if _row_column(name) in wanted:
            columns[_row_column(name)] = pa.array(numbers, mask=np.array([row[i] is None for row in rows]))
    columns[PARTITION_START] = pa.array(numbers == 0)
    if analysis.within:
        columns[WITHIN_KEY], columns[WITHIN_END] = (values(i) for i in analysis.within)
    bits = [np.array([bool(row[i]) for row in rows]) for i in analysis.bits]
    for i, name in enumerate(plan.masks):
        group = bits[i * MASK_BITS : (i + 1) * MASK_BITS]
        columns[name] = pa.array(sum(b.astype(np.int64) << k for k, b in enumerate(group)))
    return columns


def _originals(values: list[Any], rows: list[Any], i: int | None) -> list[Any]:
    """The values of input column `i` for row numbers and lists of row numbers; if `i` is None, the values
    themselves."""
    if i is None:
        return values
    return [None if v is None else [rows[r][i] for r in v] if isinstance(v, list) else rows[v][i] for v in values]
