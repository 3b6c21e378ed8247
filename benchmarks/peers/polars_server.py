"""Answer queries in Polars' own virtual environment, which has none of our packages: a script that polars.py starts.

It reads lines of JSON and answers each with one line, {"rows": […]} or {"error": …}. {"sql": …, "table": folder} is SQL
over the files of the folder, which are the table `files`. {"left": folder, "right": folder, "keys": […], "is_left": …}
is an ASOF join, and its answer the number of rows and the sums of `benchmarks.joins`.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))  # has a polars.py, which would be imported instead
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    import polars as pl

    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"rows": (over_files(pl, request) if "sql" in request else asof(pl, request)).collect().rows()}
        except pl.exceptions.PolarsError as error:  # the failure is the answer to this query; the next one may succeed
            reply = {"error": str(error)}
        print(json.dumps(reply), flush=True)


def over_files(pl, request):
    return pl.SQLContext(files=pl.scan_parquet(f"{request['table']}/*.parquet")).execute(request["sql"])


def asof(pl, request):
    ms = pl.col("ms_right")
    left, right = (pl.scan_parquet(f"{request[side]}/*.parquet").sort("ts") for side in ("left", "right"))
    joined = left.join_asof(right, on="ts", by=request["keys"] or None, strategy="backward")
    joined = joined if request["is_left"] else joined.filter(ms.is_not_null())
    return joined.select(
        pl.len(), pl.col("i").sum(), ms.sum().alias("ms"), ((pl.col("i") * 31 + ms) % 1_000_003).sum().alias("pairs")
    )


if __name__ == "__main__":
    main()
