"""What our functions do around a task in a worker."""

from __future__ import annotations

import gc
import socket

import pyarrow as pa
import pytest

from sqlext.spark.worker_functions import map_in_arrow
from sqlext.spark.worker_tasks import acknowledger


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="only Linux has the option")
def test_a_process_acknowledges_what_its_connections_have_received():
    option = socket.IPPROTO_TCP, socket.TCP_QUICKACK
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sender:
        receiver, _ = server.accept()
        with receiver:
            receiver.setsockopt(*option, 0)
            acknowledger()()
            assert receiver.getsockopt(*option) == 1
            sender.sendall(b"rows")
            assert receiver.recv(4) == b"rows"  # it is still open


def test_workers_keep_their_modules_out_of_garbage_collections(spark):
    def frozen(batches):
        for _ in batches:
            yield pa.record_batch({"objects": [gc.get_freeze_count()]})

    assert map_in_arrow(spark.range(1), frozen, "objects BIGINT").first().objects > 0


def test_workers_begin_with_the_libraries_of_clauses(spark):
    def loaded(batches):
        import sys

        for _ in batches:
            yield pa.record_batch({"loaded": ["numba" in sys.modules]})

    assert spark.range(1).mapInArrow(loaded, "loaded BOOLEAN").first().loaded
