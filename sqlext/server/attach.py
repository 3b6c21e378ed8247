"""A classic session in this process on the Spark of a server.

PySpark's own SparkContext is made on the server's one. This is what Zeppelin and Livy do, too.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from sqlext.spark.worker_python import use_this_python

_PORT, _SECRET, _PINNED = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_PIN_THREAD"


class AttachedSession(SparkSession):
    """A session whose `stop` ends its own queries and streams, and leaves the Spark of the server running."""

    leave: Callable[[], None] = staticmethod(lambda: None)  # called after `stop`

    def stop(self) -> None:
        context = self._sc
        if SparkContext._active_spark_context is not context:  # it was stopped before
            return
        with suppress(Exception):  # the server may have ended
            for query in self.streams.active:
                query.stop()
            self.interruptAll()
        gateway: Any = SparkContext._gateway
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
        context._accumulatorServer.shutdown()
        with suppress(Exception):
            gateway.shutdown()
        self.leave()


def attach(port: int, secret: str) -> AttachedSession:
    """The session that a server offers at a port of this machine. This process must have no Spark yet."""
    before = {name: os.environ.get(name) for name in (_PORT, _SECRET, _PINNED)}
    os.environ.update({_PORT: str(port), _SECRET: secret, _PINNED: "true"})
    try:
        gateway = launch_gateway()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    offered = gateway.entry_point
    java_context = gateway.jvm.JavaSparkContext.fromSparkContext(offered.sparkContext())
    conf = SparkConf(_jvm=gateway.jvm, _jconf=java_context.getConf())
    use_this_python(conf.get("spark.master", "") or "")
    handler = signal.getsignal(signal.SIGINT)  # PySpark's own would cancel the jobs of all clients
    context = SparkContext(gateway=gateway, jsc=java_context, conf=conf)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
    session = AttachedSession(context, offered)
    context.stop = session.stop  # type: ignore[method-assign]
    return session
