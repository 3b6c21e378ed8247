"""Workers order rows as Spark's sort does, however they come, and also where they do not fit in memory."""

from __future__ import annotations

import decimal
import random
from dataclasses import replace
from functools import cmp_to_key
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from sqlext.operators.match.match_rows import match_batches, match_blocks, partitions
from sqlext.operators.rows.arrow import one_chunk
from sqlext.operators.rows.blocks import Block
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.grouped_order import grouped_order
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.spilled_rows import block_in_memory, rows_in_memory
from sqlext.operators.rows.value_order import value_order
from tests.operators.match.test_worker import cut, over_texts, texts
from tests.sampling import seeded

LARGEST = 2**63 - 1


def integers(chance: random.Random, n: int) -> pa.Array:
    width = chance.choice([1, 3, 1000, 10**12, LARGEST])
    ends = [-LARGEST - 1, LARGEST] if width == LARGEST else [0]
    return pa.array([chance.choice([chance.randint(-width, width), *ends]) for _ in range(n)], pa.int64())


def doubles(chance: random.Random, n: int) -> pa.Array:
    return pa.array([chance.choice([0.0, -0.0, float("nan"), float("-inf"), -1.5, chance.random()]) for _ in range(n)])


def strings(chance: random.Random, n: int) -> pa.Array:
    return pa.array([chance.choice(["", "a", "é", "\U0001f600", "ab", "\uffff"]) for _ in range(n)], pa.string())


def decimals(chance: random.Random, n: int) -> pa.Array:
    values = [decimal.Decimal(chance.choice([1, -1])) * 10 ** chance.choice([0, 3, 25]) for _ in range(n)]
    return pa.array(values, pa.decimal128(30, 2))


def times(chance: random.Random, n: int) -> pa.Array:
    return integers(chance, n).view(pa.timestamp("us", "UTC"))


def booleans(chance: random.Random, n: int) -> pa.Array:
    return pa.array([chance.random() < 0.5 for _ in range(n)])


KEYS = [integers, strings, decimals, times, booleans]
SORTED = [*KEYS, doubles]


def column_of(chance: random.Random, kinds: list, n: int) -> pa.Array:
    """Random values, some of them NULL; sometimes in ascending order, or in a few ascending runs."""
    values = chance.choice(kinds)(chance, n)
    if chance.random() < 0.5 and values.type == pa.int64():
        order = np.sort(values.to_numpy())
        values = pa.array(np.roll(order, chance.choice([0, 0, n // 3])))
    if chance.random() < 0.4:
        values = values.take(pa.array([None if chance.random() < 0.3 else i for i in range(n)], pa.int64()))
    return values


def values_of(column: pa.Array) -> list:
    """The values, times as integers, because Python's times end with the year 9999."""
    return (column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()


def compared(left, right) -> int:
    """-1, 0 or 1, as Spark compares two values that are not NULL."""
    if isinstance(left, float) and (left != left or right != right):
        return int(left != left) - int(right != right)
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return (left > right) - (left < right)


def comes_before(left: tuple, right: tuple, keys: list[SortKey]) -> int:
    for a, b, key in zip(left, right, keys):
        if a is None or b is None:
            result = (int(b is None) - int(a is None)) * (1 if not key.nulls_last else -1)
        else:
            result = compared(a, b) * (-1 if key.is_descending else 1)
        if result:
            return result
    return 0


def expected_order(columns: dict[str, pa.Array], keys: list[SortKey]) -> list[int]:
    """The definition: a stable sort by comparisons."""
    rows = list(zip(*(values_of(columns[key.column]) for key in keys)))
    return sorted(range(len(rows)), key=cmp_to_key(lambda i, j: comes_before(rows[i], rows[j], keys)))


@pytest.mark.random
@pytest.mark.parametrize("part", range(5))
def test_rows_are_ordered_by_key_and_sort_keys_as_spark_sorts_them(part):
    for seed in range(part * 100, part * 100 + 100):
        chance = random.Random(seed)
        n = chance.choice([0, 1, 2, 7, 60, 400])
        keys = [f"k{i}" for i in range(chance.choice([0, 1, 1, 1, 2, 3]))]
        sort = [
            SortKey(f"s{i}", chance.random() < 0.3, nulls_last=chance.random() < 0.5)
            for i in range(chance.choice([1, 1, 2, 3]))
        ]
        columns = {key: column_of(chance, KEYS, n) for key in keys}
        columns |= {key.column: column_of(chance, SORTED, n) for key in sort}
        order, bounds = grouped_order(columns, keys, sort, threads=chance.choice([1, 2, 3]))
        wanted = expected_order(columns, [*map(SortKey, keys), *sort])
        assert (list(range(n)) if order is None else order.tolist()) == wanted, seed
        assert bounds[0] == 0 and bounds[-1] == n and (np.diff(bounds) > 0).all(), seed
        lists = [values_of(columns[key]) for key in keys]
        key_of = [tuple(values[i] for values in lists) for i in wanted]
        begins = [i for i in range(1, n) if key_of[i] != key_of[i - 1]]
        assert bounds.tolist() == sorted({0, *begins, n}), seed


def test_rows_that_come_in_order_or_in_ordered_parts_stay_stable():
    for times in (np.arange(5000), np.roll(np.arange(5000), 1234), np.arange(5000)[::-1], np.arange(5000) % 70 // 3):
        columns = {"k": pa.array(np.arange(5000) % 3), "t": pa.array(times)}
        order, _ = grouped_order(columns, ["k"], [SortKey("t")])
        assert order is not None and order.tolist() == np.lexsort((times, np.arange(5000) % 3)).tolist()


def many_rows(chance: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Columns as keys and times come: few and many values, distant ones, one value that most rows have."""
    narrow = chance.integers(-1000, 1000, n)
    return {
        "in order": np.arange(n) // 7,
        "late": np.arange(n) - np.where(chance.random(n) < 0.01, 1000, 0),
        "narrow": narrow,
        "wide": chance.integers(-LARGEST - 1, LARGEST, n, endpoint=True),
        "distant": np.where(chance.random(n) < 0.001, LARGEST, chance.integers(0, n, n)),
        "mostly one": np.where(chance.random(n) < 0.9, 5, narrow),
        "constant": np.full(n, 3),
    }


@pytest.mark.random
@pytest.mark.parametrize("seed", range(12))
def test_many_rows_are_ordered_alike_on_any_number_of_threads(seed):
    chance = np.random.default_rng(seed)
    n = int(chance.choice([20_000, 300_000]))
    values = many_rows(chance, n)
    columns = {name: pa.array(column) for name, column in values.items()}
    names = [str(name) for name in chance.choice(list(values), 5)]
    keys, sort = names[: int(chance.choice([0, 1, 2]))], names[2 : int(chance.choice([3, 4, 5]))]
    wanted = np.lexsort([values[name] for name in reversed([*keys, *sort])])
    for threads in (1, 2, 3):
        order, bounds = grouped_order(columns, keys, [SortKey(name) for name in sort], threads)
        assert (wanted == (np.arange(n) if order is None else order)).all(), (names, threads)
        key = np.stack([values[name][wanted] for name in [*keys, "constant"]])
        assert bounds.tolist() == [0, *(np.flatnonzero((key[:, 1:] != key[:, :-1]).any(axis=0)) + 1).tolist(), n]


@pytest.mark.random
@pytest.mark.parametrize("seed", range(8))
def test_values_are_ordered_as_by_a_stable_sort(seed):
    chance = np.random.default_rng(seed)
    for n in (0, 1, 2, 65, 5000, 200_000):
        for name, values in many_rows(chance, n).items():
            order, ordered = value_order(values, threads=1 + seed % 3)
            wanted = np.argsort(values, kind="stable")
            assert order.tolist() == wanted.tolist(), (name, n)
            assert (ordered == values[wanted].view(np.uint64) - values.min(initial=LARGEST).view(np.uint64)).all()


# whole tasks


def shuffled(whole: pa.RecordBatch, seed: int) -> pa.RecordBatch:
    return whole.take(pa.array(np.random.default_rng(seed).permutation(whole.num_rows)))


@pytest.mark.random
@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(rows=7),
        Limits(bytes=1),
        Limits(held_bytes=1),
        Limits(held_bytes=3000, bytes=100),
        Limits(rows=7, threads=2),
        Limits(bytes=1, threads=3),
    ],
)
@pytest.mark.parametrize("keys", [("k",), ()])
def test_shuffled_rows_give_the_rows_of_sorted_ones(limits, keys):
    """The numbers of the rows are the sort key; without keys all rows are one partition."""
    whole = texts([1, 20, 3, 90, 2, 7], seed=3)
    whole = whole.append_column("__sort0", pa.array(np.arange(whole.num_rows)))
    plan = replace(over_texts(limits), partition_by=keys)
    if not keys:
        first = np.arange(whole.num_rows) == 0
        whole = whole.set_column(whole.schema.get_field_index("__first"), "__first", pa.array(first))
    expected = [row for batch in match_batches(iter([whole]), plan) for row in batch.to_pylist()]
    unsorted = shuffled(whole.drop_columns(["__first"]), seed=1)
    batches = cut(unsorted, [0, 10, 30, 30, 60, 100])
    plan = replace(plan, sort=(SortKey("__sort0"),))
    rows = [row for batch in match_batches(iter(batches), plan) for row in batch.to_pylist()]
    assert sorted(rows, key=str) == sorted(expected, key=str)
    if limits.held_bytes > 10_000:
        assert rows == expected
    if keys:
        batches = cut(unsorted.sort_by([("k", "ascending")]), [0, 10, 30, 30, 60, 100])
        rows = [row for batch in match_blocks([Block(iter(batches), True)], plan) for row in batch.to_pylist()]
        assert sorted(rows, key=str) == sorted(expected, key=str)
        if limits.held_bytes > 10_000:
            assert rows == expected


@pytest.mark.parametrize("times", [[1, 2, 3], [3, 1, 2]])
def test_a_clause_that_reads_nothing_still_has_its_rows(times):
    plan = replace(over_texts(Limits()), partition_by=(), sort=(SortKey("__sort0"),))
    (columns,) = partitions(iter([pa.record_batch([pa.array(times)], ["__sort0"])]), plan)
    assert pa.table(columns).to_pydict() == {"__first": [True, False, False]}


def test_no_rows_give_no_rows():
    plan = replace(over_texts(Limits()), sort=(SortKey("v"),))
    empty = texts([1], seed=0).slice(0, 0)
    assert list(match_batches(iter([]), plan)) == list(match_batches(iter([empty]), plan)) == []


@pytest.mark.random
@pytest.mark.parametrize("seed", range(4))
def test_all_rows_of_a_key_are_in_one_part_in_the_order_in_which_they_come(seed):
    chance, n = random.Random(seed), 500
    whole = pa.record_batch(
        [kind(chance, n) for kind in (strings, decimals, times)] + [pa.array(range(n))], ["s", "d", "t", "n"]
    )
    batches = cut(whole, [chance.randint(0, n) for _ in range(9)])
    parts = list(rows_in_memory(iter(batches), ["s", "d", "t"][seed % 3 :], Limits(held_bytes=1, bytes=50)))
    tables = list(map(pa.Table.from_batches, parts))
    assert len(tables) > 1 and sorted(i for t in tables for i in t["n"].to_pylist()) == list(range(n))
    assert all(a < b for t in tables for a, b in pairwise(t["n"].to_pylist()))
    key = ["s", "d", "t"][seed % 3 :]
    seen = [set(zip(*(values_of(one_chunk(table[k])) for k in key))) for table in tables]
    assert all(a.isdisjoint(b) for i, a in enumerate(seen) for b in seen[:i])


@pytest.mark.random
@pytest.mark.parametrize("seed", range(8))
def test_rows_in_the_order_of_the_first_key_are_in_parts_of_some_of_its_values(seed):
    chance, n = seeded(seed), 300
    values = sorted(chance.choices(range(chance.choice([1, 5, 400])), k=n))
    whole = pa.record_batch({"k": values, "b": chance.choices(range(3), k=n), "n": range(n)})
    batches = cut(whole, [chance.randint(0, n) for _ in range(9)])
    limits = chance.choice([Limits(rows=40), Limits(bytes=500), Limits(rows=40, held_bytes=600)])
    parts = [pa.Table.from_batches(part) for part in block_in_memory(Block(iter(batches), True), "kb", limits)]
    keys = [set(zip(part["k"].to_pylist(), part["b"].to_pylist())) for part in parts]
    assert sorted(row for part in parts for row in part["n"].to_pylist()) == list(range(n))
    assert all(a.isdisjoint(b) for i, a in enumerate(keys) for b in keys[:i])
    if limits.held_bytes > 600:
        assert [row for part in parts for row in part["n"].to_pylist()] == list(range(n))
    if len(set(values)) > 100:
        assert max(part.num_rows for part in parts) < n // 2
