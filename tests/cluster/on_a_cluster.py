"""Run by `make test-cluster`: statements on clusters of workers without sqlext return the rows of `local[2]`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from .hadoop import hdfs, yarn
from .program import IDLE_STREAMS, QUERIES, server_settings
from .standalone import SPARK_HOME, connect_server
from .standalone import cluster as started_cluster

CLUSTER = os.environ.get("SQLEXT_TEST_MASTER", "")
STATEMENTS = [*QUERIES, "udtf", "stream", *IDLE_STREAMS]
VARIATIONS = {
    "speculation, without AQE": {
        "spark.speculation": "true",
        "spark.speculation.multiplier": "1",
        "spark.speculation.quantile": "0",
        "spark.sql.adaptive.enabled": "false",
    },
    "dynamic allocation": {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
    },
}
RESUMES = {"resumes": True, "spark.sql.shuffle.partitions": "8"}


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return results("local[2]", tmp_path_factory.mktemp("local"))


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


def results(
    master: str, folder: Path | str, settings: Mapping[str, str] = MappingProxyType({}), **environment: str
) -> dict[str, list[str]]:
    """The rows of each statement of `program`, by its name."""
    command = [sys.executable, "-m", "tests.cluster.program", master, str(folder), json.dumps(dict(settings))]
    python = {"PYSPARK_PYTHON": sys.executable} if master.startswith("local") else {}
    variables = {**os.environ, **python, **environment}
    process = subprocess.run(command, env=variables, text=True, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr[-3000:]
    return dict(map(json.loads, process.stdout.splitlines()))


@pytest.mark.parametrize("name", STATEMENTS)
def test_workers_without_sqlext_return_the_rows_of_one_machine(local, cluster, name):
    assert len(local[name]) > 10
    assert cluster[name] == local[name]


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_connect_server_without_sqlext_returns_them_too(local, connect, name):
    assert connect[name] == local[name]


@pytest.mark.parametrize("name", VARIATIONS)
def test_no_setting_of_a_cluster_changes_a_row(local, tmp_path, name):
    assert results(CLUSTER, tmp_path, VARIATIONS[name]) == local


def test_yarn_returns_them_too(local, tmp_path):
    settings = {"spark.yarn.jars": f"local:{SPARK_HOME}/jars/*", "spark.executor.instances": "2"}
    with yarn() as configuration:
        assert results("yarn", tmp_path, settings, HADOOP_CONF_DIR=str(configuration)) == local


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """What a stream has decided that was started on one machine and resumed there twice."""
    folder = tmp_path_factory.mktemp("resumed")
    return [results("local[2]", folder, RESUMES) for _ in range(3)]


def test_a_stream_goes_on_with_other_cores(resumed, tmp_path):
    with started_cluster(cores=4) as address:
        assert [results(address, tmp_path, {**RESUMES, "spark.cores.max": cores}) for cores in "282"] == resumed


def test_a_stream_goes_on_from_a_checkpoint_in_hdfs(resumed):
    with hdfs() as folder:
        assert [results(CLUSTER, folder, RESUMES) for _ in range(3)] == resumed
