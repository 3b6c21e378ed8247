"""A real Trino server on loopback that reads the Delta tables that Spark wrote, on two cores.

It needs `mvn` (the server comes from Maven Central, 0.8 GB, once), 1.2 GB of disk, a heap of up to 8 GB, Java 24 or
newer (TRINO_JAVA_HOME, or one beside the default Java), and the PyPI package `trino` (the extra `bench`).

Trino's SQL differs from Spark's: `/` divides integers and there is no `div`; names are quoted by double quotes. Row
pattern recognition is the standard's, with the same defaults as ours; a result without any column is an error.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

from benchmarks.peers.downloads import cache, maven

VERSION = "476"
CORES = 2  # Spark has local[2]
_START_S = 180

_JVM = f"""-server
-Xmx8G
-XX:+UseG1GC
-XX:G1HeapRegionSize=32M
-XX:ReservedCodeCacheSize=512M
-XX:PerMethodRecompilationCutoff=10000
-XX:PerBytecodeRecompilationCutoff=10000
-XX:ActiveProcessorCount={CORES}
-Djdk.attach.allowAttachSelf=true
"""

_CONFIG = """coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
query.max-memory=6GB
query.max-memory-per-node=5GB
query.max-execution-time={limit_s}s
task.concurrency={cores}
task.max-worker-threads={cores}
query-manager.required-workers=1
"""  # required-workers: a query waits until the server, just started, counts itself as a worker

_NODE = """node.environment=bench
node.id=one
node.bind-ip=127.0.0.1
node.internal-address=127.0.0.1
node.data-dir={data}
"""

# Trino registers a table in its own metastore, in a folder of the warehouse that is removed when the server stops.
_CATALOG = """connector.name=delta_lake
fs.native-local.enabled=true
local.location={warehouse}
hive.metastore=file
hive.metastore.catalog.dir=local:///{state}/metastore
delta.register-table-procedure.enabled=true
"""


class Trino:
    """Queries over the Delta tables of a warehouse, answered by a server that runs until the block ends.

    The server stops a query that takes longer than `limit_s` seconds, which raises trino's TrinoQueryError.

    >>> with Trino(Path("/tmp/warehouse")) as trino:                                        # doctest: +SKIP
    ...     trino.prepare("ticker")
    ...     trino.query("SELECT count(*) FROM ticker")
    [(9,)]
    """

    def __init__(self, warehouse: Path, limit_s: int = 600):
        self.warehouse = Path(warehouse).resolve()
        self.limit_s = limit_s
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Trino:
        self.warehouse.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as opened:
            folder = tempfile.TemporaryDirectory(prefix=".trino-", dir=self.warehouse, ignore_cleanup_errors=True)
            state = Path(opened.enter_context(folder))
            port = _free_port()
            self._configure(state, port)
            opened.callback(_stop, server := _start(state))
            _wait_until_ready(server, port, state / "log")
            self._cursor = _connect(port).cursor()
            self.query(f"CREATE SCHEMA bench WITH (location = 'local:///{state.name}/schema')")
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_) -> None:
        self._open.close()

    def prepare(self, table: str) -> None:
        """Register `warehouse/table` under its own name; a table that is registered already is read anew."""
        registered = [name for (name,) in self.query("SHOW TABLES")]
        if table.lower() in registered:
            self.query(f"CALL delta.system.unregister_table('bench', '{table.lower()}')")
        self.query(f"CALL delta.system.register_table('bench', '{table.lower()}', 'local:///{table}')")

    def query(self, sql: str) -> list[tuple]:
        """All rows of the result, in the Python types of the package trino."""
        self._cursor.execute(sql)
        return [tuple(row) for row in self._cursor.fetchall()]

    def _configure(self, state: Path, port: int) -> None:
        etc = state / "etc"
        (etc / "catalog").mkdir(parents=True)
        (etc / "jvm.config").write_text(_JVM)
        (etc / "node.properties").write_text(_NODE.format(data=state / "data"))
        (etc / "config.properties").write_text(_CONFIG.format(port=port, limit_s=self.limit_s, cores=CORES))
        catalog = _CATALOG.format(warehouse=self.warehouse, state=state.name)
        (etc / "catalog" / "delta.properties").write_text(catalog)


def _start(state: Path) -> subprocess.Popen:
    java = _java_home()
    environment = {**os.environ, "JAVA_HOME": str(java), "PATH": f"{java}/bin{os.pathsep}{os.environ['PATH']}"}
    command = [str(_server() / "bin" / "launcher"), f"--etc-dir={state / 'etc'}", "run"]
    with open(state / "log", "w") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)


def _stop(server: subprocess.Popen) -> None:
    server.terminate()
    try:
        server.wait(60)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _wait_until_ready(server: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while server.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/info") as answer:
            if b'"starting":false' in answer.read():
                return
        time.sleep(0.5)
    raise RuntimeError(f"Trino did not start:\n{log.read_text()[-2000:]}")


def _connect(port: int):
    from trino.dbapi import connect

    return connect(host="127.0.0.1", port=port, user="bench", catalog="delta", schema="bench")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _server() -> Path:
    """The folder of the unpacked server, with the one plugin that we use."""
    home = cache(f"trino-server-{VERSION}")
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as folder:
            with tarfile.open(maven("io.trino", "trino-server", VERSION, "tar.gz")) as tar:
                tar.extractall(folder, members=filter(_is_needed, tar), filter="tar")
            Path(folder, home.name).rename(home)  # in one step, so that an incomplete server is never used
    return home


def _is_needed(member: tarfile.TarInfo) -> bool:
    return "/plugin/" not in member.name or re.search(r"/plugin/delta-lake(/|$)", member.name) is not None


def _java_home() -> Path:
    if home := os.environ.get("TRINO_JAVA_HOME"):
        return Path(home)
    default = Path(shutil.which("java") or "/usr/lib/jvm/default/bin/java").resolve().parents[1]
    for home in sorted(default.parent.iterdir()):
        if _java_version(home) >= 24:
            return home
    raise RuntimeError(f"Trino {VERSION} needs Java 24 or newer, none is in {default.parent}: set TRINO_JAVA_HOME")


def _java_version(home: Path) -> int:
    release = home / "release"
    version = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(), re.MULTILINE) if release.is_file() else None
    return int(version[1]) if version else 0
