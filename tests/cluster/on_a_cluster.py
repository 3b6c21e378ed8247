"""Run by `make test-cluster`: statements on a cluster of two workers without sqlext return the rows of `local[2]`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .program import QUERIES, server_settings
from .standalone import connect_server

CLUSTER = os.environ.get("SQLEXT_TEST_MASTER", "")


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return results("local[2]", tmp_path_factory.mktemp("local"), PYSPARK_PYTHON=sys.executable)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if not CLUSTER:
        pytest.skip("make test-cluster starts the cluster")
    return results(CLUSTER, tmp_path_factory.mktemp("cluster"))


@pytest.fixture(scope="module")
def connect(tmp_path_factory):
    if not CLUSTER:
        pytest.skip("make test-cluster starts the cluster")
    folder = tmp_path_factory.mktemp("connect")
    with connect_server(CLUSTER, server_settings(folder)) as address:
        return results(address, folder)


def results(master: str, folder: Path, **environment: str) -> dict[str, list[str]]:
    """The rows of each statement of `program`, by its name."""
    command = [sys.executable, "-m", "tests.cluster.program", master, str(folder)]
    process = subprocess.run(command, env={**os.environ, **environment}, text=True, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr[-3000:]
    return dict(map(json.loads, process.stdout.splitlines()))


@pytest.mark.parametrize("name", [*QUERIES, "udtf", "stream"])
def test_workers_without_sqlext_return_the_rows_of_one_machine(local, cluster, name):
    assert len(local[name]) > 10
    assert cluster[name] == local[name]


@pytest.mark.parametrize("name", [*QUERIES, "udtf", "stream"])
def test_a_connect_server_without_sqlext_returns_them_too(local, connect, name):
    assert connect[name] == local[name]
