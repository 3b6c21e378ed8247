"""How long it takes from a fresh clone to a pattern over a CSV file of one's own, by each of three ways.

    python -m benchmarks.first_pattern [WAY …]

Each way has a clone, an environment and a folder for Delta's jars of its own. "silent" is the longest time without
output. The packages come from wherever pip and Maven get them on this machine, so a table is one of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

PATTERN = """MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY day
  MEASURES FIRST(down.day) AS fell_from, MIN(down.price) AS bottom, LAST(up.day) AS rose_until
  PATTERN (start down{2,} up{2,}) DEFINE down AS price < PREV(price), up AS price > PREV(price))"""
PYTHON = """import sqlext

spark = sqlext.session()
prices = spark.read.csv("prices.csv", header=True, inferSchema=True)
sqlext.match_recognize(
    prices, partition_by="symbol", order_by="day", pattern="start down{2,} up{2,}",
    measures={"fell_from": "FIRST(down.day)", "bottom": "MIN(down.price)", "rose_until": "LAST(up.day)"},
    define={"down": "price < PREV(price)", "up": "price > PREV(price)"},
).show()
"""
CELLS = (
    "%load_ext sqlext",
    f"%%sql\nSELECT * FROM csv.`prices.csv` WITH (header = true, inferSchema = true) {PATTERN}",
)
# what is installed, the command, and what is typed
WAYS: dict[str, tuple[str, Sequence[str], str]] = {
    "shell": ("delta,shell", ("sqlext", "shell", "prices.csv"), f"SELECT * FROM prices {PATTERN};\nexit\n"),
    "notebook": ("delta,notebook", ("sqlext", "notebook", "run", "first.ipynb"), ""),
    "python": ("delta", ("python", "first.py"), ""),
}
FOUND = "2026-03-02"  # the day from which the price fell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", metavar="WAY", choices=[*WAYS, []], help=", ".join(WAYS))
    print("| way | environment and install | first start and pattern | in all | silent |\n|---|---|---|---|---|")
    for way in parser.parse_args().ways or WAYS:
        with tempfile.TemporaryDirectory() as folder:
            print(measured(way, Path(folder)), flush=True)


def measured(way: str, home: Path) -> str:
    """The line of the table about a way."""
    clone, work, conf = home / "sqlext", home / "work", home / "conf"
    subprocess.run(["git", "clone", "--quiet", ".", str(clone)], check=True)
    for folder in (work, conf):
        folder.mkdir()
    (conf / "spark-defaults.conf").write_text(f"spark.jars.ivy {home / 'ivy'}\n")
    write_files(work)
    extra, command, typed = WAYS[way]
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = {**own, "PATH": f"{work}/.venv/bin:{os.environ['PATH']}", "SPARK_CONF_DIR": str(conf)}
    began = perf_counter()
    _, first = run([sys.executable, "-m", "venv", ".venv"], work, environment)
    _, second = run(["pip", "install", "--no-cache-dir", f"{clone}[{extra}]"], work, environment)
    installed = perf_counter()
    output, third = run(command, work, environment, typed)
    ended = perf_counter()
    assert FOUND in output, output
    times = f"{installed - began:.0f} s | {ended - installed:.0f} s | {ended - began:.0f} s"
    return f"| {way} | {times} | {max(first, second, third):.0f} s |"


def write_files(work: Path) -> None:
    lines = ["symbol,day,price", *(f"ACME,2026-03-0{1 + i},{p}" for i, p in enumerate((20, 18, 15, 17, 21, 19)))]
    (work / "prices.csv").write_text("\n".join(lines) + "\n")
    (work / "first.py").write_text(PYTHON)
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
        for i, text in enumerate(CELLS)
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (work / "first.ipynb").write_text(json.dumps(notebook))


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], typed: str = "") -> tuple[str, float]:
    """The output of a command in a terminal, and its longest silence in seconds. Raises RuntimeError."""
    terminal, end = pty.openpty()
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=end, stdout=end, stderr=end) as program:
        os.close(end)
        os.write(terminal, typed.encode())
        output, silent, last = b"", 0.0, perf_counter()
        while part := _read(terminal):
            output, silent, last = output + part, max(silent, perf_counter() - last), perf_counter()
    os.close(terminal)
    if program.returncode:
        raise RuntimeError(f"{command} failed:\n{output.decode()}")
    return output.decode(), silent


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


if __name__ == "__main__":
    main()
