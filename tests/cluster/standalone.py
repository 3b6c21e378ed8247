"""A standalone cluster on this machine: a master, and workers whose Python lacks sqlext, each on its own address.

`python -m tests.cluster.standalone COMMAND …` runs a command with its address in SQLEXT_TEST_MASTER. The environment
variable SQLEXT_WORKER_PYTHON names the Python of the workers, which `make test-cluster` sets up.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_STARTS = 120  # seconds


@contextmanager
def cluster(workers: int = 2, cores: int = 1) -> Iterator[str]:
    """The address of a cluster that is stopped after the block; each worker has this number of cores."""
    processes: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryDirectory(prefix="sqlext-cluster-") as top:
        folder = Path(top)
        try:
            processes.append(_started(folder / "master", _MASTER, "--port", "0", "--webui-port", "0"))
            address = _line(folder / "master", r"Starting Spark master at (spark://\S+)")
            for i in range(workers):
                place = folder / f"worker{i}"
                size = ("--cores", str(cores), "--memory", "2g")
                options = (*size, "--webui-port", "0", "--work-dir", str(place / "work"))
                processes.append(_started(place, _WORKER, *options, address, host=f"127.0.0.{i + 2}"))
            for i in range(workers):
                _line(folder / f"worker{i}", r"(Successfully registered) with master")
            yield address
        finally:
            for process in reversed(processes):  # each is the leader of its group, to which its executors belong
                os.killpg(process.pid, signal.SIGTERM)
            for process in processes:
                process.wait(30)


@contextmanager
def connect_server(
    master: str, settings: Mapping[str, str], spark_home: Path = SPARK_HOME, python: str | None = None
) -> Iterator[str]:
    """The address of a Connect server, which is stopped after the block; `python`: of its workers."""
    folder = Path(tempfile.mkdtemp(prefix="sqlext-connect-"))
    process, address = start_server(folder, master, settings, spark_home, python)
    try:
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def start_server(
    folder: Path, master: str, settings: Mapping[str, str], spark_home: Path = SPARK_HOME, python: str | None = None
) -> tuple[subprocess.Popen[str], str]:
    """A Connect server and its address; the file `log` of the folder has what it prints."""
    port = free_port()
    all_settings = {**settings, "spark.master": master, "spark.connect.grpc.binding.port": str(port)}
    words = [word for name, value in all_settings.items() for word in ("--conf", f"{name}={value}")]
    words = ["bin/spark-submit", "--class", _CONNECT, *words, "spark-internal"]
    process = _process(folder, *words, spark_home=spark_home, python=python)
    try:
        _line(folder, r"(Spark Connect server started)")
    except TimeoutError:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    return process, f"sc://127.0.0.1:{port}"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _started(folder: Path, *words: str, host: str = "127.0.0.1") -> subprocess.Popen[str]:
    folder.mkdir()
    return _process(folder, "bin/spark-class", words[0], "--host", host, *words[1:])


def _process(
    folder: Path, program: str, *words: str, spark_home: Path = SPARK_HOME, python: str | None = None
) -> subprocess.Popen[str]:
    """A program of Spark, whose output goes to the file `log` of the folder, with the Python of the workers."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "PYTHON"))}
    python = python or os.environ["SQLEXT_WORKER_PYTHON"]
    ours = {"SPARK_HOME": str(spark_home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [str(spark_home / program), *words],
            cwd=folder, env={**others, **ours}, stdout=log, stderr=log, text=True, start_new_session=True,
        )  # fmt: skip


def _line(folder: Path, pattern: str) -> str:
    """The first group of `pattern` in the log of a process, as soon as it is there."""
    for _ in range(10 * _STARTS):
        match = re.search(pattern, (folder / "log").read_text())
        if match is not None:
            return match[1]
        time.sleep(0.1)
    raise TimeoutError((folder / "log").read_text())


def worker_environment(address: str) -> dict[str, str]:
    """What a driver of the cluster has in its environment."""
    python = os.environ["SQLEXT_WORKER_PYTHON"]
    return {**os.environ, "SQLEXT_TEST_MASTER": address, "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}


def main(command: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the cluster is stopped as well
    with cluster() as address:
        return subprocess.run(command, env=worker_environment(address), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
