"""What a worker loads: every worker pays for each module when it starts."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sqlext

TASKS = {
    "row-local": "MatchTask(program=program, bits=(None, 0), conditions=(None, None))",
    "run-dependent": "MatchTask(program=program, bits=(None, 0), conditions=(None, "
    'MachineCall(function="less", arguments=(value((0,)), value((1,))), kind="bool")))',
    "within": "MatchTask(program=program, bits=(None, 0), conditions=(None, None), is_within=True)",
}
MATCH = """
import sys
from dataclasses import replace
import numpy as np
import pyarrow as pa
from sqlext.operators.rows.arrow import as_arrow
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.match.match_rows import match_batches
from sqlext.operators.match.plan import Bound, MatchOperatorPlan, OperandColumn, Slot
from sqlext.pattern.program.program import Done, MatchLabel, Program
from sqlext.pattern.task.task import Aggregate, MachineCall, MatchTask, Navigation, Operand

def value(labels):
    return Operand(Navigation(argument=0, labels=labels), "int")

program = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
task = {task}
slots = (
    Slot(name="v", kind="value", columns=("v",), navigation=Navigation(argument=0, labels=(1,))),
    Slot(name="c", kind="classifier", navigation=Navigation(argument=-1)),
    Slot(name="number", kind="match number"),
    Slot(name="sum", kind="aggregate", columns=("v",), aggregate=Aggregate(function="sum", argument=0)),
    Slot(name="rows", kind="array", columns=("v",), aggregate=Aggregate(function="array_agg", argument=0)),
)
bounds = (Bound(is_inclusive=True),) if task.is_within else ()
plan = MatchOperatorPlan(
    task=task, masks=("m",), operands=(OperandColumn("v", "bigint", "int"),), carried=("k",), partition_by=("k",),
    slots=slots, bounds=bounds,
)
v = as_arrow(np.array([1, 2, 1, 5]))
batch = pa.RecordBatch.from_arrays(
    [as_arrow(np.array([1, 1, 2, 2])), v, as_arrow(np.array([0, 1, 1, 1], np.int8)), v, as_arrow(np.full(4, 9))],
    ["k", "v", "m", "__key", "__end"],
)
unsorted = batch.take(as_arrow(np.array([3, 1, 0, 2])))
for rows, sort in ((batch, ()), (unsorted, (SortKey("__key"), SortKey("v")))):
    assert sum(result.num_rows for result in match_batches(iter([rows]), replace(plan, sort=sort))) == 2
print(*sorted({{"pandas", "sqlglot", "pyspark", "rich"}} & set(sys.modules)))
"""


@pytest.mark.random
@pytest.mark.parametrize("task", TASKS)
def test_a_worker_that_matches_loads_nothing_but_numpy_pyarrow_and_numba(task):
    script = MATCH.format(task=TASKS[task])
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (process.stdout.strip(), process.stderr) == ("", "")


@pytest.mark.slow
def test_machine_code_beside_the_sources_is_used_where_numba_writes_elsewhere(tmp_path):
    shutil.copytree(Path(sqlext.__file__).parent, tmp_path / "sqlext", ignore=shutil.ignore_patterns("__pycache__"))
    script = "from sqlext.pattern.measures.navigation_kernels import is_less as f; f(1.0, 2.0); "
    script += "print(sum(f.stats.cache_hits.values()))"
    own = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    elsewhere = {**own, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for environment, hits in ((own, "0\n"), (elsewhere, "1\n")):
        command = [sys.executable, "-c", script]
        process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (process.stdout, process.stderr) == (hits, "")


@pytest.mark.slow
def test_machine_code_of_a_former_release_is_compiled_again(tmp_path):
    (tmp_path / "kernels.py").write_text(
        "from sqlext.pattern.program.jit import allocating\n@allocating\ndef double(x):\n    return 2 * x\n"
    )
    command = [
        sys.executable,
        "-c",
        "import kernels; print(kernels.double(2), sum(kernels.double.stats.cache_hits.values()))",
    ]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(sqlext.__file__).parents[1]}"}

    def run() -> tuple[str, str]:
        process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        return process.stdout, process.stderr

    assert [run(), run()] == [("4 0\n", ""), ("4 1\n", "")]
    (index,) = tmp_path.glob("__pycache__/*.nbi")
    version = pickle.dumps(pickle.loads(index.read_bytes()))
    index.write_bytes(version + b"csqlext.former_release\nKernel\n.")
    assert [run(), run()] == [("4 0\n", ""), ("4 1\n", "")]
