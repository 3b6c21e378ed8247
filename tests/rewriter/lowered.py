"""Clauses lowered without a session; SQLite computes the columns of their input."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

import numpy as np

from sqlext.expressions.function import ExecutionSettings
from sqlext.pattern.task.task import Rows, Values
from sqlext.pattern.task.within import limits
from sqlext.rewriter.lowering.input_query import InputRelation
from sqlext.rewriter.lowering.lower_clause import lower
from sqlext.rewriter.lowering.match_plan import WINDOW, MatchPlan
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.scalars.static_binder import StaticBinder
from sqlext.rewriter.text.splice import Source, Text
from sqlext.rewriter.text.tokens import tokenize

COLUMNS = (("p", "int"), ("ts", "bigint"), ("v", "int"), ("d", "double"), ("until", "bigint"))


def plan_of(body: str, takes_start_bounds: bool = True) -> MatchPlan:
    """The plan of `t MATCH_RECOGNIZE (body)`."""
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({body}) m"
    clause = parse_match(text, tokenize(text), scan(text)[0])
    relation = InputRelation(
        columns=COLUMNS,
        resolver=StaticBinder(columns=dict(COLUMNS), settings=ExecutionSettings(is_ansi=True, time_zone="UTC")),
        is_aggregate=lambda name: False,
        takes_start_bounds=takes_start_bounds,
    )
    return lower(clause, Source(text), relation)


def in_sqlite(text: Text) -> str:
    return re.sub(r"(\d)[LD]\b", r"\1", str(text)).replace("IF(", "iif(")


def database(rows: Sequence[tuple]) -> sqlite3.Connection:
    """The table t with these rows of COLUMNS."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (p INT, ts INT, v INT, d REAL, until INT)")
    connection.create_function("try_add", 2, lambda x, y: None if x is None else x + y)
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    return connection


def rows_of(plan: MatchPlan, connection: sqlite3.Connection) -> Rows:
    """The rows of the table t as matchers read them, with a partition for each p."""
    order = ", ".join(f"{text}{direction}" for text, direction in plan.order_by)
    texts = ["p", *(in_sqlite(c.text) for c in plan.columns), *(in_sqlite(m.text) for m in plan.masks)]
    window = f"WINDOW {WINDOW} AS ({plan.window})"
    result = connection.execute(f"SELECT {', '.join(texts)} FROM t {window} ORDER BY p, {order}").fetchall()
    partition, *columns = (list(column) for column in zip(*result))
    masks = columns[len(plan.columns) :]
    values = {column.name: _values(entries) for column, entries in zip(plan.columns, columns)}
    bounds = np.flatnonzero(np.diff([-1, *partition, -1]))
    all_limits = [
        limits(bounds, values[b.key], values[b.end], is_inclusive=b.is_inclusive, admits_start=b.admits_start)
        for b in plan.bounds
    ]
    mask = np.packbits(np.array([*masks, [0] * len(result)]).T == 1, axis=1, bitorder="little")
    return Rows(
        bounds=bounds,
        mask=np.ascontiguousarray(mask),
        limit=np.min(all_limits, axis=0) if all_limits else None,
        columns=tuple(values[name] for name, *_ in plan.operands),
    )


def _values(column: list) -> Values:
    return Values(np.array([x or 0 for x in column]), np.array([x is not None for x in column]))
