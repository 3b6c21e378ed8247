"""A stateful operator for Spark that is unpickled without sqlext.

Spark starts another process for it, beside the driver, which declares the state and has none of the files that were
sent to the executors. The class below is pickled by its code, because it is defined in a function; the operator in it
is unpickled when the first rows arrive, on an executor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.cloudpickle import dumps
from pyspark.sql.streaming import StatefulProcessor

from sqlext.operators.stateful.bucket import Bucket
from sqlext.spark.worker_functions import importer


def shipped(bucket: Bucket, archive: str | None) -> StatefulProcessor:
    """The operator for Spark. `archive`: the file in which sqlext was sent, None if it was not."""
    pickled, import_sent = dumps(bucket), importer(archive)

    class ShippedProcessor(StatefulProcessor):
        def init(self, handle) -> None:
            self.handle = handle
            self.states = (
                handle.getValueState("header", "value BINARY"),
                handle.getMapState("chunks", "number BIGINT", "value BINARY"),
            )
            self.bucket: Any = None

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
                self.bucket = pickle.loads(pickled)
                self.bucket.open(self.handle, *self.states)
            return self.bucket

    return ShippedProcessor()
