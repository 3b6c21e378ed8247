"""The state of MATCH_RULES in one bucket of keys: the rows that all rules share, the positions of searches, and the
rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sqlext.operators.match.stream_plan import BACK, DUE, FIRST, MATCHED, NUMBER, TIME
from sqlext.operators.rows.arrow import as_numpy, one_chunk
from sqlext.operators.rules.plan import RulesPlan
from sqlext.operators.rules.rule_versions import TakenVersion
from sqlext.operators.stateful.operator import KEYS, ROWS

RULES = "rules"  # the input with rows of the rules table, and the table of versions in the state
# of a row: its number in the order of arrival; of a position: the first row that the version still reads
ROW = "__row_id"
RULE, VERSION = "__rule", "__version"
POSITION = (BACK, NUMBER, MATCHED, TIME, DUE, FIRST)
NO_ROW = -1  # a position whose version no longer reads any row of the key
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


def row_schema(plan: RulesPlan) -> pa.Schema:
    return pa.schema([*plan.schema, (ROW, pa.int64())])


def position_schema(plan: RulesPlan) -> pa.Schema:
    keys = (plan.schema.field(k) for k in plan.keys)
    own = ((RULE, pa.string()), (VERSION, pa.int64()), (ROW, pa.int64()))
    return pa.schema([*keys, *own, *((name, pa.int64()) for name in POSITION)])


def table_schemas(plan: RulesPlan) -> Mapping[str, pa.Schema]:
    """The tables of the state.

    ROWS: the events that some version may still read, and the events above the watermark, with ROW; KEYS: for each key
    and version the position of its search (see `StreamMatchPlan.key_schema`); RULES: the versions that were taken up.
    """
    return {ROWS: row_schema(plan), KEYS: position_schema(plan), RULES: VERSIONS}


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
    known: pa.Table, arrived: pa.Table, watermark: int, most: int
) -> tuple[pa.Table, list[tuple[str, int, str, str]]]:
    """The rows of the rules table to take up at a watermark, and the errors of the other rows: (name, version, error
    class, message).

    `known`: the versions that were taken up before. A row is an error if its rule already has another version of its
    number, if it has no name or no number, or if it would exceed `most` versions. A row that repeats a version, with
    another comment perhaps, changes nothing.
    """
    names = (name.lower() for name in known.column("name").to_pylist())
    numbers = dict(zip(zip(names, known.column("version").to_pylist()), _acts(known)))
    contents = _acts(arrived)
    kept, errors = [], []
    keys = list(zip(arrived.column("name").to_pylist(), arrived.column("version").to_pylist()))
    clauses, times = arrived.column("clause").to_pylist(), _times(arrived.column("time"))
    for i in sorted(range(len(keys)), key=lambda i: in_time(*keys[i], times[i], clauses[i])):
        name, version = keys[i]
        if name is None or version is None:
            errors.append((name or "", version or 0, "SQLEXT_RULE_ROW", "a rule needs a name and a version"))
        elif numbers.get((name.lower(), version)) == contents[i]:
            continue
        elif (name.lower(), version) in numbers:
            errors.append((name, version, "SQLEXT_RULE_ROW", f"{name} has version {version} already"))
        elif len(numbers) >= most:
            errors.append(
                (name, version, "SQLEXT_TOO_MANY_RULES", f"the stream has taken up {most:,} versions of rules")
            )
        else:
            numbers[name.lower(), version] = contents[i]
            kept.append(i)
    rows = arrived.select(ARRIVING_VERSIONS.names).take(pa.array(kept, pa.int64())).cast(ARRIVING_VERSIONS)
    taken = pa.array(np.full(len(kept), watermark), pa.int64()).cast(_MICROS)
    return rows.append_column(VERSIONS.field("taken_up"), taken), errors


def _acts(versions: pa.Table) -> list[tuple]:
    """What decides the matches of each version: its clause, whether it is enabled, and from when on it acts."""
    return list(
        zip(
            versions.column("clause").to_pylist(),
            versions.column("enabled").to_pylist(),
            _times(versions.column("effective_from")),
        )
    )


def in_time(name: str | None, version: int | None, time: int | None, clause: str | None) -> tuple:
    """A sort key for rows of the rules table: the first of several rows with one number counts."""
    return (name or "").lower(), version or 0, time is None, time or 0, clause or ""


def with_ids(arrived: pa.Table, rows: pa.Table) -> pa.Table:
    """The arriving rows with their ROW; `rows`: the rows of the state."""
    known = rows.column(ROW)
    first = int(as_numpy(one_chunk(known)).max()) + 1 if len(known) else 0
    ids = pa.array(np.arange(first, first + arrived.num_rows), pa.int64())
    return arrived.append_column(pa.field(ROW, pa.int64()), ids)
