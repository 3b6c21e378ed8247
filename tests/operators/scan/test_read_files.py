"""Files are read in pieces by threads, as one thread that reads all of them; pruned row groups hold no row."""

from __future__ import annotations

import json
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import DataError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Column, Constant, call
from sqlext.expressions.values import arrow_type
from sqlext.operators.scan import read_files as reader
from sqlext.operators.scan.delta_log import PATH, newest_files
from sqlext.operators.scan.plan import DeltaLog, FileColumn, KeyValues, MaskColumn, ScanPlan
from sqlext.operators.scan.pruning import KeyRanges
from tests.sampling import seeded

SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")
X, S, D = Column("x", "int"), Column("s", "string"), Column("d", "date")
CONSTANTS = {"x": [None, -1, 0, 3], "s": [None, "", "b", "zz"], "d": [None, -1, 0, 20000]}


def written(folder, rows: pa.Table, files: int = 2, group: int = 3) -> pa.RecordBatch:
    """The list of the files, into which the rows are written."""
    paths = []
    for i in range(files):
        first, stop = len(rows) * i // files, len(rows) * (i + 1) // files
        paths.append(str(folder / f"{i}.parquet"))
        pq.write_table(rows.slice(first, stop - first), paths[-1], row_group_size=group)
    return pa.record_batch([pa.array([f"file:{path}" for path in paths])], [PATH])


def plan_of(*filters, **others) -> ScanPlan:
    columns = tuple(FileColumn(name=c.name, spark_type=c.type) for c in (X, S, D))
    computed = tuple((c.name, c) for c in (X, S, D))
    return ScanPlan(columns=columns, computed=computed, filters=filters, **others)


def rows_read(files: pa.RecordBatch, plan: ScanPlan) -> list[dict]:
    return [row for batch in reader.read_files(iter([files]), plan) for row in batch.to_pylist()]


def random_rows(chance) -> pa.Table:
    def column(values, kind):
        return pa.array([None if chance.random() < 0.2 else chance.choice(values) for _ in range(20)], kind)

    return pa.table(
        {
            "X": column([-5, -1, 0, 1, 3, 4], pa.int32()),
            "s": column(["", "a", "b", "ba", "zz"], pa.string()),
            "d": column([-1, 0, 20000], pa.int32()).view(pa.date32()),
        }
    )


def random_condition(chance):
    if chance.random() < 0.3:
        return call(chance.choice(["AND", "OR"]), (random_condition(chance), random_condition(chance)), SETTINGS)
    column = chance.choice([X, S, D])
    operators = ["=", "IN"] if column is S else ["=", "<", "<=", ">", ">=", "<>", "IN", "BETWEEN"]
    operator, constants = chance.choice(operators), CONSTANTS[column.name]
    count = {"IN": 2, "BETWEEN": 2}.get(operator, 1)
    values = tuple(Constant(chance.choice(constants[column is S :]), column.type) for _ in range(count))
    parts = (*values, column) if count == 1 and chance.random() < 0.3 else (column, *values)
    return call(operator, parts, SETTINGS)


@pytest.mark.parametrize("seed", range(60))
def test_a_filter_leaves_the_rows_on_which_it_is_true_whichever_pieces_are_read(seed, tmp_path, monkeypatch):
    chance = seeded(seed)
    rows = random_rows(chance)
    files, plan = written(tmp_path, rows), plan_of(*(random_condition(chance) for _ in range(2)), threads=2)
    found = rows_read(files, plan)
    monkeypatch.setattr(reader, "may_be_true", lambda *_: True)
    assert found == rows_read(files, plan)


def test_pieces_without_such_rows_are_not_read(tmp_path):
    files = written(
        tmp_path,
        pa.table({"x": pa.array(range(12), pa.int32()), "s": ["a"] * 12, "d": pa.array([0] * 12, pa.date32())}),
        files=1,
    )
    plan = plan_of(call(">", (X, Constant(7, "int")), SETTINGS))
    path = files[PATH][0].as_py().removeprefix("file:")
    assert [piece.group for piece in reader._pieces(path, {}, plan, KeyRanges(()))] == [2, 3]


@pytest.mark.parametrize("seed", range(40))
def test_only_the_rows_of_keys_are_read_whichever_pieces_are_read(seed, tmp_path, monkeypatch):
    chance = seeded(seed)
    rows = random_rows(chance)
    columns = chance.sample([X, S, D], chance.randrange(1, 3))
    keys = {c.name: chance.choices(CONSTANTS[c.name], k=chance.randrange(3)) for c in columns}
    values = tuple(KeyValues(c.name, pa.array(keys[c.name], arrow_type(c.type))) for c in columns)
    files = written(tmp_path, rows)
    raw = rows.set_column(2, "d", rows["d"].combine_chunks().view(pa.int32())).to_pylist()
    wanted = [{"x": row["X"], "s": row["s"], "d": row["d"]} for row in raw]
    wanted = [row for row in wanted if all(row[name] in values for name, values in keys.items())]
    found = [row for batch in reader.read_files(iter([files]), plan_of(keys=values)) for row in days(batch)]
    assert found == wanted


def days(batch: pa.RecordBatch) -> list[dict]:
    return batch.set_column(2, "d", batch["d"].view(pa.int32())).to_pylist()


def test_pieces_without_keys_are_not_read(tmp_path):
    rows = pa.table(
        {"x": pa.array(range(12), pa.int32()), "s": list("abcdefghijkl"), "d": pa.array([0] * 12, pa.date32())}
    )
    path = written(tmp_path, rows, files=1)[PATH][0].as_py().removeprefix("file:")
    for key, groups in (
        (KeyValues("x", pa.array([-1, 4, 12], pa.int32())), [1]),
        (KeyValues("s", pa.array(["zz", "a", "l"])), [0, 3]),
        (KeyValues("x", pa.array([], pa.int32())), []),
        (KeyValues("x", pa.array([None], pa.int32())), [0, 1, 2, 3]),
    ):
        found = reader._pieces(path, {}, plan_of(keys=(key,)), KeyRanges((key,)))
        assert [piece.group for piece in found] == groups


def test_files_of_partitions_without_keys_are_not_opened(tmp_path):
    files = written(tmp_path, pa.table({"x": pa.array([1, 2], pa.int32())}))
    files = pa.record_batch([[files[PATH][0].as_py(), "file:/no such file"], ["kept", "other"]], [PATH, "s"])
    columns, constants = (FileColumn(name="x", spark_type="int"),), (FileColumn(name="s", spark_type="string"),)
    keys = (KeyValues("s", pa.array(["kept", "third"])),)
    plan = ScanPlan(columns=columns, constants=constants, computed=(("x", X),), keys=keys)
    assert rows_read(files, plan) == [{"x": 1}]


def test_conditions_become_bits(tmp_path):
    files = written(
        tmp_path,
        pa.table({"x": pa.array([0, 5, None], pa.int32()), "s": ["a", "b", "a"], "d": pa.array([0] * 3, pa.date32())}),
    )
    conditions = call(">", (X, Constant(1, "int")), SETTINGS), call("=", (S, Constant("a", "string")), SETTINGS)
    columns = (FileColumn(name="x", spark_type="int"), FileColumn(name="s", spark_type="string", is_coded=True))
    plan = ScanPlan(columns=columns, masks=(MaskColumn(name="m", bits=8, conditions=conditions),))
    assert [row["m"] for row in rows_read(files, plan)] == [2, 1, 2]


def test_partition_columns_and_columns_that_a_file_lacks(tmp_path):
    files = written(tmp_path, pa.table({"x": pa.array([1, 2], pa.int32())}), files=1).append_column(
        "s", pa.array(["key"])
    )
    columns = FileColumn(name="x", spark_type="int"), FileColumn(name="d", spark_type="date")
    computed = tuple((c.name, c) for c in (X, S, D))
    plan = ScanPlan(columns=columns, constants=(FileColumn(name="s", spark_type="string"),), computed=computed)
    assert rows_read(files, plan) == [{"x": 1, "s": "key", "d": None}, {"x": 2, "s": "key", "d": None}]


@pytest.mark.parametrize("threads", [1, 2])
def test_row_groups_are_read_in_batches(tmp_path, threads):
    files = written(tmp_path, pa.table({"x": pa.array(range(20), pa.int32())}), group=7)
    plan = ScanPlan(
        columns=(FileColumn(name="x", spark_type="int"),), computed=(("x", X),), threads=threads, batch_rows=2
    )
    batches = list(reader.read_files(iter([files]), plan))
    assert max(batch.num_rows for batch in batches) == 2
    assert [value for batch in batches for value in batch["x"].to_pylist()] == list(range(20))


def test_files_whose_partition_columns_no_filter_accepts_are_not_opened(tmp_path):
    files = written(tmp_path, pa.table({"x": pa.array([1, 2], pa.int32())}))
    files = pa.record_batch([[files[PATH][0].as_py(), "file:/no such file"], ["kept", "other"]], [PATH, "s"])
    plan = ScanPlan(
        columns=(FileColumn(name="x", spark_type="int"),),
        constants=(FileColumn(name="s", spark_type="string"),),
        filters=(call("=", (S, Constant("kept", "string")), SETTINGS),),
        computed=(("x", X),),
    )
    assert rows_read(files, plan) == [{"x": 1}]


def test_texts_have_one_type_whatever_the_files_store(tmp_path):
    texts = pa.table({"s": pa.array(["a", None], pa.large_string())}), pa.table({"s": ["b"]}), pa.table({"x": [1]})
    lists = []
    for i, rows in enumerate(texts):
        (tmp_path / str(i)).mkdir()
        lists.append(written(tmp_path / str(i), rows, files=1))
    files = pa.Table.from_batches(lists).combine_chunks().to_batches()[0]
    for is_coded in (False, True):
        plan = ScanPlan(columns=(FileColumn(name="s", spark_type="string", is_coded=is_coded),), computed=(("s", S),))
        batches = list(reader.read_files(iter([files]), plan))
        assert len({batch.schema for batch in batches}) == 1
        assert [value for batch in batches for value in batch["s"].to_pylist()] == ["a", None, "b", None]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (pa.int64(), "stores x, int in the table, as int64"),
        (pa.uint32(), "as uint32"),
        (pa.string(), "as string"),
        (pa.timestamp("ns"), "as timestamp"),
    ],
)
def test_a_file_that_spark_reads_otherwise_is_an_error(tmp_path, stored, message):
    files = written(tmp_path, pa.table({"x": pa.array([None], stored)}), files=1)
    plan = ScanPlan(columns=(FileColumn(name="x", spark_type="int"),), computed=(("x", X),))
    with pytest.raises(DataError, match=message) as error:
        rows_read(files, plan)
    assert error.value.error_class == "SQLEXT_TABLE_CHANGED"


def test_an_expression_that_cannot_be_computed_is_an_error(tmp_path):
    files = written(tmp_path, pa.table({"x": pa.array([2**31 - 1], pa.int32())}), files=1)
    plus = call("+", (X, Constant(1, "int")), SETTINGS)
    plan = ScanPlan(columns=(FileColumn(name="x", spark_type="int"),), computed=(("y", plus),))
    with pytest.raises(DataError, match="integer overflow"):
        rows_read(files, plan)


ADDED, REMOVED = {"add": {"path": "a%20b", "deletionVector": None}}, {"remove": {"path": "0"}}
COMMITS = [
    ([], ["/t/0"]),
    ([[{"commitInfo": {}}, ADDED, REMOVED]], ["/t/a b"]),
    ([[ADDED], [REMOVED], [{"add": {"path": "0"}}]], ["/t/a b", "/t/0"]),
    ([[REMOVED, {"remove": {"path": "not%20listed"}}]], []),
    ([[{"add": {"path": "file:/elsewhere/1"}}, REMOVED]], ["/elsewhere/1"]),
    ([[{"add": {"path": "0"}}]], ["/t/0"]),
    ([[ADDED], [{"add": {"path": "a", "deletionVector": {"storageType": "u"}}}]], "deleted rows in its files"),
    ([[{"metaData": {}}]], "other features or columns"),
    ([[{"protocol": {}}]], "other features or columns"),
    ([None, [ADDED]], "lacks commits"),
]


@pytest.mark.parametrize(("commits", "expected"), COMMITS)
def test_commits_after_the_version_of_the_plan(tmp_path, commits, expected):
    for version, actions in enumerate([[ADDED], *commits]):
        if actions is not None:
            (tmp_path / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))
    log, paths = DeltaLog(str(tmp_path), 0), [f"{tmp_path.parent}/0"]
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            newest_files(log, paths)
        return
    found = [path.replace(str(tmp_path.parent), "/t") for path in newest_files(log, paths)]
    assert found == expected


def test_every_type_is_read_or_not():
    from sqlext.operators.scan.footers import is_type_read

    read = product(["int", "decimal(38,10)", "timestamp_ntz"], [True])
    others = product(["array<int>", "interval day", "variant", "char", "string collate UNICODE", "void"], [False])
    assert all(is_type_read(kind) is expected for kind, expected in (*read, *others))
