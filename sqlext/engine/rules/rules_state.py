"""The state of MATCH_RULES in one bucket of keys: rows that all rules share, positions of searches, rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlext.engine.rules.rule_plan import RulesPlan
from sqlext.engine.rules.rule_versions import TakenVersion
from sqlext.engine.stream.stream_plan import BACK, DUE, FIRST, FIRST_WATERMARK, MATCHED, NUMBER, TIME
from sqlext.engine.worker.arrow import are_valid, as_numpy, one_chunk

ROW = "__row_id"  # of a row: in the order of arrival; of a position: the first row that the version still reads
RULE, VERSION = "__rule", "__version"
POSITION = (BACK, NUMBER, MATCHED, TIME, DUE, FIRST)
NO_ROW = -1  # a position whose version reads no row of the key any more
_MICROS = pa.timestamp("us", "UTC")
VERSIONS = pa.schema(
    [
        ("name", pa.string()),
        ("version", pa.int64()),
        ("clause", pa.string()),
        ("enabled", pa.bool_()),
        ("effective_from", _MICROS),
        ("time", _MICROS),
        ("taken_up", _MICROS),
    ]
)
ARRIVING_VERSIONS = pa.schema(list(VERSIONS)[:-1])


@dataclass(frozen=True, kw_only=True)
class RulesState:
    """`rows`: the events that some version may still read, and those above the watermark, with ROW; `positions`: where
    the search of a version stands in a key (see `StreamPlan.key_schema`); `versions`: those taken up."""

    rows: pa.Table
    positions: pa.Table
    versions: pa.Table
    watermark: int


def row_schema(plan: RulesPlan) -> pa.Schema:
    return pa.schema([*plan.schema, (ROW, pa.int64())])


def with_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Stored rows with the columns that the events have now: a column that was added is NULL, one that was dropped is
    left out, and one of another type is cast, or NULL where a value does not fit.

    >>> with_schema(pa.table({"a": [1], "b": [2]}), pa.schema([("b", pa.float64()), ("c", pa.string())])).to_pylist()
    [{'b': 2.0, 'c': None}]
    """
    if rows.schema == schema:
        return rows
    return pa.table([_column(rows, field) for field in schema], schema=schema)


def _column(rows: pa.Table, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    if field.name not in rows.column_names:
        return pa.nulls(rows.num_rows, field.type)
    try:
        return rows.column(field.name).cast(field.type)
    except pa.ArrowException:
        return pa.nulls(rows.num_rows, field.type)


def position_schema(plan: RulesPlan) -> pa.Schema:
    keys = (plan.schema.field(k) for k in plan.keys)
    own = ((RULE, pa.string()), (VERSION, pa.int64()), (ROW, pa.int64()))
    return pa.schema([*keys, *own, *((name, pa.int64()) for name in POSITION)])


def first_state(plan: RulesPlan) -> RulesState:
    return RulesState(
        rows=row_schema(plan).empty_table(),
        positions=position_schema(plan).empty_table(),
        versions=VERSIONS.empty_table(),
        watermark=FIRST_WATERMARK,
    )


def read_versions(table: pa.Table) -> list[TakenVersion]:
    """The versions of a table with the columns VERSIONS."""
    effective, taken = (_times(table.column(name)) for name in ("effective_from", "taken_up"))
    names, clauses = table.column("name").to_pylist(), table.column("clause").to_pylist()
    numbers, enabled = table.column("version").to_pylist(), table.column("enabled").to_pylist()
    return [
        TakenVersion(name=n, version=v, clause=c, is_enabled=e is not False, effective_from=f, taken_up=t or 0)
        for n, v, c, e, f, t in zip(names, numbers, clauses, enabled, effective, taken)
    ]


def _times(column: pa.ChunkedArray) -> list[int | None]:
    return one_chunk(column).view(pa.int64()).to_pylist()


def new_versions(
    state: RulesState, arrived: pa.Table, watermark: int, most: int
) -> tuple[pa.Table, list[tuple[str, int, str, str]]]:
    """The rows of the rules table to take up at a watermark, and what is wrong with the others: (name, version, error
    class, message).

    A number that a rule has already, a row without a name or a number, and those beyond `most` are wrong.
    """
    names = (name.lower() for name in state.versions.column("name").to_pylist())
    known = set(zip(names, state.versions.column("version").to_pylist()))
    kept, errors = [], []
    keys = list(zip(arrived.column("name").to_pylist(), arrived.column("version").to_pylist()))
    clauses, times = arrived.column("clause").to_pylist(), _times(arrived.column("time"))
    for i in sorted(range(len(keys)), key=lambda i: in_time(*keys[i], times[i], clauses[i])):
        name, version = keys[i]
        if name is None or version is None:
            errors.append((name or "", version or 0, "SQLEXT_RULE_ROW", "a rule needs a name and a version"))
        elif (name.lower(), version) in known:
            errors.append((name, version, "SQLEXT_RULE_ROW", f"{name} has version {version} already"))
        elif len(known) >= most:
            errors.append(
                (name, version, "SQLEXT_TOO_MANY_RULES", f"the stream has taken up {most:,} versions of rules")
            )
        else:
            known.add((name.lower(), version))
            kept.append(i)
    rows = arrived.select(ARRIVING_VERSIONS.names).take(pa.array(kept, pa.int64())).cast(ARRIVING_VERSIONS)
    taken = pa.array(np.full(len(kept), watermark), pa.int64()).cast(_MICROS)
    return rows.append_column(VERSIONS.field("taken_up"), taken), errors


def in_time(name: str | None, version: int | None, time: int | None, clause: str | None) -> tuple:
    """A sort key for rows of the rules table: of several with one number the first one counts."""
    return (name or "").lower(), version or 0, time is None, time or 0, clause or ""


def with_ids(arrived: pa.Table, state: RulesState) -> pa.Table:
    """The arriving rows with their ROW."""
    known = state.rows.column(ROW)
    first = int(as_numpy(one_chunk(known)).max()) + 1 if len(known) else 0
    ids = pa.array(np.arange(first, first + arrived.num_rows), pa.int64())
    return arrived.append_column(pa.field(ROW, pa.int64()), ids)


def is_late(arrived: pa.Table, time: str, watermark: int) -> np.ndarray:
    """`bool[n]`: the rows up to the watermark, and those without a time."""
    column = one_chunk(arrived.column(time))
    return ~are_valid(column) | (as_numpy(column.view(pa.int64())) <= watermark)
