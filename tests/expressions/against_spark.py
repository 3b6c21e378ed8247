"""Compare the table of functions with Spark itself on random expressions and rows.

`python -m tests.expressions.against_spark 20000 [SEED] [extreme]` compares that many (expression, row) pairs and prints
the differences; the suite runs a rotating sample.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.errors import PySparkException

from sqlext.errors import DataError, SqlExtError, UnsupportedError
from sqlext.expressions.casts import cast
from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.function_table import result_type
from sqlext.expressions.numbers import to_float32
from sqlext.expressions.spark_types import is_year_month
from sqlext.expressions.values import compare, from_arrow
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join
from sqlext.spark.quiet_probes import quiet_probes

from .extremes import ALL_LITERALS, extreme_rows
from .random_expressions import (
    COLUMNS,
    LITERALS,
    Compiled,
    Expression,
    Pool,
    Template,
    compiled,
    is_constant,
    random_rows,
    rows_of,
    templates,
)

UNTYPED = ("CAST", "TRY_CAST", "struct", "try_divide")  # the first two name their types; others are known to differ
ROWS = 40
MORE_TRIES = 3
IN_ONE_SELECT = 150
VIEW = "v_expressions"


@dataclass(kw_only=True)
class Comparison:
    """What was compared in one run."""

    pairs: int = 0
    errors: int = 0  # pairs for which an error was expected; a sample of them is tried in Spark
    names: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def compare_with_spark(
    spark: Any,
    settings: ExecutionSettings,
    seed: int,
    per_template: int,
    nested_calls: int,
    *,
    is_extreme: bool = False,
) -> Comparison:
    """Compare calls of each template over columns, then `nested_calls` calls over calls. `is_extreme`: most values are
    those of `extremes`."""
    session = _Session(spark, settings, random.Random(seed), is_extreme)
    comparison = Comparison()
    with settings_of(spark, settings), quiet_probes():
        session.prepare()
        session.compare(session.calls(per_template * len(session.templates)), comparison)
        for _ in range(MORE_TRIES):  # by chance one call of a template may be of no use
            session.compare(session.calls_of(session.not_in(comparison)), comparison)
        for _ in range(2):
            if nested_calls:
                session.compare(session.calls(nested_calls // 2), comparison)
    return comparison


class settings_of:
    """The session's settings while the block runs."""

    def __init__(self, spark: Any, settings: ExecutionSettings):
        self.spark = spark
        self.settings = {
            "spark.sql.ansi.enabled": str(settings.is_ansi).lower(),
            "spark.sql.session.timeZone": settings.time_zone,
            "spark.sql.codegen.wholeStage": "false",
        }

    def __enter__(self) -> None:
        self.before = {name: self.spark.conf.get(name) for name in self.settings}
        for name, value in self.settings.items():
            self.spark.conf.set(name, value)

    def __exit__(self, *_: Any) -> None:
        for name, value in self.before.items():
            self.spark.conf.set(name, value)


class _Session:
    def __init__(self, spark: Any, settings: ExecutionSettings, rng: random.Random, is_extreme: bool):
        self.spark, self.settings, self.rng, self.is_extreme = spark, settings, rng, is_extreme
        self.templates = templates()

    def prepare(self) -> None:
        """Make the view, and the pool of columns and literals with Spark's types and values."""
        table = (extreme_rows if self.is_extreme else random_rows)(self.rng, ROWS)
        schema = "id INT, " + ", ".join(f"{name} {t}" for name, (t, _) in COLUMNS.items())
        frame = self.spark.createDataFrame(table, schema).selectExpr("*", "make_ym_interval(0, ymm) AS ym")
        frame.createOrReplaceTempView(VIEW)
        types = {f.name: f.dataType.simpleString() for f in frame.schema.fields}
        months = {"ym": types.pop("ym")}
        self.rows = rows_of(table, types)
        for row in self.rows:
            row["ym"] = row["ymm"]
        self.arrays = {name: table[name].combine_chunks() for name in types}
        self.texts = StaticBinder(columns={**types, **months}, settings=self.settings)
        columns = [Expression(sql=name, spark_type=t) for name, t in {**types, **months}.items() if name != "id"]
        words = {w for t in self.templates for w in t.classes if is_constant(w)}
        groups = ALL_LITERALS if self.is_extreme else LITERALS
        texts = sorted({text for group in groups.values() for text in group} | words)
        literals = dict(zip(texts, self._literals(texts)))
        self.constants = {word: literals[word] for word in words}
        self.pool = Pool(self.rng, columns, {name: [literals[t] for t in group] for name, group in groups.items()})

    def _literals(self, texts: Sequence[str]) -> list[Expression]:
        types = self.types([Expression(sql=t) for t in texts])
        found_types = [t or "void" for t in types]
        months = [is_year_month(t) for t in found_types]
        start = "DATE'2000-01-01'"
        shown = [f"months_between({start} + {t}, {start})" if m else t for t, m in zip(texts, months)]
        table = self.spark.sql("SELECT " + ", ".join(f"{t} AS c{i}" for i, t in enumerate(shown))).toArrow()
        values = [
            int(table[f"c{i}"][0].as_py()) if m else from_arrow(table[f"c{i}"].combine_chunks(), t)[0]
            for i, (t, m) in enumerate(zip(found_types, months))
        ]
        return [
            Expression(sql=text, spark_type=t, is_constant=True, value=value)
            for text, t, value in zip(texts, found_types, values)
        ]

    def types(self, expressions: Sequence[Expression]) -> list[str | None]:
        """Spark's type of each; None for those that it refuses."""
        if not expressions:
            return []
        select = ", ".join(f"{e.sql} AS c{i}" for i, e in enumerate(expressions))
        try:
            schema = self.spark.sql(f"SELECT {select} FROM {VIEW}").schema
            return [f.dataType.simpleString() for f in schema.fields]
        except PySparkException:
            if len(expressions) == 1:
                return [None]
            middle = len(expressions) // 2
            return self.types(expressions[:middle]) + self.types(expressions[middle:])

    def calls(self, n: int) -> list[Expression]:
        """Random calls with their types; each template in turn. They join the pool."""
        return self.calls_of([self.templates[i % len(self.templates)] for i in range(n)])

    def not_in(self, comparison: Comparison) -> list[Template]:
        """The templates of functions that were not compared yet."""
        return [t for t in self.templates if t.name not in comparison.names]

    def calls_of(self, chosen_templates: Sequence[Template]) -> list[Expression]:
        """A random call of each template with its type, if it is short and Spark accepts it. They join the pool."""
        chosen = [self.pool.call(template, self.constants) for template in chosen_templates]
        calls = [call for call in chosen if call is not None and len(call.sql) < 600]
        typed = []
        for start in range(0, len(calls), IN_ONE_SELECT):
            part = calls[start : start + IN_ONE_SELECT]
            typed += [replace(c, spark_type=t) for c, t in zip(part, self.types(part)) if t and "void" not in t]
        self.pool.calls += [c for c in typed if c.is_exact and c.depth() < 3 and not _writes_floats(c)]
        return typed

    def compare(self, calls: Sequence[Expression], comparison: Comparison) -> None:
        predicted = []
        for call in calls:
            outcome = self._evaluated(call, comparison)
            if outcome is not None:
                comparison.names[call.name] += 1
                predicted.append((call, outcome))
        for start in range(0, len(predicted), IN_ONE_SELECT):
            self._compare_values(predicted[start : start + IN_ONE_SELECT], comparison)
        self._compare_errors(predicted, comparison)

    def _compare_type(self, call: Expression, comparison: Comparison) -> None:
        """Compare the type that rules give the call with Spark's."""
        constants = {i: a.value for i, a in enumerate(call.arguments) if a.is_constant}
        types = tuple(a.spark_type for a in call.arguments)
        if call.name in UNTYPED:
            return
        ours = result_type(call.name, types, self.settings, constants)
        if ours != call.spark_type:
            comparison.differences.append(f"{call.sql}: {call.spark_type}: of type {ours}")

    def _compare_columns(self, call: Expression, outcomes: list[Any], comparison: Comparison) -> None:
        """Compare the values on whole columns, of the text as rules read it, with those of the table of functions."""
        if any("year" in e.spark_type or "month" in e.spark_type for e in (call, *_leaves(call))):  # not in PyArrow
            return
        try:
            tree = self.texts.tree(join(call.sql))
        except SqlExtError as refusal:
            comparison.refused[f"in a rule, {call.name}: {refusal.message}"] += 1
            return
        columns = ColumnValues(columns=self.arrays, rows=len(self.rows))
        vector = columns.vector(tree)
        for row, outcome in enumerate(outcomes):
            theirs = None if isinstance(outcome, DataError) else outcome
            ours = vector.values.tolist()[row] if vector.valid[row] else None
            if tree.type == call.spark_type and not _is_same(ours, theirs, call):
                text = f"{call.sql}: {call.spark_type}: on columns {ours!r}, by value {theirs!r}"
                comparison.differences.append(f"{text}; {self._shown(call, row)}")
                return
        if tree.type != call.spark_type:
            comparison.differences.append(f"{call.sql}: {call.spark_type}: in a rule of type {tree.type}")

    def _evaluated(self, call: Expression, comparison: Comparison) -> list[Any] | None:
        """Our value or DataError for each row; None if the call is refused."""
        try:
            self._compare_type(call, comparison)
            evaluate: Compiled = compiled(call, self.settings)
            outcomes = [_outcome(evaluate, row) for row in self.rows]
            self._compare_columns(call, outcomes, comparison)
            return outcomes
        except UnsupportedError as refusal:
            comparison.refused[f"{call.name}: {refusal.message}"] += 1
        except Exception as error:
            comparison.differences.append(f"{call.sql}: {call.spark_type}: {type(error).__name__}: {error}")
        return None

    def _compare_values(self, part: list[tuple[Expression, list[Any]]], comparison: Comparison) -> None:
        for (call, ours), theirs in zip(part, self._spark_values(part, comparison)):
            if theirs is None:
                continue
            for row, (a, b) in enumerate(zip(ours, theirs)):
                if isinstance(a, DataError):
                    continue
                comparison.pairs += 1
                if not _is_same(a, b, call):
                    comparison.differences.append(
                        f"{call.sql}: {call.spark_type}: {a!r}, Spark {b!r}; {self._shown(call, row)}"
                    )
                    break

    def _shown(self, call: Expression, row: int) -> str:
        leaves = {e.sql for e in _leaves(call)}
        return str({name: value for name, value in self.rows[row].items() if name in leaves})

    def _spark_values(self, part: list[tuple[Expression, list[Any]]], comparison: Comparison) -> list[list[Any] | None]:
        """Spark's values by row; None for a call that raises an error where ours does not."""
        select = ", ".join(f"{_masked(call, ours)} AS c{i}" for i, (call, ours) in enumerate(part))
        try:
            table = self.spark.sql(f"SELECT {select} FROM {VIEW} ORDER BY id").toArrow()
        except Exception as error:
            if len(part) == 1:
                text = str(error).split("\n")[0][:200]
                if not text.startswith(
                    "["
                ):  # no error that Spark foresees: of Java's arithmetic, where we have a value
                    return [None]
                comparison.differences.append(f"{part[0][0].sql}: {part[0][0].spark_type}: Spark raises {text}")
                return [None]
            middle = len(part) // 2
            return self._spark_values(part[:middle], comparison) + self._spark_values(part[middle:], comparison)
        types = ["string" if is_year_month(call.spark_type) else call.spark_type for call, _ in part]
        return [from_arrow(table[f"c{i}"].combine_chunks(), t) for i, t in enumerate(types)]

    def _compare_errors(
        self, predicted: list[tuple[Expression, list[Any]]], comparison: Comparison, most: int = 10
    ) -> None:
        """Spark must raise an error of the same class too: one row of a few calls."""
        failing = [(c, i, v) for c, ours in predicted for i, v in enumerate(ours) if isinstance(v, DataError)]
        comparison.errors += len(failing)
        by_name = {(c.name, v.error_class): (c, i, v) for c, i, v in self.rng.sample(failing, len(failing))}
        for call, row, error in self.rng.sample(sorted(by_name.values(), key=str), min(len(by_name), most)):
            try:
                value = self.spark.sql(f"SELECT {_text(call)} FROM {VIEW} WHERE id = {row}").collect()
                comparison.differences.append(
                    f"{call.sql}: {call.spark_type}: {error.error_class}, Spark {value}; {self._shown(call, row)}"
                )
            except Exception:
                comparison.pairs += 1


def _outcome(evaluate: Compiled, row: dict[str, Any]) -> Any:
    try:
        return evaluate(row)
    except DataError as error:
        return error


def _text(call: Expression) -> str:
    return f"CAST({call.sql} AS STRING)" if is_year_month(call.spark_type) else call.sql


def _masked(call: Expression, ours: list[Any]) -> str:
    failing = [str(i) for i, value in enumerate(ours) if isinstance(value, DataError)]
    return f"CASE WHEN id NOT IN ({', '.join(failing)}) THEN {_text(call)} END" if failing else _text(call)


def _leaves(call: Expression) -> Iterator[Expression]:
    for argument in call.arguments:
        yield from _leaves(argument) if argument.name else [argument]


def _writes_floats(call: Expression) -> bool:
    """Java 17 writes some doubles with more digits than are needed."""
    return call.spark_type == "string" and any(e.spark_type in ("float", "double") for e in call.arguments)


def _is_same(ours: Any, theirs: Any, call: Expression) -> bool:
    if is_year_month(call.spark_type):
        return cast(call.spark_type, "string", ExecutionSettings(True, "UTC"))(ours) == theirs
    if "map<" in call.spark_type:
        return repr(ours) == repr(theirs)
    if compare(ours, theirs, call.spark_type) == 0:
        return call.spark_type.startswith("decimal") is False or str(ours) == str(theirs)
    if ours is None or theirs is None:
        return False
    if isinstance(ours, float) and not call.is_exact:
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
    if _writes_floats(call) and isinstance(ours, str):
        try:
            return to_float32(float(ours)) == to_float32(float(theirs))
        except ValueError:
            return False
    return False


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "+05:30")


def run(spark: Any, pairs: int, seed: int, *, is_extreme: bool = False) -> Comparison:
    """Compare at least `pairs` pairs, with ANSI on and off."""
    total = Comparison()
    while total.pairs < pairs:
        for is_ansi in (True, False):
            settings = ExecutionSettings(is_ansi, ZONES[seed % 4])
            one = compare_with_spark(spark, settings, seed, 2, 0 if is_extreme else 600, is_extreme=is_extreme)
            total.pairs, total.errors = total.pairs + one.pairs, total.errors + one.errors
            total.names += one.names
            total.refused += one.refused
            total.differences += [f"ansi={is_ansi} {settings.time_zone} seed={seed} {d}" for d in one.differences]
        seed += 1
    return total


if __name__ == "__main__":
    import sqlext

    started = time.time()
    arguments = [text for text in sys.argv[1:] if text != "extreme"]
    session = sqlext.session("against spark", master="local[2]")
    result = run(session, int(arguments[0]), int((*arguments, "1")[1]), is_extreme="extreme" in sys.argv)
    print(*result.differences, sep="\n")
    print(*(f"refused {n} x {what}" for what, n in result.refused.most_common(30)), sep="\n")
    missing = sorted({t.name for t in templates()} - set(result.names))
    print(f"{result.pairs} pairs, {result.errors} errors, {len(result.names)} functions, never: {missing}")
    print(f"{len(result.differences)} differences, {time.time() - started:.0f} s")
