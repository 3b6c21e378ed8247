"""Rows of files in blocks that share no value of a column, in its order where they are stored so."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.expressions.scalar_tree import Column
from sqlext.operators.scan.delta_log import PATH
from sqlext.operators.scan.key_order import read_blocks
from sqlext.operators.scan.plan import FileColumn, ScanPlan
from tests.sampling import seeded

KINDS = {
    "int": (pa.int32(), [-7, 0, 1, 2, 30]),
    "bigint": (pa.int64(), [-(2**63), -1, 0, 5, 2**63 - 1]),
    "string": (pa.string(), ["", "A", "a", "ab", "z", "ä", "\U0001f600"]),
    "date": (pa.date32(), [-719162, 0, 1, 2932896]),
    "timestamp": (pa.timestamp("us", "UTC"), [-1, 0, 1, 10**15]),
    "double": (pa.float64(), [-1.0, 0.0, 2.5]),  # not read: writers disagree about NaN and zeros
}


def plan_of(kind: str, least: int = 1) -> ScanPlan:
    columns = FileColumn(name="k", spark_type=kind), FileColumn(name="n", spark_type="int")
    computed = tuple((c.name, Column(c.name, c.spark_type)) for c in columns)
    return ScanPlan(columns=columns, computed=computed, order="k", threads=2, batch_rows=least)


def listed(paths) -> pa.RecordBatch:
    return pa.record_batch([pa.array([f"file:{path}" for path in paths])], [PATH])


def read(files: pa.RecordBatch, plan: ScanPlan, is_one: bool = False) -> list[tuple[list[tuple], bool]]:
    """The rows of each block, and whether they are ordered."""
    return [
        ([tuple(row.values()) for batch in block.batches for row in batch.to_pylist()], block.are_ordered)
        for block in read_blocks([files], plan, is_one=is_one)
    ]


@pytest.mark.random
@pytest.mark.parametrize("seed", range(120))
def test_blocks_share_no_value_and_are_ordered_where_their_files_are(seed, tmp_path):
    chance = seeded(seed)
    kind = chance.choice(list(KINDS))
    stored, values = KINDS[kind]
    count = chance.randrange(1, 25)
    keys = sorted(chance.choices(range(len(values)), k=count))
    for _ in range(chance.choice([0, 0, 1, 3])):  # two rows near each other change places
        a = chance.randrange(count)
        b = min(count - 1, a + chance.randrange(1, 4))
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
    least, is_one = chance.choice([1, 1, 4]), chance.random() < 0.2
    blocks = read(listed(paths), plan_of(kind, least), is_one)
    assert sorted(n for block, _ in blocks for _, n in block) == list(range(count))
    values_of = [{k for k, _ in block} for block, _ in blocks]
    assert all(a.isdisjoint(b) for i, a in enumerate(values_of) for b in values_of[:i])
    assert all(len(block) >= least for block, _ in blocks[:-1])
    listing = [tuple(row.values())[1] for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    for block, are_ordered in blocks:
        if are_ordered:
            assert all(a <= b for (a, _), (b, _) in pairwise(block))
        else:
            assert sorted(block, key=lambda row: listing.index(row[1])) == block
    if not statistics or kind == "double" or None in raw or count <= least:
        assert [are_ordered for _, are_ordered in blocks] == [False]
        return
    in_order = [key for group in sorted(groups, key=lambda group: (min(group), max(group))) for key in group]
    assert all(are_ordered for _, are_ordered in blocks) == (in_order == sorted(keys))
    ends = {max(group) for group in groups} - {max(keys)}
    apart = sum(1 for end in ends if not any(min(group) <= end < max(group) for group in groups))
    assert is_one or least > 1 or len(blocks) == apart + 1
    assert not is_one or len(blocks) == 1


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ([{"k": [1, 2]}, {"k": [3, 4]}], [([1, 2], True), ([3, 4], True)]),
        ([{"k": [3, 4]}, {"k": [1, 2]}], [([1, 2], True), ([3, 4], True)]),
        ([{"k": [2, 3]}, {"k": [1, 2]}], [([1, 2, 2, 3], True)]),
        ([{"k": [4, 3]}, {"k": [1, 2]}], [([1, 2], True), ([4, 3], False)]),
        ([{"k": [2, 4]}, {"k": [1, 3]}, {"k": [5]}], [([2, 4, 1, 3], False), ([5], True)]),
        ([{"k": [3]}, {"n": [1]}, {"k": [1]}], [([3, None, 1], False)]),
        ([{"k": [3]}, {"k": [None, None]}, {"k": [1]}], [([3, None, None, 1], False)]),
        ([], [([], False)]),
        ([{"k": [1]}], [([1], False)]),
    ],
)
def test_files_in_blocks(tables, expected, tmp_path):
    paths = [tmp_path / str(i) for i in range(len(tables))]
    for columns, path in zip(tables, paths):
        pq.write_table(pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()}), path)
    found = read(listed(paths), plan_of("int"))
    assert [([k for k, _ in block], are_ordered) for block, are_ordered in found] == expected


def test_rows_are_one_block_where_no_order_is_wanted(tmp_path):
    pq.write_table(pa.table({"k": pa.array([1, 2], pa.int32())}), tmp_path / "0", row_group_size=1)
    plan = ScanPlan(columns=plan_of("int").columns, computed=plan_of("int").computed)
    assert read(listed([tmp_path / "0"]), plan) == [([(1, None), (2, None)], False)]
