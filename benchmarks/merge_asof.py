"""pandas' `merge_asof`, with keys (`by`) and without, by sqlext, pandas-on-Spark, pandas and Polars.

    python -m benchmarks.merge_asof [--rows 1000000] [--slow-rows 10000,100000] [--runs 3] [--limit 600]

Each library has a process of its own, reads two Parquet files of so many rows, and sums columns of the joined rows. The
sums must be the same for all that have the same rows. Shown is the median of the runs after a first one, which is shown
apart. pandas-on-Spark gets `--slow-rows`, because its join is quadratic; who has no result after `--limit` seconds is
ended.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEYS, DAY_US = 1000, 86_400_000_000
Sums = list[int]  # the rows, the sum of `price`, and that of `bid`
Join = Callable[[Path, bool], Callable[[], Sums]]  # the folder and whether there are keys → one run


@dataclass(frozen=True)
class Case:
    """One library at one number of rows."""

    library: str
    rows: int
    has_keys: bool

    def __str__(self) -> str:
        keys = f"by {KEYS:,} keys" if self.has_keys else "without keys"
        return f"{self.library}, {self.rows:,} x {self.rows:,} rows {keys}"


def write(folder: Path, rows: int) -> None:
    """Write trades and quotes of about a day, each in the order of time, as both pandas and Polars want it. No two rows
    of a table have the same time: the libraries choose others of such rows."""
    chance = np.random.default_rng(rows)
    for name, value in (("trades", "price"), ("quotes", "bid")):
        times = np.cumsum(chance.integers(1, 2 * DAY_US // rows, rows)).astype("datetime64[us]")
        columns = {"time": times, "ticker": chance.integers(0, KEYS, rows), value: chance.integers(1, 1000, rows)}
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def by_pandas(folder: Path, has_keys: bool) -> Callable[[], Sums]:
    import pandas as pd

    def run() -> Sums:
        trades, quotes = (pd.read_parquet(folder / f"{name}.parquet") for name in ("trades", "quotes"))
        if not has_keys:
            quotes = quotes.drop(columns="ticker")
        joined = pd.merge_asof(trades, quotes, on="time", by="ticker" if has_keys else None)
        return [len(joined), int(joined["price"].sum()), int(joined["bid"].sum())]

    return run


def by_polars(folder: Path, has_keys: bool) -> Callable[[], Sums]:
    import polars as pl

    def run() -> Sums:
        trades, quotes = (pl.read_parquet(folder / f"{name}.parquet") for name in ("trades", "quotes"))
        joined = trades.join_asof(quotes, on="time", by="ticker" if has_keys else None, check_sortedness=False)
        return [joined.height, joined["price"].sum(), joined["bid"].sum()]

    return run


def by_pandas_on_spark(folder: Path, has_keys: bool) -> Callable[[], Sums]:
    import pyspark.pandas as ps

    return _on_spark(folder, has_keys, ps.merge_asof)


def by_sqlext_pandas(folder: Path, has_keys: bool) -> Callable[[], Sums]:
    import sqlext.pandas

    return _on_spark(folder, has_keys, sqlext.pandas.merge_asof)


def _on_spark(folder: Path, has_keys: bool, merge_asof: Callable[..., Any]) -> Callable[[], Sums]:
    import pyspark.pandas as ps

    _session()

    def run() -> Sums:
        trades, quotes = (ps.read_parquet(str(folder / f"{name}.parquet")) for name in ("trades", "quotes"))
        if not has_keys:
            quotes = quotes.drop(columns="ticker")
        return _sums(merge_asof(trades, quotes, on="time", by="ticker" if has_keys else None).to_spark())

    return run


def by_sqlext(folder: Path, has_keys: bool) -> Callable[[], Sums]:
    import sqlext

    spark = _session()

    def run() -> Sums:
        trades, quotes = (spark.read.parquet(str(folder / f"{name}.parquet")) for name in ("trades", "quotes"))
        if not has_keys:
            quotes = quotes.drop("ticker")
        return _sums(sqlext.asof_join(trades, quotes, on="time", by="ticker" if has_keys else None))

    return run


def _session() -> Any:
    import sqlext

    return sqlext.session(master="local[*]", format="parquet", **{"spark.log.level": "OFF"})


def _sums(joined: Any) -> Sums:
    return list(joined.selectExpr("count(*)", "sum(price)", "CAST(sum(bid) AS LONG)").first())


LIBRARIES: dict[str, Join] = {
    "sqlext.asof_join": by_sqlext,
    "sqlext.pandas": by_sqlext_pandas,
    "pandas": by_pandas,
    "polars": by_polars,
    "pyspark.pandas": by_pandas_on_spark,
}
SLOW = "pyspark.pandas"


def run_here(case: Case, folder: Path, runs: int) -> None:
    """Print the seconds of each run, and the sums, as JSON. In the process of a case."""
    run, times, sums = LIBRARIES[case.library](folder, case.has_keys), [], []
    for _ in range(runs + 1):
        began = perf_counter()
        sums = run()
        times.append(perf_counter() - began)
        print(json.dumps({"times": times, "sums": sums}), flush=True)


def measure(case: Case, folder: Path, runs: int, limit: float) -> Sums | None:
    """Run a case in a process of its own, and print what it took. Returns the sums, or None without a result."""
    program = [sys.executable, "-m", "benchmarks.merge_asof", "--case", case.library, str(case.rows)]
    program += [*(["--keys"] if case.has_keys else []), "--folder", str(folder), "--runs", str(runs)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        output, errors = process.communicate(timeout=limit)
        ending = "" if process.returncode == 0 else f", then failed: {(errors.splitlines() or ['?'])[-1][:200]}"
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        ending = f", then ended after {limit:g} s"
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        print(f"{case}: no result{ending}", flush=True)
        return None
    result = json.loads(lines[-1])
    first, *later = result["times"]
    median = f"median of {len(later)}: {statistics.median(later):.2f} s, " if later else ""
    print(f"{case}: {median}first {first:.2f} s{ending}", flush=True)
    return result["sums"]


def cases(rows: int, slow_rows: Sequence[int]) -> list[Case]:
    """All cases, those that must have the same sums one after the other."""
    return [
        Case(library, count, has_keys)
        for has_keys in (False, True)
        for library in LIBRARIES
        for count in (slow_rows if library == SLOW else (rows, *slow_rows) if library == "pandas" else (rows,))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--slow-rows", type=lambda text: [int(n) for n in text.split(",")], default=[10_000, 100_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--keys", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        run_here(Case(options.case[0], int(options.case[1]), options.keys), options.folder, options.runs)
        return
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    sums: dict[tuple[int, bool], Sums] = {}
    with tempfile.TemporaryDirectory() as made:
        folders = {rows: Path(made, str(rows)) for rows in (options.rows, *options.slow_rows)}
        for rows, folder in folders.items():
            folder.mkdir()
            write(folder, rows)
        for case in cases(options.rows, options.slow_rows):
            found = measure(case, folders[case.rows], options.runs, options.limit)
            expected = found and sums.setdefault((case.rows, case.has_keys), found)
            if found != expected:
                print(f"{case}: the sums are {found}, others have {expected}")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
