"""Shortens what happens around a task in a worker, which costs more than a task over few rows.

- Spark sends the command of a task and its rows in several small messages. TCP keeps the second one back until the
  worker has acknowledged the first (Nagle's algorithm), which Linux does only after 40 ms if it is not asked to.
- After each task PySpark's daemon collects garbage in the worker, which visits all objects of pandas, PyArrow, Numba
  and sqlext. The next task of the worker waits for it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

_modules = 0  # how many there were when objects were last kept out of garbage collections


def prompt(function: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """The function, for workers, whose tasks it shortens."""
    return partial(_run, function)


def _run(function: Callable[[Any], Iterator[Any]], batches: Any) -> Iterator[Any]:
    acknowledger()()
    freeze_modules()
    return function(batches)


def acknowledger() -> Callable[[], None]:
    """A function that acknowledges what this process has received through its connections. A task calls it first.

    It is pickled by its code, because it is defined in a function.
    """

    def acknowledge() -> None:
        import os
        import socket
        from contextlib import suppress

        if not hasattr(socket, "TCP_QUICKACK"):  # not Linux
            return
        for name in os.listdir("/proc/self/fd"):
            try:
                connection = socket.socket(fileno=int(name))
            except OSError:  # a file
                continue
            with suppress(OSError):  # it is not of TCP
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            connection.detach()  # it stays open

    return acknowledge


def freeze_modules() -> None:
    """Keep the objects of this process out of garbage collections, if modules were imported since the last call.

    Tasks call it when they begin, because then few other objects would be kept for ever.
    """
    global _modules
    if len(sys.modules) > _modules:
        _modules = len(sys.modules)
        gc.freeze()
