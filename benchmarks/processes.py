"""Memory and processor time of Spark's JVM and its Python workers, from /proc (Linux only)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

PROC = Path("/proc")


class Watch:
    """While the `with` block runs: the largest resident memory seen, in bytes, and the processor time spent.

    Workers are forks that share pages, so each is counted by its proportional share. The JVM keeps what its heap once
    took: its peak is that of the session so far. Processor time includes compiling and collecting garbage.
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
    """Seconds that the driver's JVM and its workers, those that have ended too, have computed."""
    jvm = spark_jvm()
    ticks = 0 if jvm is None else sum(ticks_of(pid) for pid in (jvm, *descendants(jvm)))
    return ticks / os.sysconf("SC_CLK_TCK")


def ticks_of(pid: int) -> int:
    """Of the process and of its children that it has waited for (proc(5): utime, stime, cutime, cstime)."""
    fields = read(pid, "stat").rpartition(b")")[2].split()
    return sum(map(int, fields[11:15]))


def spark_jvm() -> int | None:
    """The process of this session's driver, which PySpark starts as our child."""
    found = (pid for pid in descendants(os.getpid()) if b"org.apache.spark.deploy.SparkSubmit" in read(pid, "cmdline"))
    return next(found, None)


def descendants(pid: int) -> list[int]:
    """Children, their children and so on, parents first."""
    found = [int(c) for t in (PROC / str(pid) / "task").glob("*") for c in read(pid, f"task/{t.name}/children").split()]
    return [d for child in found for d in (child, *descendants(child))]


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
