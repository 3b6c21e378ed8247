"""A partition that does not fit in a worker's memory is an error with a hint, not a killed worker."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sqlext.errors import DataError
from sqlext.operators.match.match_rows import match_batches
from sqlext.operators.match.plan import MatchOperatorPlan
from sqlext.operators.rows.columns import PARTITION_START, SortKey
from sqlext.operators.rows.limits import Limits
from sqlext.operators.rows.worker_memory import free_bytes
from tests.operators.match.test_worker import cut, rows, v_shapes

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
def test_many_short_partitions_of_the_same_size_fit(by_worker):
    """Where Spark sorts they pass one after the other; otherwise the worker keeps them in files."""
    assert count(*task([10] * 100, by_worker=by_worker, free=8 * KIB))


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
