"""How long a clause over ten rows takes from the command line, with a server and without, in processor time and on the
clock.

    python -m benchmarks.second_start [--runs N]

The folder, the tables and the server are this program's own. The processor time is that of the command, and with a
server that of the fork is not in it.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from time import perf_counter

QUERY = "SELECT * FROM range(10) MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS id > 4)"
PROGRAM = (sys.executable, "-m", "sqlext")


def seconds(arguments: Sequence[str]) -> tuple[float, float]:
    """The seconds on the clock, and those of the processor, of a command. Raises CalledProcessError."""
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run([*PROGRAM, *arguments], stdout=subprocess.DEVNULL, check=True)
    took, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


def measure(runs: int) -> None:
    """Print the medians of so many commands of each kind."""
    kinds = {"run, with a server": [], "run, without": ["--no-server"]}
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"sqlext server start: {seconds(['server', 'start'])[0]:.1f} s")
    try:
        for kind, options in kinds.items():
            took = [seconds(["run", *options, "-e", QUERY]) for _ in range(runs)]
            clock, processor = (statistics.median(times) for times in zip(*took))
            print(f"{kind}: {clock:.2f} s on the clock, {processor:.2f} s of the processor, median of {runs}")
    finally:
        subprocess.run([*PROGRAM, "server", "stop"], check=False)
    print(f"load {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
        os.chdir(folder)
        measure(runs)


if __name__ == "__main__":
    main()
