"""Run by `make test-cluster`: statements on a cluster of two workers without sqlext return the rows of `local[2]`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from .program import QUERIES

MASTERS = {"cluster": os.environ.get("SQLEXT_TEST_MASTER", ""), "local": "local[2]"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """{"cluster": {name: rows}, "local": …}, from two processes that run at the same time."""
    if not MASTERS["cluster"]:
        pytest.skip("make test-cluster starts the cluster")
    processes = {}
    for name, master in MASTERS.items():
        environment = os.environ if name == "cluster" else {**os.environ, "PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, "-m", "tests.cluster.program", master, str(tmp_path_factory.mktemp(name))]
        processes[name] = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE)
    lines = {name: process.communicate(timeout=400)[0].splitlines() for name, process in processes.items()}
    return {name: dict(map(json.loads, printed)) for name, printed in lines.items()}


@pytest.mark.parametrize("name", [*QUERIES, "udtf", "stream"])
def test_workers_without_sqlext_return_the_rows_of_one_machine(rows, name):
    assert len(rows["local"][name]) > 10
    assert rows["cluster"][name] == rows["local"][name]
