"""A function of the table returns a value of its type or raises DataError, whatever the values of a row are.

`python -m tests.expressions.test_extremes 200 [SEED]` evaluates 200 calls of each template.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sqlext.aggregates.stored_states import read_state, write_states
from sqlext.errors import DataError, SqlExtError
from sqlext.expressions.column_values import ColumnValues
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.function_table import bind
from sqlext.expressions.scalar_tree import Scalar, evaluate
from sqlext.expressions.values import computable, to_arrow
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import join

from ..sampling import SAMPLE
from .against_spark import ZONES
from .aggregates_against_spark import cases, is_orderable
from .extremes import ALL_LITERALS, ONLY_OURS, extreme_rows
from .random_expressions import COLUMNS, Expression, Pool, is_constant, rows_of, templates

SEED = 0 if SAMPLE == "all" else int(SAMPLE)
ROWS = 60
UNFORESEEN = ("SQLEXT_FUNCTION_FAILED", "SQLEXT_VALUE_OF_TYPE")


def unforeseen_failures(settings: ExecutionSettings, seed: int, per_template: int) -> Iterator[str]:
    """What a call raised besides the errors that rules of Spark name."""
    rng = random.Random(seed)
    columns = {name: spark_type for name, (spark_type, _) in COLUMNS.items()}
    table = extreme_rows(rng, ROWS, ONLY_OURS)
    arrays = {name: table[name].combine_chunks() for name in columns}
    texts, rows = StaticBinder(columns=columns, settings=settings), rows_of(table, columns)
    pool = Pool(
        rng,
        [Expression(sql=name, spark_type=spark_type) for name, spark_type in columns.items()],
        {name: [_literal(text, texts) for text in group] for name, group in ALL_LITERALS.items()},
    )
    words = {word for template in templates() for word in template.classes if is_constant(word)}
    constants = {word: Expression(sql=word, is_constant=True) for word in words}
    for template in templates() * per_template:
        call = pool.call(template, constants)
        if call is None:
            continue
        try:
            tree = texts.tree(join(call.sql))
        except SqlExtError:
            continue
        try:
            errors = [*_errors_by_row(tree, rows), ColumnValues(columns=arrays, rows=ROWS).failure(tree)]
        except Exception as e:
            yield f"{call.sql[:300]}: {type(e).__name__}: {str(e)[:300]}"
            continue
        yield from {
            f"{call.sql[:300]}: {e.message[:300]}" for e in errors if e is not None and e.error_class in UNFORESEEN
        }


def _errors_by_row(tree: Scalar, rows: list[dict[str, Any]]) -> Iterator[DataError]:
    """The errors on each row alone, where its value must have the type of the call."""
    values = []
    for row in rows:
        try:
            values.append(evaluate(tree, row))
        except DataError as error:
            yield error
    yield from computable(values, tree.type)[1].values()


def _literal(text: str, texts: StaticBinder) -> Expression:
    return Expression(sql=text, spark_type=texts.tree(join(text)).type, is_constant=True)


def unforeseen_failures_of_aggregates(settings: ExecutionSettings, seed: int) -> Iterator[str]:
    """The same for aggregates over groups of three rows, whose states are merged and stored."""
    rng = random.Random(seed)
    types = {name: spark_type for name, (spark_type, _) in COLUMNS.items()}
    texts, rows = StaticBinder(columns=types, settings=settings), rows_of(extreme_rows(rng, ROWS, ONLY_OURS), types)
    for case in cases(rng, types):
        if case.name == "max" and not is_orderable(types[case.columns[0]]):  # which Spark refuses
            continue
        try:
            result = texts.types([join(case.sql())])[0]
            call, names = case.bound(types, result)
            bound = call.aggregator(settings)
        except SqlExtError:
            continue
        casts = [bind("CAST", (types[name],), t, settings) for name, t in zip(names, call.column_types)]
        for at in range(0, ROWS, 3):
            try:
                states = [
                    bound.add(bound.empty, *(c(row[n]) for c, n in zip(casts, names))) for row in rows[at : at + 3]
                ]
                stored = [read_state(state) for state in write_states(states)]
                value = bound.value(bound.merge(bound.merge(*stored[:2]), stored[2]))
                to_arrow([value], result)
            except DataError as error:
                if error.error_class in UNFORESEEN:
                    yield f"{case.sql()}: {error.message[:300]}"
            except Exception as error:
                yield f"{case.sql()}: {type(error).__name__}: {str(error)[:300]}"


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("is_ansi", [True, False])
def test_an_aggregate_over_extreme_values_has_a_value_or_an_error_of_spark(is_ansi):
    assert list(unforeseen_failures_of_aggregates(ExecutionSettings(is_ansi, "UTC"), SEED)) == []


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("is_ansi", [True, False])
def test_a_call_over_extreme_values_has_a_value_or_an_error_of_spark(is_ansi):
    assert list(unforeseen_failures(ExecutionSettings(is_ansi, ZONES[SEED % 4]), SEED, per_template=1)) == []


if __name__ == "__main__":
    for is_ansi in (True, False):
        seed = int((*sys.argv, "1")[2])
        found = unforeseen_failures(ExecutionSettings(is_ansi, ZONES[seed % 4]), seed, int(sys.argv[1]))
        print(*dict.fromkeys(found), sep="\n")
        print(*dict.fromkeys(unforeseen_failures_of_aggregates(ExecutionSettings(is_ansi, "UTC"), seed)), sep="\n")
