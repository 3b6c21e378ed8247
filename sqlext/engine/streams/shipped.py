"""A stateful operator for Spark that is unpickled without sqlext.

Spark starts another process for it, beside the driver, which declares the state and has none of the files that were
sent to the executors. The class below is pickled by its code, because it is defined in a function; the operator in it
is unpickled when the first rows arrive, on an executor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.cloudpickle import dumps
from pyspark.sql import types as T
from pyspark.sql.streaming import StatefulProcessor

from sqlext.operators.stateful.bucket import Bucket
from sqlext.spark.worker_functions import importer
from sqlext.spark.worker_tasks import acknowledger


def shipped(bucket: Bucket, archive: str | None) -> StatefulProcessor:
    """The operator for Spark. `archive`: the file in which sqlext was sent, None if it was not."""
    pickled, import_sent, acknowledge = dumps(bucket), importer(archive), acknowledger()
    # Spark would parse a type that is written as text twice in each task.
    value = T.StructType([T.StructField("value", T.BinaryType())])
    number = T.StructType([T.StructField("number", T.LongType())])

    class ShippedProcessor(StatefulProcessor):
        def __init__(self) -> None:
            self.bucket: Any = None

        def __setstate__(self, state) -> None:  # when a task begins
            self.__dict__ = state
            acknowledge()

        def init(self, handle) -> None:
            self.handle = handle
            self.states = handle.getValueState("header", value), handle.getMapState("chunks", number, value)

        def handleInputRows(self, key, rows, timerValues) -> Iterator[Any]:
            return self.opened().handleInputRows(key, rows, timerValues)

        def handleExpiredTimer(self, key, timerValues, expiredTimerInfo) -> Iterator[Any]:
            return self.opened().handleExpiredTimer(key, timerValues, expiredTimerInfo)

        def close(self) -> None:
            pass

        def opened(self):
            if self.bucket is None:
                import pickle

                import_sent()
                from sqlext.spark.worker_tasks import freeze_modules

                self.bucket = pickle.loads(pickled)
                freeze_modules()
                self.bucket.open(self.handle, *self.states)
            return self.bucket

    return ShippedProcessor()
