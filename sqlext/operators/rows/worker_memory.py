"""The memory that a worker may still take, so that a partition that does not fit is an error and not a killed worker.

A worker that takes more than its container has is killed without a word, and one that takes more than
`spark.executor.pyspark.memory`, which limits its address space, may abort in a C++ library. The bytes that are free are
the least of what the machine, the containers (each cgroup of the process, version 1 or 2) and that limit have left.
Files in the page cache count as free.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlext.errors import DataError

_GIB = 1 << 30


@dataclass
class Held:
    """What is held together, for messages. `last_key`: the key of the last of `rows` rows, empty if it is not known; of
    very many rows this is mostly the key with most of them."""

    rows: int = 0
    last_key: str = ""

    def __str__(self) -> str:
        last = f", the last one with the key {self.last_key}" if self.last_key else ""
        return f": {self.rows:,} rows so far{last}" if self.rows else ""


def check_memory(needed: int, most: int | None, held: Held) -> None:
    """Raise DataError (WORKER_MEMORY) if fewer than `needed` bytes are free. `most`: the free bytes; None means those
    of the system, and nothing is checked where it does not tell them.

    >>> check_memory(1, 2, Held(1))
    >>> check_memory(3 << 30, 1 << 30, Held(70_000_000, "(unknown)"))  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    sqlext.errors.DataError: SQLEXT_WORKER_MEMORY: rows held together need 3.0 GiB more, and a Python worker has 1.0
        GiB: 70,000,000 rows so far, the last one with the key (unknown)
    Hint: PARTITION BY further columns, read fewer columns, or give workers more memory (spark.executor.memoryOverhead).
    """
    free = free_bytes() if most is None else most
    if free is not None and free < needed:
        raise _too_large(f"need {_shown(needed)} more, and a Python worker has {_shown(free)}{held}")


@contextmanager
def memory_errors(hint: str | None = None) -> Iterator[Held]:
    """Inside, an allocation that fails at the limit of `spark.executor.pyspark.memory` is an error WORKER_MEMORY, and
    each such error has this hint; None keeps its own. The error of an allocation has what is then in the result, which
    those who hold rows keep up to date."""
    held = Held()
    try:
        yield held
    except MemoryError:
        raise _too_large(f"need more memory than a Python worker has{held}").with_(hint=hint) from None
    except DataError as error:
        if error.error_class != "SQLEXT_WORKER_MEMORY":
            raise
        raise error.with_(hint=hint) from None


def _too_large(what: str) -> DataError:
    """The error for a partition, or several in one file, that `what`, which completes the sentence."""
    return DataError(
        "WORKER_MEMORY",
        f"rows held together {what}",
        hint="PARTITION BY further columns, read fewer columns, or give workers more memory "
        "(spark.executor.memoryOverhead).",
    )


def _shown(size: int) -> str:
    """
    >>> _shown(3 << 30), _shown(5 << 20), _shown(7)
    ('3.0 GiB', '5 MiB', '0 MiB')
    """
    return f"{size / _GIB:.1f} GiB" if size >= _GIB else f"{size >> 20} MiB"


def free_bytes(root: Path = Path("/")) -> int | None:
    """The bytes that this process may still take, None if no file below `root` tells it, as on macOS and Windows."""
    machine = [value << 10 for name, value in _named_numbers(root / "proc/meminfo") if name == "MemAvailable:"]
    containers = [
        free
        for mount, path, names in _mounts(root)
        for folder in _folders(mount, path)
        if (free := _free_in_container(folder, *names)) is not None
    ]
    process = _free_in_process(root / "proc/self")
    return min([*machine, *containers, *([] if process is None else [process])], default=None)


def _mounts(root: Path) -> Iterator[tuple[Path, str, tuple[str, str, str]]]:
    """Where the cgroups of each version are, the path of this process in it ("/" if it is not known), and the names of
    limit, use and the prefix of statistics (cgroups(7), proc_pid_cgroup(5))."""
    paths = {}
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths.update({name: path for name in (controllers.split(",") if controllers else [number])})
    cgroup = root / "sys/fs/cgroup"
    yield cgroup, paths.get("0", "/"), ("memory.max", "memory.current", "")
    version_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
    yield cgroup / "memory", paths.get("memory", "/"), version_1


def _folders(mount: Path, path: str) -> Iterator[Path]:
    """The cgroup at `path` and those around it, as each may have a limit. A container may see its own as the mount."""
    names = [name for name in path.split("/") if name]
    yield mount
    if ".." not in names:  # otherwise the process is outside what is mounted
        yield from (mount.joinpath(*names[: i + 1]) for i in range(len(names)))


def _free_in_process(process: Path) -> int | None:
    words = _text(process / "limits").partition("Max address space")[2].split()
    used = [value << 10 for name, value in _named_numbers(process / "status") if name == "VmSize:"]
    return max(0, int(words[0]) - used[0]) if words and words[0].isdigit() and used else None


def _free_in_container(folder: Path, limit: str, used: str, prefix: str) -> int | None:
    """None if there is no limit."""
    most, taken = _text(folder / limit).strip(), _text(folder / used).strip()
    if not most.isdigit() or not taken.isdigit():
        return None
    cached = (f"{prefix}inactive_file", f"{prefix}active_file")
    reclaimable = sum(value for name, value in _named_numbers(folder / "memory.stat") if name in cached)
    return max(0, int(most) - int(taken) + reclaimable)


def _named_numbers(file: Path) -> list[tuple[str, int]]:
    words = (line.split() for line in _text(file).splitlines())
    return [(line[0], int(line[1])) for line in words if len(line) > 1 and line[1].isdigit()]


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
