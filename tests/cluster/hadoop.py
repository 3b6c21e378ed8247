"""Hadoop on this machine: its file system and its YARN, from jars of Maven Central (60 MB)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .standalone import SPARK_HOME, free_port

_NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
_NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
_MAVEN = "https://repo1.maven.org/maven2"
_ANY_PORT = ("namenode.http-address", "datanode.address", "datanode.http.address", "datanode.ipc.address")
_STARTS = 60  # seconds


@contextmanager
def hdfs() -> Iterator[str]:
    """The URI of a folder in a file system that ends after the block."""
    with tempfile.TemporaryDirectory(prefix="sqlext-hdfs-") as name:
        folder, uri = Path(name), f"hdfs://127.0.0.1:{free_port()}"
        settings = {f"dfs.{name}": "127.0.0.1:0" for name in _ANY_PORT} | {
            "fs.defaultFS": uri, "hadoop.tmp.dir": name, "dfs.replication": "1", "dfs.permissions.enabled": "false",
        }  # fmt: skip
        _configure(folder, "core-site.xml", settings)
        _configure(folder, "hdfs-site.xml", settings)
        subprocess.run([*_java(folder), _NAME_NODE, "-format", "-nonInteractive"], capture_output=True, check=True)
        put = [*_java(folder), "org.apache.hadoop.fs.FsShell", "-put", "-f", f"{folder}/core-site.xml", f"{uri}/"]
        with _servers(folder, _NAME_NODE, _DATA_NODE):
            _wait(lambda: subprocess.run(put, capture_output=True, check=False).returncode == 0)
            yield f"{uri}/tables"


@contextmanager
def yarn() -> Iterator[Path]:
    """The folder of the settings (HADOOP_CONF_DIR) of a resource manager with one node, which end after the block."""
    with tempfile.TemporaryDirectory(prefix="sqlext-yarn-") as name:
        folder = Path(name)
        ports = {
            f"yarn.resourcemanager.{service}.address": f"127.0.0.1:{free_port()}"
            for service in ("scheduler", "resource-tracker", "admin", "webapp")
        } | {f"yarn.nodemanager.{service}address": "127.0.0.1:0" for service in ("", "localizer.", "webapp.")}
        settings = {
            **ports, "yarn.resourcemanager.address": f"127.0.0.1:{free_port()}", "hadoop.tmp.dir": name,
            "yarn.nodemanager.resource.memory-mb": "6144", "yarn.nodemanager.resource.cpu-vcores": "3",
            "yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.disk-health-checker.enable": "false",
            "yarn.nodemanager.log-dirs": f"{name}/logs", "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
        }  # fmt: skip
        _configure(folder, "yarn-site.xml", settings)
        with _servers(folder, _RESOURCE_MANAGER, _NODE_MANAGER):
            _wait(lambda: b'"state":"RUNNING"' in _read(f"http://{ports['yarn.resourcemanager.webapp.address']}"))
            yield folder


def _read(manager: str) -> bytes:
    """What a resource manager tells of its nodes; nothing while it starts."""
    try:
        with urllib.request.urlopen(f"{manager}/ws/v1/cluster/nodes") as answer:
            return bytes(answer.read())
    except urllib.error.URLError:
        return b""


def _configure(folder: Path, file: str, settings: Mapping[str, str]) -> None:
    properties = (f"<property><name>{n}</name><value>{v}</value></property>" for n, v in settings.items())
    (folder / file).write_text(f"<configuration>{''.join(properties)}</configuration>")


@contextmanager
def _servers(folder: Path, *classes: str) -> Iterator[None]:
    nothing = subprocess.DEVNULL
    servers = [subprocess.Popen([*_java(folder), name], stdout=nothing, stderr=nothing, cwd=folder) for name in classes]
    try:
        yield
    finally:
        for server in servers:
            server.kill()
            server.wait()


def _java(folder: Path) -> list[str]:
    """Java with the servers of the Hadoop whose client Spark has, and the settings of a folder."""
    (client,) = (SPARK_HOME / "jars").glob("hadoop-client-api-*.jar")
    hadoop = _jar("org/apache/hadoop", "hadoop-client-minicluster", client.stem.rpartition("-")[2])
    lacking = [_jar("org/bouncycastle", f"{name}-jdk18on", "1.78.1") for name in ("bcprov", "bcpkix", "bcutil")]
    return ["java", "-Xmx256m", "-cp", ":".join(map(str, (folder, hadoop, *lacking, f"{SPARK_HOME}/jars/*")))]


def _jar(group: str, name: str, version: str) -> Path:
    """A jar of Maven Central, kept in this Python's environment."""
    jar = Path(sys.prefix) / f"{name}-{version}.jar"
    if not jar.exists():
        part = jar.with_suffix(".part")
        urllib.request.urlretrieve(f"{_MAVEN}/{group}/{name}/{version}/{jar.name}", part)
        part.rename(jar)
    return jar


def _wait(is_ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _STARTS
    while not is_ready():
        if time.monotonic() > end:
            raise TimeoutError(f"Hadoop does not answer within {_STARTS} seconds")
        time.sleep(1)
