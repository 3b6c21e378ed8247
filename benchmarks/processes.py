"""Memory and processor time of Spark's JVM and its Python workers, from /proc (Linux only)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

PROC = Path("/proc")


class Watch:
    """The largest resident memory in bytes, and the processor time, while the `with` block runs.

    Workers are forks that share pages, so each counts by its proportional share. The JVM does not return the memory of
    its heap, so its peak is that of the session so far. Processor time includes compilation and garbage collection.
    """

    def __init__(self, every_s: float = 0.1):
        self.every_s, self.jvm, self.workers, self.cpu_s = every_s, 0, 0, 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._began_s = spark_cpu_s()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.cpu_s = spark_cpu_s() - self._began_s
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self.every_s):
            jvm = spark_jvm()
            if jvm is not None:
                self.jvm = max(self.jvm, resident(jvm, "status", "VmRSS:"))
                shares = (resident(pid, "smaps_rollup", "Pss:") for pid in descendants(jvm))
                self.workers = max(self.workers, sum(shares))


def spark_cpu_s() -> float:
    """The processor time in seconds of the driver's JVM and its workers, including those that have ended."""
    jvm = spark_jvm()
    ticks = 0 if jvm is None else sum(ticks_of(pid) for pid in (jvm, *descendants(jvm)))
    return ticks / os.sysconf("SC_CLK_TCK")


def ticks_of(pid: int) -> int:
    """The ticks of a process and of the children that it has waited for (proc(5): utime, stime, cutime, cstime)."""
    fields = read(pid, "stat").rpartition(b")")[2].split()
    return sum(map(int, fields[11:15]))


def spark_jvm() -> int | None:
    """The process of this session's driver, which PySpark starts as our child."""
    name = b"org.apache.spark.deploy.SparkSubmit"
    return next((pid for pid in descendants(os.getpid()) if name in read(pid, "cmdline")), None)


def descendants(pid: int) -> list[int]:
    """The children of a process, their children and so on, parents first; none of a process that is gone."""
    try:
        threads = os.listdir(PROC / str(pid) / "task")
    except OSError:
        return []
    children = [int(child) for thread in threads for child in read(pid, f"task/{thread}/children").split()]
    return [d for child in children for d in (child, *descendants(child))]


def resident(pid: int, file: str, key: str) -> int:
    """A figure in kB of a file of /proc, in bytes."""
    words = read(pid, file).split()
    return 1024 * int(words[words.index(key.encode()) + 1]) if key.encode() in words else 0


def read(pid: int, file: str) -> bytes:
    """Empty for a process that is gone."""
    try:
        return (PROC / str(pid) / file).read_bytes()
    except OSError:
        return b""
