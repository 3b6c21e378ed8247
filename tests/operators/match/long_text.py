"""Match 2.2 GiB of text in one worker: in many partitions, and in one. It takes 6 GB of memory, so it is run by hand.

usage: python -m tests.operators.match.long_text
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sqlext.operators.match.match_rows import match_batches
from sqlext.operators.match.plan import Slot
from sqlext.pattern.task.task import Navigation, Output

from .test_worker import v_shapes

ROWS, LENGTH, IN_A_BATCH = 66_000, 34_000, 3_000


def batches(rows_of_a_key: int) -> Iterator[pa.RecordBatch]:
    """Rows whose values fall and rise, in batches as Spark sends them."""
    for first in range(0, ROWS, IN_A_BATCH):
        i = np.arange(first, first + IN_A_BATCH)
        mask = np.array([0, 1, 2], np.int8)[i % 3]
        texts = pa.array([str(x).zfill(LENGTH) for x in i.tolist()])
        yield pa.RecordBatch.from_arrays(
            [pa.array(i // rows_of_a_key), pa.array(i % 3), pa.array(mask), texts], ["k", "v", "m", "s"]
        )


def main() -> None:
    plan = v_shapes()
    last = Slot(name="s_of_b", kind="value", columns=("s",), navigation=Navigation(argument=0, labels=(1,)))
    plan = replace(plan, task=replace(plan.task, output=Output(is_all_rows=True)), carried=("k", "s"), slots=(last,))
    for rows_of_a_key in (3, ROWS):
        start, rows, most, size = time.perf_counter(), 0, 0, 0
        for batch in match_batches(batches(rows_of_a_key), plan):
            rows, most, size = rows + batch.num_rows, max(most, batch.nbytes), size + batch.nbytes
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
        print(f"{rows_of_a_key} rows a key: {rows} rows, {size / (1 << 30):.1f} GiB in batches up to "
              f"{most / (1 << 20):.0f} MiB, {time.perf_counter() - start:.0f} s, peak {peak:.1f} GiB")  # fmt: skip


if __name__ == "__main__":
    main()
