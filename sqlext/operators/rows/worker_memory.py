"""The memory that a worker may still take, so that a partition that does not fit is an error and not a killed worker.

A worker that takes more than its container has is killed without a word, and one that takes more than
`spark.executor.pyspark.memory`, which limits its address space, may abort in a C++ library. The bytes that are free are
the least of what the machine, the container (cgroup, version 1 or 2) and that limit have left. Files in the page cache
count as free.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlext.errors import DataError

_GIB = 1 << 30


def check_memory(needed: int, most: int | None = None) -> None:
    """Raise DataError (WORKER_MEMORY) if fewer than `needed` bytes are free. `most`: the free bytes; None means those
    of the system, and nothing is checked where it does not tell them.

    >>> check_memory(1, 2)
    >>> check_memory(3 << 30, 1 << 30)
    Traceback (most recent call last):
    sqlext.errors.DataError: SQLEXT_WORKER_MEMORY: rows held together need 3.0 GiB, and a Python worker has 1.0 GiB
    Hint: PARTITION BY further columns, read fewer columns, or give workers more memory (spark.executor.memoryOverhead).
    """
    free = free_bytes() if most is None else most
    if free is not None and free < needed:
        raise _too_large(f"need {_shown(needed)}, and a Python worker has {_shown(free)}")


@contextmanager
def memory_errors(hint: str | None = None) -> Iterator[None]:
    """Inside, an allocation that fails at the limit of `spark.executor.pyspark.memory` is an error WORKER_MEMORY, and
    each such error has this hint; None keeps its own."""
    try:
        yield
    except MemoryError:
        raise _too_large("need more memory than a Python worker has").with_(hint=hint) from None
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
    cgroup = root / "sys/fs/cgroup"
    containers = [
        _free_in_container(cgroup / "memory.max", cgroup / "memory.current", cgroup / "memory.stat", ""),
        _free_in_container(
            cgroup / "memory/memory.limit_in_bytes",
            cgroup / "memory/memory.usage_in_bytes",
            cgroup / "memory/memory.stat",
            "total_",
        ),
    ]
    limits = [*containers, _free_in_process(root / "proc/self")]
    return min([*machine, *(free for free in limits if free is not None)], default=None)


def _free_in_process(process: Path) -> int | None:
    words = _text(process / "limits").partition("Max address space")[2].split()
    used = [value << 10 for name, value in _named_numbers(process / "status") if name == "VmSize:"]
    return max(0, int(words[0]) - used[0]) if words and words[0].isdigit() and used else None


def _free_in_container(limit: Path, used: Path, statistics: Path, prefix: str) -> int | None:
    """None if there is no limit."""
    most, taken = _text(limit).strip(), _text(used).strip()
    if not most.isdigit() or not taken.isdigit():
        return None
    cached = (f"{prefix}inactive_file", f"{prefix}active_file")
    reclaimable = sum(value for name, value in _named_numbers(statistics) if name in cached)
    return max(0, int(most) - int(taken) + reclaimable)


def _named_numbers(file: Path) -> list[tuple[str, int]]:
    words = (line.split() for line in _text(file).splitlines())
    return [(line[0], int(line[1])) for line in words if len(line) > 1 and line[1].isdigit()]


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
