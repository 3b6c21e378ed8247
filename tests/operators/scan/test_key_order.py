"""Whether the rows of files come in the order of a column, and that they are read in it."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.expressions.scalar_tree import Column
from sqlext.operators.scan import key_order
from sqlext.operators.scan.delta_log import PATH
from sqlext.operators.scan.key_order import read_in_order
from sqlext.operators.scan.plan import FileColumn, ScanPlan
from tests.sampling import seeded

KINDS = {
    "int": (pa.int32(), [-7, 0, 1, 2, 30]),
    "bigint": (pa.int64(), [-(2**63), -1, 0, 5, 2**63 - 1]),
    "string": (pa.string(), ["A", "a", "ab", "z", "ä", "\U0001f600"]),
    "date": (pa.date32(), [-719162, 0, 1, 2932896]),
    "timestamp": (pa.timestamp("us", "UTC"), [-1, 0, 1, 10**15]),
    "double": (pa.float64(), [-1.0, 0.0, 2.5]),  # of which no ranges are known, as PyArrow writes none for ""
}


@pytest.fixture(autouse=True)
def few_rows_at_once(monkeypatch):
    monkeypatch.setattr(key_order, "_BATCH_ROWS", 3)


def plan_of(kind: str, **others) -> ScanPlan:
    columns = FileColumn(name="k", spark_type=kind), FileColumn(name="n", spark_type="int")
    computed = tuple((c.name, Column(c.name, c.spark_type)) for c in columns)
    return ScanPlan(columns=columns, computed=computed, order="k", threads=2, **others)


def listed(paths) -> pa.RecordBatch:
    return pa.record_batch([pa.array([f"file:{path}" for path in paths])], [PATH])


def read(files: pa.RecordBatch, plan: ScanPlan) -> tuple[list[tuple], bool]:
    batches, are_ordered = read_in_order([files], plan)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()], are_ordered


@pytest.mark.random
@pytest.mark.parametrize("seed", range(120))
def test_rows_are_read_in_order_where_their_files_are(seed, tmp_path):
    chance = seeded(seed)
    kind = chance.choice(list(KINDS))
    stored, values = KINDS[kind]
    count = chance.randrange(1, 25)
    keys = sorted(chance.choices(range(len(values)), k=count))
    if chance.random() < 0.4:  # two rows change places
        a, b = chance.randrange(count), chance.randrange(count)
        keys[a], keys[b] = keys[b], keys[a]
    raw = [None if chance.random() < 0.01 else values[key] for key in keys]
    is_time = kind in ("date", "timestamp")
    column = pa.array(raw, {"date": pa.int32(), "timestamp": pa.int64()}.get(kind, stored))
    rows = pa.table({"k": column.view(stored) if is_time else column, "n": pa.array(range(count), pa.int32())})
    cuts = sorted({0, count, *(chance.randrange(count) for _ in range(chance.randrange(4)))})
    paths, groups, statistics = [], [], chance.random() < 0.9
    for first, stop in pairwise(cuts):
        paths.append(tmp_path / f"{first}.parquet")
        part, size = rows.slice(first, stop - first), chance.choice([2, 100])
        pq.write_table(part, paths[-1], row_group_size=size, write_statistics=statistics)
        groups += [keys[i : min(i + size, stop)] for i in range(first, stop, size)]
    chance.shuffle(paths)
    found, are_ordered = read(listed(paths), plan_of(kind))
    in_order_of_list = [tuple(row.values()) for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    assert sorted(n for _, n in found) == list(range(count))
    if are_ordered:
        assert all(a <= b for (a, _), (b, _) in pairwise(found))  # raises if there is a NULL
    else:
        assert found == in_order_of_list
    in_order = [key for group in sorted(groups, key=lambda group: (min(group), max(group))) for key in group]
    assert are_ordered == (statistics and kind != "double" and in_order == sorted(keys) and None not in raw)


@pytest.mark.parametrize(
    ("tables", "are_ordered"),
    [
        ([{"k": [1, 2]}, {"k": [2, 3]}], True),
        ([{"k": [2, 3]}, {"k": [1, 2]}], True),
        ([{"k": [1, 3]}, {"k": [2, 4]}], False),
        ([{"k": [1, 2]}, {"n": [1]}], False),
        ([{"k": [1, 2]}, {"k": [None, None]}], False),
        ([{"k": [3, 1]}], False),
        ([], True),
    ],
)
def test_files_are_in_order_or_not(tables, are_ordered, tmp_path):
    paths = [tmp_path / str(i) for i in range(len(tables))]
    for columns, path in zip(tables, paths):
        pq.write_table(pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()}), path)
    assert read(listed(paths), plan_of("int"))[1] == are_ordered


def test_rows_are_in_no_order_where_none_is_wanted(tmp_path):
    pq.write_table(pa.table({"k": pa.array([1, 2], pa.int32())}), tmp_path / "0")
    plan = ScanPlan(columns=plan_of("int").columns, computed=plan_of("int").computed)
    assert read(listed([tmp_path / "0"]), plan) == ([(1, None), (2, None)], False)
