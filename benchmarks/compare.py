"""Compare the speed of this checkout with that of another one: python -m benchmarks.compare FOLDER [--only NAME,…]

The other checkout has a virtual environment of its own in `.venv` (`make lint` there makes it). Each checkout runs in
a process of its own, with its own Spark session. Both run every workload in turn, A B A B …, on
the same tables. The ratio is the median of the ratios of neighbouring turns, so a machine whose speed drifts does no
harm. Streams are compared by the time that an input row takes. Nothing is written but the tables.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import sqlext
from benchmarks import streams, tables
from benchmarks.__main__ import SETTINGS, names_of
from benchmarks.peers.answering import Answering
from benchmarks.streams import SCHEMA
from benchmarks.workloads import BY_NAME

STREAMS = {w.name: w for w in streams.WORKLOADS}
DEFAULT = [
    "funnel", "sessionize", "streak", "v_shape", "partitions", "scan", "bin_packing", "navigation", "rare_key",
    "quantifier", "followed_by", "every_match", "A B", "A+ B+ C", "A -> B within",
]  # fmt: skip
LIMIT_S = 600

Turn = Callable[[Answering], tuple[tuple, float]]  # the result, and the seconds that are compared


class OtherResult(Exception):
    """The two checkouts disagree: there is no point in comparing their speed."""


def main() -> None:
    options = arguments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        turns = prepared(options.only, folder)
        this = stack.enter_context(checkout("this", sys.executable, folder))
        other = stack.enter_context(checkout("other", str(options.folder.resolve() / ".venv/bin/python"), folder))
        print("| workload | this | other | this / other |\n|---|---|---|---|")
        for name, turn in turns.items():
            print(compare(name, turn, this, other, options.runs), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("--only", type=names_of((*BY_NAME, *STREAMS)), default=DEFAULT, metavar="NAME,…")
    parser.add_argument("--runs", type=int, default=5, help="turns of each after the first")
    return parser.parse_args()


@contextmanager
def checkout(name: str, python: str, folder: Path) -> Iterator[Answering]:
    """A process that answers with the sqlext installed for `python`, until the block ends."""
    command = [python, str(Path(__file__).with_name("peers") / "checkout_server.py")]
    variables = {**os.environ, "PYTHONPATH": "", "PYSPARK_PYTHON": python}
    process = Answering(name, command, folder / f"{name}.err", LIMIT_S, variables)
    try:
        yield process
    finally:
        process.stop()


def prepared(names: Iterable[str], folder: Path) -> dict[str, Turn]:
    """Write the tables and files of the workloads; return how each takes a turn."""
    spark = sqlext.session("compare", master="local[2]", **SETTINGS)
    turns = {name: _stream(name, folder) if name in STREAMS else _statement(spark, name) for name in names}
    spark.stop()
    return turns


def _statement(spark, name: str) -> Turn:
    workload = BY_NAME[name]
    path = tables.ensure(spark, workload, workload.rows)
    sql = workload.query(f"delta.`{path}`", workload.rows)

    def turn(process: Answering) -> tuple[tuple, float]:
        began = time.perf_counter()
        (row,) = process.ask({"sql": sql})
        return row, time.perf_counter() - began

    return turn


def _stream(name: str, folder: Path) -> Turn:
    workload, files = STREAMS[name], folder / name.replace(" ", "_").replace(">", "")
    streams.write(workload, workload.sizes[streams.THROUGHPUT], files)
    sql = workload.query("STREAM arriving WATERMARK ts DELAY OF INTERVAL 1 MILLISECONDS")

    def turn(process: Answering) -> tuple[tuple, float]:
        ((matches, rows_s),) = process.ask({"sql": sql, "schema": SCHEMA, "folder": str(files)})
        return (matches,), 1_000_000 / rows_s

    return turn


def compare(name: str, turn: Turn, this: Answering, other: Answering, runs: int) -> str:
    """A line of the table, after one turn of each that is not counted. Raises OtherResult."""
    pairs: list[Sequence[float]] = []
    for _ in range(1 + runs):
        (result, seconds), (expected, other_seconds) = turn(this), turn(other)
        if result != expected:
            raise OtherResult(f"{name}: {result}, the other checkout gives {expected}")
        pairs.append((seconds, other_seconds))
    counted = pairs[1:] or pairs
    medians = [statistics.median(column) for column in zip(*counted)]
    ratio = statistics.median(seconds / other_seconds for seconds, other_seconds in counted)
    unit = "s a million rows" if name in STREAMS else "s"
    return f"| {name} | {medians[0]:.2f} {unit} | {medians[1]:.2f} {unit} | {ratio:.2f} |"


if __name__ == "__main__":
    main()
