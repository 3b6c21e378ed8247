"""A partition that does not fit in a worker's memory is an error with a hint, not a killed worker."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sqlext.errors import DataError
from sqlext.operators.emit.operator import fire_batch
from sqlext.operators.match.match_ranges import match_range, match_seams
from sqlext.operators.match.match_rows import match_batches
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.rows.columns import PARTITION_START, SortKey
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.spilled_rows import rows_in_memory
from sqlext.operators.rows.worker_memory import free_bytes
from sqlext.operators.rules.replay import replay_batches
from sqlext.operators.rules.rule_versions import TakenVersion
from tests.operators.emit.test_step import plan_of, table
from tests.operators.match.test_worker import cut, rows, v_shapes
from tests.operators.rules.rule_histories import CLAUSES, PLAN, SECOND, events_table

LIMITS = Limits(rows=100, bytes=1000, held_bytes=1000)
KIB = 1024


def task(
    sizes: list[int], *, by_worker: bool, free: int | None, keys: tuple[str, ...] = ("k",)
) -> tuple[list[pa.RecordBatch], MatchOperatorPlan]:
    """Partitions of these sizes, and a plan for workers with so much memory. `by_worker`: workers order the rows."""
    whole = rows(sizes, 1)
    plan = replace(v_shapes(), limits=replace(LIMITS, free_bytes=free), partition_by=keys)
    if by_worker:
        whole = whole.drop_columns([PARTITION_START]).append_column("t", pa.array(np.arange(whole.num_rows)))
        plan = replace(plan, sort=(SortKey("t"),))
    return cut(whole, list(range(0, whole.num_rows, 50))), plan


def count(batches: list[pa.RecordBatch], plan: MatchOperatorPlan) -> int:
    return sum(batch.num_rows for batch in match_batches(iter(batches), plan))


@pytest.mark.parametrize(("by_worker", "keys"), [(False, ("k",)), (True, ("k",)), (True, ())])
def test_one_long_partition_is_an_error_and_fits_with_more_memory(by_worker, keys):
    assert count(*task([1000], by_worker=by_worker, keys=keys, free=100 * KIB))
    with pytest.raises(DataError, match=r"SQLEXT_WORKER_MEMORY: rows held together need .*, and a Python worker"):
        count(*task([1000], by_worker=by_worker, keys=keys, free=2 * KIB))


@pytest.mark.parametrize("by_worker", [False, True])
def test_the_error_names_how_many_rows_there_are_and_the_longest_key(by_worker):
    """Short partitions come before the long one where Spark sorts, and around it where the worker orders the rows."""
    batches, plan = task([10, 10, 2000], by_worker=by_worker, free=8 * KIB)
    with pytest.raises(DataError, match=r": (\d+|1,\d+) rows so far, the last one with the key \(2\)\n"):
        count(batches, plan)


@pytest.mark.parametrize("by_worker", [False, True])
def test_many_short_partitions_of_the_same_size_fit(by_worker):
    """Where Spark sorts they pass one after the other; otherwise the worker keeps them in files."""
    assert count(*task([10] * 100, by_worker=by_worker, free=8 * KIB))


def emitted(batches: list[pa.RecordBatch], limits: Limits) -> list[dict]:
    case = {"assigner": ("tumble", 100, 0), "triggers": [], "evict": None, "discarding": False, "lateness": 0}
    return [
        row for rows in fire_batch(iter(batches), plan_of(case, keeps_rows=False), limits) for row in rows.to_pylist()
    ]


def ruled(batches: list[pa.RecordBatch], limits: Limits) -> list[dict]:
    version = TakenVersion(name="r", version=1, clause=CLAUSES[0])
    return [row for rows in replay_batches(iter(batches), [version], PLAN, limits) for row in rows.to_pylist()]


def emit_rows(keys: np.ndarray) -> pa.Table:
    return table([(f"k{k}", i, i % 7, i) for i, k in enumerate(keys.tolist())])


def rule_rows(keys: np.ndarray) -> pa.Table:
    return events_table([(f"k{k}", i * SECOND, i % 4, "xy"[i % 2]) for i, k in enumerate(keys.tolist())])


@pytest.mark.parametrize(("run", "rows_of"), [(emitted, emit_rows), (ruled, rule_rows)])
def test_firings_and_rules_hold_a_key_at_a_time_and_one_long_key_is_an_error(run, rows_of):
    many = rows_of(np.arange(1000) % 100).to_batches(max_chunksize=50)
    few = replace(LIMITS, rows=1000, free_bytes=16 * KIB)
    assert sorted(map(str, run(many, few))) == sorted(map(str, run(many, Limits())))
    one = rows_of(np.zeros(1000, int)).to_batches(max_chunksize=50)
    with pytest.raises(DataError, match="SQLEXT_WORKER_MEMORY: rows held together need"):
        run(one, few)


def test_a_range_whose_rows_cannot_be_cut_is_an_error_and_fits_with_more_memory():
    def parcels(free: int) -> list[pa.RecordBatch]:
        batches, plan = task([1000], by_worker=False, free=free, keys=())
        return list(match_range(iter(batches), plan, 0))

    assert list(match_seams(iter(parcels(100 * KIB)), task([1], by_worker=False, free=None)[1]))
    with pytest.raises(DataError, match="SQLEXT_WORKER_MEMORY: rows held together need"):
        parcels(1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process so")
def test_the_limit_that_spark_sets_for_a_worker_gives_the_same_error():
    """It is found before an allocation fails, because C++ libraries may abort then."""
    program = """
import resource
from tests.operators.rows.test_worker_memory import count, task
long = task([1_000_000], by_worker=True, free=None, keys=())
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + (8 << 20), -1))
count(*long)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "SQLEXT_WORKER_MEMORY: rows held together need " in ended.stderr


def test_an_allocation_that_fails_gives_the_same_error():
    def failing():
        yield from batches[:1]
        raise MemoryError

    batches, plan = task([1000], by_worker=False, free=None)
    with pytest.raises(DataError, match="SQLEXT_WORKER_MEMORY: rows held together need more memory"):
        list(match_batches(failing(), plan))


@pytest.mark.random
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process so")
@pytest.mark.parametrize("by_worker", [False, True])
def test_an_allocation_that_the_system_refuses_gives_the_rows_and_the_key(by_worker):
    """The limit is set when all rows have been read, which were found to fit."""
    program = f"""
import resource
from dataclasses import replace
from sqlext.operators.rows.limits import Limits
from tests.operators.rows.test_worker_memory import count, task
count(*task([100], by_worker={by_worker}, free=None))  # loads the kernels
batches, plan = task([1_000_000], by_worker={by_worker}, free=None)
def limited():
    yield from batches
    in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (4 << 20), -1))
count(limited(), replace(plan, limits=Limits(free_bytes=1 << 40)))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    rows = "1,000,000 rows so far, the last one with the key (0)"
    assert f"need more memory than a Python worker has: {rows}" in ended.stderr


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.large_string(), pa.list_(pa.int64())])
def test_columns_without_nulls_are_divided_into_files_too(kind):
    """Spark says so of literals and of range(); the files have columns that may hold NULL."""
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", kind, nullable=False)])
    values = [[i] for i in range(1000)] if pa.types.is_list(kind) else list(range(1000))
    column = pa.array(values if not str(kind).endswith("string") else list(map(str, values)), kind)
    whole = pa.RecordBatch.from_arrays([pa.array(np.arange(1000) % 7), column], schema=schema)
    parts = list(rows_in_memory(iter(cut(whole, list(range(0, 1000, 50)))), ["k"], LIMITS))
    assert len(parts) > 1
    assert sorted(row["k"] for part in parts for batch in part for row in batch.to_pylist()) == sorted(
        whole.column("k").to_pylist()
    )


MEMINFO = "MemTotal:  900 kB\nMemAvailable:     800 kB\n"
SYSTEMS = {
    "macOS and Windows": ({}, None),
    "no container": ({"proc/meminfo": MEMINFO}, 800 * KIB),
    "version 2, no limit": (
        {"proc/meminfo": MEMINFO, "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "5\n"},
        800 * KIB,
    ),
    "version 2": (
        {
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/memory.max": "1000\n",
            "sys/fs/cgroup/memory.current": "700\n",
            "sys/fs/cgroup/memory.stat": "anon 500\nfile 200\ninactive_file 80\nactive_file 20\n",
        },
        400,
    ),
    "version 1": (
        {
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n",
            "sys/fs/cgroup/memory/memory.stat": "inactive_file 7\ntotal_inactive_file 50\ntotal_active_file 0\n",
        },
        150,
    ),
    "spark.executor.pyspark.memory": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/limits": "Limit  Soft  Hard\nMax address space  409600  unlimited  bytes\nMax nice  0  0\n",
            "proc/self/status": "VmPeak:\t 900 kB\nVmSize:\t 300 kB\n",
        },
        100 * KIB,
    ),
    "a cgroup within a container, version 2": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/yarn/container_1\n",
            "sys/fs/cgroup/memory.max": "max\n",
            "sys/fs/cgroup/memory.current": "9000\n",
            "sys/fs/cgroup/yarn/memory.max": "5000\n",
            "sys/fs/cgroup/yarn/memory.current": "4800\n",
            "sys/fs/cgroup/yarn/container_1/memory.max": "1000\n",
            "sys/fs/cgroup/yarn/container_1/memory.current": "700\n",
        },
        200,
    ),
    "a cgroup within a container, version 1": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "7:cpu,cpuacct:/\n4:memory:/yarn/container_1\n0::/other\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9000\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "4000\n",
            "sys/fs/cgroup/memory/yarn/container_1/memory.limit_in_bytes": "1000\n",
            "sys/fs/cgroup/memory/yarn/container_1/memory.usage_in_bytes": "900\n",
        },
        100,
    ),
    "a cgroup that the container cannot see": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/../pod\n",
            "sys/fs/cgroup/memory.max": "1000\n",
            "sys/fs/cgroup/memory.current": "700\n",
        },
        300,
    ),
    "no such limit": (
        {"proc/meminfo": MEMINFO, "proc/self/limits": "Max address space  unlimited  unlimited  bytes\n"},
        800 * KIB,
    ),
    "more in use than the limit": (
        {"sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "1200\n"},
        0,
    ),
}


@pytest.mark.parametrize(("files", "free"), SYSTEMS.values(), ids=SYSTEMS)
def test_free_memory_is_what_machine_and_container_have_left(tmp_path, files, free):
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert free_bytes(tmp_path) == free
