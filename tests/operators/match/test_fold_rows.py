"""Aggregates that workers fold row by row: each result row sees the members that the oracle lists."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from sqlext.aggregates.bind import BoundAggregate
from sqlext.operators.match.fold_rows import fold_column
from sqlext.operators.match.plan import Slot
from sqlext.pattern.measures.navigation import output_rows
from sqlext.pattern.task.task import Aggregate, Output
from tests.pattern.measures import navigation_oracle as oracle
from tests.pattern.measures.test_navigation_random import LABELS, random_block, with_random_tails


@pytest.mark.random(few=10)
@pytest.mark.parametrize("seed", range(300))
def test_each_result_row_aggregates_the_members_that_it_sees(seed):
    rng = random.Random(seed)
    spans, bounds = random_block(rng)
    output = Output(is_all_rows=rng.random() < 0.7, shows_unmatched=rng.random() < 0.5)
    if not output.is_all_rows and rng.random() < 0.5:
        spans = with_random_tails(rng, spans, bounds)
    values = [[rng.choice([None, 1, 2, 3]) for _ in range(bounds[-1])] for _ in range(LABELS)]
    columns = {f"a{i}": pa.array(v, pa.int64()) for i, v in enumerate(values)}
    columns["keep"] = pa.array([rng.choice([True, False, None]) for _ in range(bounds[-1])])
    is_by_label, has_filter, is_distinct = rng.random() < 0.5, rng.random() < 0.3, rng.random() < 0.3
    labels = rng.choice([None, (1,), (0, 2)])
    by_label = (labels or tuple(range(LABELS))) if is_by_label else ()
    names = [f"a{i}" for i in by_label or (0,)]
    slot = Slot(
        kind="fold",
        name="x",
        columns=(*names, *(["keep"] * len(names) if has_filter else [])),
        by_label=by_label,
        aggregate=Aggregate(
            function="array_agg", argument=0, labels=labels, is_distinct=is_distinct, is_final=rng.random() < 0.3
        ),
        fold=BoundAggregate(function="array_agg", types=("bigint",), result="array<bigint>", is_distinct=is_distinct),
        filter=1 if has_filter else None,
    )

    def expected(shown) -> list:
        if shown.match is None:
            return []  # SQL makes it NULL, but over a window without a match this is the value
        rows = oracle.member_rows(slot.aggregate, shown, spans)
        kept = [(row, label) for row, label in rows if not has_filter or columns["keep"][row].as_py()]
        found = [values[label if is_by_label else 0][row] for row, label in kept]
        members = [v for v in found if v is not None]
        return list(dict.fromkeys(members)) if is_distinct else members

    out, at, progress, results = output_rows(spans, output), 0, None, []
    while at < len(out):
        size = rng.randint(1, 6)
        column, progress = fold_column(slot, columns, spans, out.slice(at, at + size), progress)
        results, at = results + column.to_pylist(), at + size
    assert results == [expected(shown) for shown in oracle.shown_rows(spans, output)]
