"""A Hadoop file system on this machine: a name node and a data node, from a jar of Maven Central (40 MB)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .standalone import SPARK_HOME, free_port

_SERVER = "org.apache.hadoop.hdfs.server"
_NAME_NODE, _DATA_NODE = f"{_SERVER}.namenode.NameNode", f"{_SERVER}.datanode.DataNode"
_MAVEN = "https://repo1.maven.org/maven2/org/apache/hadoop/hadoop-client-minicluster"
_ANY_PORT = ("namenode.http-address", "datanode.address", "datanode.http.address", "datanode.ipc.address")
_STARTS = 60  # seconds


@contextmanager
def hdfs() -> Iterator[str]:
    """The URI of a folder in a file system that ends behind the block."""
    with tempfile.TemporaryDirectory(prefix="sqlext-hdfs-") as folder:
        uri = f"hdfs://127.0.0.1:{free_port()}"
        settings = {f"dfs.{name}": "127.0.0.1:0" for name in _ANY_PORT} | {
            "fs.defaultFS": uri, "hadoop.tmp.dir": folder, "dfs.replication": "1", "dfs.permissions.enabled": "false",
        }  # fmt: skip
        properties = "".join(f"<property><name>{n}</name><value>{v}</value></property>" for n, v in settings.items())
        for file in ("core-site.xml", "hdfs-site.xml"):
            (Path(folder) / file).write_text(f"<configuration>{properties}</configuration>")
        java = ("java", "-Xmx256m", "-cp", f"{folder}:{_jar()}:{SPARK_HOME}/jars/*")
        subprocess.run([*java, _NAME_NODE, "-format", "-nonInteractive"], capture_output=True, check=True)
        nodes = [subprocess.Popen([*java, node], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for node in (_NAME_NODE, _DATA_NODE)]  # fmt: skip
        try:
            _wait([*java, "org.apache.hadoop.fs.FsShell", "-put", "-f", f"{folder}/core-site.xml", f"{uri}/"])
            yield f"{uri}/tables"
        finally:
            for node in nodes:
                node.kill()
                node.wait()


def _jar() -> Path:
    """The servers of the Hadoop whose client Spark has, kept in this Python's environment."""
    (client,) = (SPARK_HOME / "jars").glob("hadoop-client-api-*.jar")
    version = client.stem.rpartition("-")[2]
    jar = Path(sys.prefix) / f"hadoop-client-minicluster-{version}.jar"
    if not jar.exists():
        part = jar.with_suffix(".part")
        urllib.request.urlretrieve(f"{_MAVEN}/{version}/{jar.name}", part)
        part.rename(jar)
    return jar


def _wait(command: list[str]) -> None:
    """Repeat a command until it succeeds."""
    end = time.monotonic() + _STARTS
    while subprocess.run(command, capture_output=True, check=False).returncode:
        if time.monotonic() > end:
            raise TimeoutError(f"no file system within {_STARTS} seconds")
        time.sleep(1)
