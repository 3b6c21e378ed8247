"""What MATCH_RULES keeps of rows, how it goes on with other columns, and where late and failed rows go."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.expressions.python_functions import PythonFunction
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.plan import CompiledRules
from sqlext.operators.stateful.side_rows import FAILED, LATE
from tests.operators.driven import Driven

from .rule_histories import PLAN, SECOND, events_table, results_of, rules_table

PAIR = "MATCH_RECOGNIZE (MEASURES B.ts AS t PATTERN (A -> B) WITHIN INTERVAL '9' SECONDS DEFINE A AS v = 1, B AS v = 2)"


def run(plan, clause, *portions):
    """A stream of a rule that came before any event, and the keys of all matches. A portion: events, watermark."""
    driven = Driven(RulesOperator(plan=plan))
    driven.step(0, rules=rules_table([("r", 1, clause, True, None)]))
    for events, watermark in portions:
        driven.step(SECOND * watermark, rows=seconds(events))
    return driven, [row[3] for _, batch in driven.results for row in results_of(batch)]


def seconds(events):
    return events_table([(k, SECOND * t, v, s) for k, t, v, s in events])


def test_a_row_behind_the_watermark_keeps_the_columns_that_acting_rules_read():
    events = [("a", 1, 1, "x"), ("b", 2, 1, None), ("a", 8, 0, "y")]
    rows = run(PLAN, PAIR, (events, 5))[0].state.rows.select(["k", "v", "s"])
    assert sorted(tuple(row.values()) for row in rows.to_pylist()) == [("a", 0, "y"), ("a", 1, None), ("b", 1, None)]


def test_rows_of_one_time_keep_their_order_without_the_columns_that_gave_it():
    """By v the order is y, x, z; the rule reads s alone."""
    clause = "MATCH_RECOGNIZE (PATTERN (A B C D) DEFINE A AS s = 'y', B AS s = 'x', C AS s = 'z')"
    events, later = [("a", 3, 2, "x"), ("a", 3, 1, "y"), ("a", 3, 3, "z")], [("a", 9, 0, "x")]
    driven, _ = run(PLAN, clause, (events, 4))
    assert driven.state.rows.column("v").null_count == 3
    assert run(PLAN, clause, (events, 4), (later, 9))[1] == ["a"]


def test_a_stream_resumes_when_the_events_have_other_columns():
    driven, _ = run(PLAN, PAIR, ([("a", 1, 1, "x")], 5))
    schema = pa.schema([*list(PLAN.schema)[:2], ("v", pa.int64()), ("w", pa.date32())])
    kinds = (("k", "string"), ("ts", "timestamp"), ("v", "bigint"), ("w", "date"))
    plan = replace(PLAN, schema=schema, columns=kinds, sort=PLAN.sort[:1])
    arriving = seconds([("a", 6, 2, "x")]).drop(["s"]).append_column("w", pa.nulls(1, pa.date32())).cast(schema)
    driven.operator = RulesOperator(plan=plan)
    step = driven.step(9 * SECOND, rows=arriving)
    assert [row[0] for _, batch in step.results for row in results_of(batch)] == ["r"]


def test_late_and_failed_rows_are_written_with_their_rules(tmp_path):
    divide = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS 1 / v > 0)"
    over_rows = "MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS 1 / (B.v - A.v) > 0)"
    folders = {setting: tmp_path / setting for setting in (LATE, FAILED)}
    for folder in folders.values():
        folder.mkdir()
    driven = Driven(RulesOperator(plan=PLAN, shows_late_rows=True), folders={s: str(f) for s, f in folders.items()})
    driven.step(0, rules=rules_table([("d", 1, divide, True, None), ("o", 2, over_rows, True, None)]))
    driven.step(9 * SECOND, rows=seconds([("a", 0, 1, "x"), ("a", 2, 0, "y"), ("a", 3, 0, None)]))
    late, failed = (pq.read_table(next(folder.iterdir())).to_pylist() for folder in folders.values())
    assert [row["row"] for row in late] == ['{"k":"a","ts":"1970-01-01 00:00:00","v":1,"s":"x"}']
    assert sorted((row["error"].partition(" in ")[0], row["row"]) for row in failed) == [
        ("d 1: SQLEXT_DIVIDE_BY_ZERO: division by zero", '{"k":"a","ts":"1970-01-01 00:00:02","v":0,"s":"y"}'),
        ("d 1: SQLEXT_DIVIDE_BY_ZERO: division by zero", '{"k":"a","ts":"1970-01-01 00:00:03","v":0}'),
        ("o 2: SQLEXT_DIVIDE_BY_ZERO: division by zero", '{"k":"a"}'),
    ]
    assert (driven.stored.header.late, driven.stored.header.failed) == (1, 3)


def test_a_rule_calls_python_functions_on_one_row_over_several_and_in_measures():
    half = PythonFunction(name="half", pickled=pickle.dumps(round), result="bigint")
    plan = replace(PLAN, functions={"half": half, "random": replace(half, is_deterministic=False)})
    clause = (
        "MATCH_RECOGNIZE (MEASURES Half(B.v) AS h PATTERN (A B) DEFINE A AS half(v) = 1, B AS half(B.v) > half(A.v))"
    )
    assert run(plan, clause, ([("a", 1, 1, "x"), ("a", 2, 3, "x")], 9))[1] == ["a"]
    refused = CompiledRules(plan)("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS random(v) = 1)")
    assert "not deterministic" in str(refused)
