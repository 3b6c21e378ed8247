"""Compare the table of aggregates with Spark itself, on prefixes of random rows and on all types.

`python -m tests.expressions.aggregates_against_spark 20000 [SEED]` compares that many values and prints what differs.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlext.aggregates.aggregator import Aggregator, fold
from sqlext.aggregates.bind import BoundAggregate, bind_aggregate
from sqlext.aggregates.registry import COMPUTED, AggregateParts, SortPart
from sqlext.aggregates.stored_states import read_state, write_states
from sqlext.errors import DataError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.spark_types import INTEGER_BITS, decimal_of, is_interval, is_numeric, is_year_month, nested
from sqlext.expressions.values import compare, from_arrow, hashable

from .against_spark import settings_of
from .random_expressions import COLUMNS, random_rows

GROUPS, LONGEST = 12, 6  # each prefix of each group is a group for Spark
VIEW = "v_aggregates"
IN_ONE_SELECT = 40

_UNORDERED = ("collect_set",)
_NUMBERS = ("sum", "avg", "try_sum", "try_avg", "stddev", "stddev_pop", "var_samp", "var_pop", "skewness", "kurtosis")
_ANY = ("count", "min", "max", "any_value", "first_value", "last_value", "array_agg", "collect_set", "mode")
_PAIRS = (
    "corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2",
    "regr_slope", "regr_sxx", "regr_sxy", "regr_syy",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Case:
    """An aggregate over columns: `constants` are (position, text, value)."""

    name: str
    columns: tuple[str, ...]
    constants: tuple[tuple[int, str, Any], ...] = ()
    is_distinct: bool = False
    nulls: str = ""
    within_group: tuple[str, bool] | None = None  # column, is descending

    def sql(self, failing: Sequence[int] = ()) -> str:
        """The call; for the groups in `failing` without its last argument."""
        arguments = list(self.columns)
        if failing:
            arguments[-1] = f"CASE WHEN g NOT IN ({', '.join(map(str, failing))}) THEN {arguments[-1]} END"
        arguments = self._with_constants(arguments)
        key = ""
        if self.within_group:
            key = f" WITHIN GROUP (ORDER BY {self.within_group[0]}{' DESC' if self.within_group[1] else ''})"
        nulls = f" {self.nulls} NULLS" if self.nulls else ""
        return f"{self.name}({'DISTINCT ' if self.is_distinct else ''}{', '.join(arguments)}){nulls}{key}"

    def _with_constants(self, arguments: list[str]) -> list[str]:
        for position, text, _ in self.constants:
            arguments.insert(position, text)
        return arguments

    def bound(self, types: dict[str, str], result: str | None = None) -> tuple[BoundAggregate, tuple[str, ...]]:
        """The call over columns of these types, and the columns that rows have for it."""
        keys = [] if self.within_group is None else [self.within_group]
        parts = AggregateParts(
            arguments=tuple(self._with_constants(list(self.columns))),
            order_by=tuple(SortPart(key=key, is_descending=is_descending) for key, is_descending in keys),
            is_within_group=self.within_group is not None,
            is_distinct=self.is_distinct,
            nulls=self.nulls,
        )
        return bind_aggregate(self.name, parts, _CaseTypes(self, types), result)


@dataclass(frozen=True)
class _CaseTypes:
    """The types of the columns and constants of a case, as `bind_aggregate` asks for them."""

    case: Case
    columns: dict[str, str]

    def types(self, texts: Sequence[str]) -> list[str]:
        return [self.columns.get(text) or _type_of_literal(text) for text in texts]

    def values(self, texts: Sequence[str], types: Sequence[str]) -> list[Any]:
        known = {text: value for _, text, value in self.case.constants}
        return [known[text] for text in texts]


def _type_of_literal(text: str) -> str:
    return "string" if text[0] == "'" else "array<double>" if text.startswith("array") else "double"


@dataclass(kw_only=True)
class Comparison:
    values: int = 0
    errors: int = 0
    names: set[str] = field(default_factory=set)
    differences: list[str] = field(default_factory=list)


def cases(rng: random.Random, types: dict[str, str]) -> list[Case]:
    """Calls of every aggregate over the columns that it takes."""
    result = [Case(name=name, columns=(c,)) for c, t in types.items() if is_orderable(t) for name in _ANY]
    result += [Case(name=n, columns=(c,), is_distinct=True) for c in types for n in ("count", "max", "array_agg")]
    for name in ("any_value", "first_value", "last_value"):
        result += [Case(name=name, columns=(c,), nulls="IGNORE") for c in types]
        result += [Case(name=name, columns=(c,), constants=((1, "true", True),)) for c in types]
    for name in ("array_agg", "collect_set"):
        result += [Case(name=name, columns=(c,), nulls="RESPECT") for c in types if is_orderable(types[c])]
    for is_descending in (False, True):
        # Spark's mode takes equal binaries for different values.
        keys = [(c, is_descending) for c, t in types.items() if is_orderable(t) and t != "binary"]
        result += [Case(name="mode", columns=(), within_group=key) for key in keys]
    numbers = [c for c, t in types.items() if is_numeric(t)]
    intervals = [c for c, t in types.items() if is_interval(t)]
    result += [Case(name=n, columns=(c,)) for c in numbers for n in _NUMBERS]
    moderate = [c for c in numbers if c not in ("l", "d", "k")]  # the order of additions decides what overflows
    result += [Case(name=n, columns=(c,), is_distinct=True) for c in moderate for n in _NUMBERS]
    result += [Case(name=n, columns=(c,)) for c in intervals for n in ("sum", "avg", "try_sum", "try_avg", "median")]
    result += [Case(name=n, columns=(c, rng.choice(numbers))) for c in numbers for n in _PAIRS]
    for c in numbers:
        result += [Case(name="median", columns=(c,)), Case(name="approx_count_distinct", columns=(c,))]
        for name, text, value in (("percentile", "0.3", 0.3), ("percentile", "array(0.0, 0.5, 1.0)", [0.0, 0.5, 1.0])):
            result.append(Case(name=name, columns=(c,), constants=((1, text, value),)))
    for name in ("percentile_cont", "percentile_disc"):
        for key in [(c, is_descending) for c in (*numbers, *intervals) for is_descending in (False, True)]:
            constants = rng.choice([(1, "0.3", 0.3), (1, "array(0.1, 0.7)", [0.1, 0.7])])
            result.append(Case(name=name, columns=(), constants=(constants,), within_group=key))
    for name in ("min_by", "max_by"):
        result += [Case(name=name, columns=(c, rng.choice(numbers))) for c in types]
    booleans = [c for c, t in types.items() if t == "boolean"]
    result += [
        Case(name=n, columns=(c,))
        for c in booleans
        for n in ("bool_and", "every", "bool_or", "some", "any", "count_if")
    ]
    integers = [c for c, t in types.items() if t in INTEGER_BITS]
    result += [Case(name=n, columns=(c,)) for c in integers for n in ("bit_and", "bit_or", "bit_xor")]
    texts = [c for c, t in types.items() if t == "string"]
    for c in texts:
        comma = ((1, "','", ","),)
        result += [Case(name="listagg", columns=(c,), constants=comma), Case(name="string_agg", columns=(c,))]
        result.append(Case(name="listagg", columns=(c,), constants=comma, within_group=(rng.choice(integers), True)))
    result.append(Case(name="count", columns=(rng.choice(numbers), rng.choice(texts))))
    return result


def is_orderable(spark_type: str) -> bool:
    return "map<" not in spark_type


class Session:
    def __init__(self, spark: Any, settings: ExecutionSettings, rng: random.Random):
        self.spark, self.settings, self.rng = spark, settings, rng
        table = random_rows(rng, GROUPS * LONGEST)
        self.types = {name: t for name, (t, _) in COLUMNS.items() if not is_year_month(t)}
        spark.createDataFrame(table).createOrReplaceTempView("v_rows")
        rows = ", ".join(f"CAST({c} AS {t}) AS {c}" for c, t in self.types.items())
        prefixes = f"explode(sequence(id % {LONGEST}, {LONGEST} - 1)) AS prefix"
        groups = (
            f"SELECT id, id DIV {LONGEST} * {LONGEST} + prefix AS g, {rows} FROM (SELECT *, {prefixes} FROM v_rows)"
        )
        spark.sql(groups).coalesce(1).sortWithinPartitions("g", "id").createOrReplaceTempView(VIEW)

    def compare(self, comparison: Comparison, share: int) -> None:
        """Compare one call of every `share`."""
        wanted = cases(self.rng, self.types)[self.rng.randrange(share) :: share]
        results = self._result_types(wanted)
        inputs = self._inputs(wanted)
        predicted = [(c, t, self._ours(c, t, inputs)) for c, t in zip(wanted, results) if t is not None]
        for is_distinct in (False, True):  # with a DISTINCT, Spark shuffles rows before it aggregates them
            part = [p for p in predicted if p[0].is_distinct == is_distinct]
            for start in range(0, len(part), IN_ONE_SELECT):
                self._compare(part[start : start + IN_ONE_SELECT], comparison)
        self._compare_errors(predicted, comparison)

    def _result_types(self, wanted: Sequence[Case]) -> list[str | None]:
        """Spark's type of each call; None for those that it refuses."""
        try:
            select = ", ".join(f"{c.sql()} AS c{i}" for i, c in enumerate(wanted))
            schema = self.spark.sql(f"SELECT {select} FROM {VIEW}").schema
            return [f.dataType.simpleString() for f in schema.fields]
        except Exception:
            if len(wanted) == 1:
                return [None]
            middle = len(wanted) // 2
            return self._result_types(wanted[:middle]) + self._result_types(wanted[middle:])

    def _inputs(self, wanted: Sequence[Case]) -> dict[tuple[str, str], list[Any]]:
        """The values of each column in each type in which an aggregate takes it, by row; "g" are the groups."""
        bound = [case.bound(self.types) for case in wanted]
        pairs = sorted({p for call, columns in bound for p in zip(columns, call.column_types)} | {("g", "int")})
        select = ", ".join(f"CAST({c} AS {t}) AS c{i}" for i, (c, t) in enumerate(pairs))
        table = self.spark.sql(f"SELECT {select} FROM {VIEW} ORDER BY g, id").toArrow()
        return {(c, t): from_arrow(table[f"c{i}"].combine_chunks(), t) for i, (c, t) in enumerate(pairs)}

    def _ours(self, case: Case, result: str, inputs: dict[tuple[str, str], list[Any]]) -> dict[int, Any]:
        """Our value, or error, for each group."""
        rows: dict[int, list[tuple]] = {}
        call, names = case.bound(self.types, result)
        columns = [inputs[pair] for pair in zip(names, call.column_types)]
        for g, *values in zip(inputs["g", "int"], *columns):
            rows.setdefault(g, []).append(tuple(values))
        aggregator = call.aggregator(self.settings)
        return {g: _outcome(aggregator, members) for g, members in rows.items()}

    def _compare(self, part: Sequence[tuple[Case, str, dict[int, Any]]], comparison: Comparison) -> None:
        failing = [[g for g, v in ours.items() if isinstance(v, DataError)] for _, _, ours in part]
        select = ", ".join(f"{case.sql(f)} AS c{i}" for i, ((case, _, _), f) in enumerate(zip(part, failing)))
        try:
            table = self.spark.sql(f"SELECT g, {select} FROM {VIEW} GROUP BY g ORDER BY g").toArrow()
        except Exception as error:
            if len(part) == 1:
                text = str(error).split("\n")[0][:200]
                comparison.differences.append(f"{part[0][0].sql()}: {part[0][1]}: Spark raises {text}")
                return
            middle = len(part) // 2
            self._compare(part[:middle], comparison)
            self._compare(part[middle:], comparison)
            return
        groups = table["g"].to_pylist()
        for i, (case, spark_type, ours) in enumerate(part):
            comparison.names.add(case.name)
            for g, theirs in zip(groups, from_arrow(table[f"c{i}"].combine_chunks(), spark_type)):
                if isinstance(ours[g], DataError):
                    continue
                comparison.values += 1
                if not _is_same(case, ours[g], theirs, spark_type):
                    comparison.differences.append(
                        f"{case.sql()}: {spark_type}: {ours[g]!r}, Spark {theirs!r}, group {g}"
                    )
                    break

    def _compare_errors(self, predicted: Sequence[tuple[Case, str, dict[int, Any]]], comparison: Comparison) -> None:
        """Spark must raise an error, too."""
        failing = [(c, g, v) for c, _, ours in predicted for g, v in ours.items() if isinstance(v, DataError)]
        comparison.errors += len(failing)
        for case, g, error in self.rng.sample(failing, min(len(failing), 8)):
            try:
                value = self.spark.sql(f"SELECT {case.sql()} FROM {VIEW} WHERE g = {g}").collect()
                comparison.differences.append(f"{case.sql()}: {error.error_class}, Spark {value}, group {g}")
            except Exception:
                comparison.values += 1


def _outcome(aggregator: Aggregator, rows: list[tuple]) -> Any:
    """The value, which must not depend on where states are merged, nor on storing them."""
    try:
        value = fold(aggregator, rows)
        left, right = aggregator.empty, aggregator.empty
        for row in rows[: len(rows) // 2]:
            left = aggregator.add(left, *row)
        for row in rows[len(rows) // 2 :]:
            right = aggregator.add(right, *row)
        left, right = map(read_state, write_states([left, right]))
        merged = aggregator.value(aggregator.merge(left, right))
    except DataError as error:
        return error
    # Merged floats are rounded otherwise, and partial sums overflow elsewhere.
    is_comparable = not isinstance(value, float) and value is not None and merged is not None
    assert not is_comparable or repr(merged) == repr(value), (value, merged)
    return value


def _is_same(case: Case, ours: Any, theirs: Any, spark_type: str) -> bool:
    if (case.name == "mode" and case.within_group is None) or case.name == "approx_count_distinct":
        # of equally frequent values Spark returns any; our count is exact
        return (ours is None) == (theirs is None)
    parts = nested(spark_type)
    if case.name in _UNORDERED or (case.is_distinct and parts is not None and case.name == "array_agg"):
        element = spark_type[len("array<") : -1]
        return {hashable(v, element) for v in ours} == {hashable(v, element) for v in theirs}
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, float) and (case.is_distinct or case.name in ("skewness", "kurtosis")):
        return compare(ours, theirs, spark_type) == 0 or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
    if "map<" in spark_type:
        return ours == theirs
    return compare(ours, theirs, spark_type) == 0 and (decimal_of(spark_type) is None or str(ours) == str(theirs))


def run(spark: Any, values: int, seed: int, share: int = 1) -> Comparison:
    """Compare at least `values` values of one call of every `share`, with ANSI on and off."""
    comparison = Comparison()
    while comparison.values < values:
        for is_ansi in (True, False):
            settings = ExecutionSettings(is_ansi, "UTC")
            with settings_of(spark, settings):
                before = len(comparison.differences)
                Session(spark, settings, random.Random(seed)).compare(comparison, share)
            label = f"ansi={is_ansi} seed={seed}"
            comparison.differences[before:] = [f"{label} {d}" for d in comparison.differences[before:]]
        seed += 1
    return comparison


if __name__ == "__main__":
    import sqlext

    result = run(sqlext.session("aggregates", master="local[2]"), int(sys.argv[1]), int((*sys.argv, "1")[2]))
    print(*result.differences, sep="\n")
    print(f"{result.values} values, {result.errors} errors, never: {sorted(set(COMPUTED) - result.names)}")
