"""The daemon from which a local Spark forks its Python workers, with the libraries of our clauses loaded.

Spark ends workers after a minute without a task, and each core has one of its own. A new worker spent most of a second
on loading PyArrow, Numba and the code that matches rows. A worker that is forked from this daemon has them, and shares
their memory with the others. Spark runs this file by its setting `spark.python.daemon.module`.
"""

from __future__ import annotations

import gc
import os
from contextlib import suppress


def main() -> None:
    # PyArrow's allocator reads this when it is loaded. With huge pages, which the kernel must first find or make, the
    # workers spent up to half of their time in the kernel as soon as other tasks had run in between (decision 56).
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
    with suppress(ImportError):  # a worker that needs the library will say so
        import pyspark.worker  # noqa: F401

        import sqlext.operators.match.match_rows
        import sqlext.operators.scan.read_files  # noqa: F401
    from pyspark import daemon

    gc.freeze()  # workers collect garbage after each task, and need not visit what all of them have
    daemon.manager()


if __name__ == "__main__":
    main()
