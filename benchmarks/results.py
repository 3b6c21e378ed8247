"""Measurements kept as JSON, one for each workload, size and runner, and RESULTS.md made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import stream_results
from benchmarks.joins import DUCKDB, FLINK, JOINS, SPARK, Join
from benchmarks.measure import Measurement
from benchmarks.runners import FLOOR, LEAD, OURS, PANDAS
from benchmarks.workload import Workload
from benchmarks.workloads import MILLION, WORKLOADS

HERE = Path(__file__).parent
JSON, REPORT = HERE / "results.json", HERE / "RESULTS.md"
NAMES = {LEAD: "`lead()` in Spark", PANDAS: "`applyInPandas` loop", "trino": "Trino", "flink": "Flink"}
JOIN_NAMES = {SPARK: "plain Spark", DUCKDB: "DuckDB", FLINK: "Flink, streaming"}
MAX_GROWTH = 1.2

Kept = dict  # a Measurement as a dict, with the "run" that it was made in


def load(path: Path = JSON) -> dict:
    """What is kept: "runs" by their number (machine, versions, …) and "measurements" by workload, rows and runner."""
    return json.loads(path.read_text()) if path.exists() else {"runs": {}, "measurements": {}}


def merge(kept: dict, run: dict, measurements: Iterable[Measurement]) -> dict:
    """`kept` with the measurements of a run in place of those of the same workload, rows and runner.

    Runs of which no measurement is left are dropped.
    """
    new = {f"{m.workload}/{m.rows}/{m.runner}": asdict(m) | {"run": run["start"]} for m in measurements}
    return _merged(kept, run, "measurements", new)


def merge_streams(kept: dict, run: dict, measured: Iterable[stream_results.Measured]) -> dict:
    """The same for streams, of which there is one for each workload and kind."""
    new = {f"{m.workload}/{m.kind}": asdict(m) | {"run": run["start"]} for m in measured}
    return _merged(kept, run, "streams", new)


def _merged(kept: dict, run: dict, part: str, new: dict) -> dict:
    found = kept | {part: dict(sorted((kept.get(part, {}) | new).items()))}
    runs = kept["runs"] | {run["start"]: run}
    used = {m["run"] for part in ("measurements", "streams") for m in found.get(part, {}).values()}
    return found | {"runs": {k: v for k, v in runs.items() if k in used}}


def save(kept: dict) -> None:
    JSON.write_text(json.dumps(kept, indent=1) + "\n")
    REPORT.write_text(report(kept))


class Figures:
    """Measurements by workload, rows and runner."""

    def __init__(self, kept: dict):
        self.all: list[Kept] = list(kept["measurements"].values())

    def of(self, workload: Workload | Join) -> list[Kept]:
        return sorted((m for m in self.all if m["workload"] == workload.name), key=lambda m: m["rows"])

    def at(self, workload: str, rows: int, runner: str) -> Kept | None:
        same = (m for m in self.all if (m["workload"], m["rows"], m["runner"]) == (workload, rows, runner))
        return next(same, None)


def report(kept: dict) -> str:
    figures = Figures(kept)
    parts = [HEAD, *map(run_line, kept["runs"].values()), "", *section(FLOORS, floor_lines(figures))]
    parts += section(GROWTH, growth_lines(figures)) + section(PEERS, peer_lines(figures))
    parts += section(JOINED, join_lines(figures))
    parts += section(stream_results.TEXT, stream_results.lines(kept.get("streams", {})))
    parts += [*section(SETTINGS, setting_lines(figures)), LACKS, *lack_lines()]
    return "\n".join(parts) + "\n"


def section(head: str, lines: Iterable[str]) -> list[str]:
    """A table with its heading; nothing if it has no lines."""
    found = list(lines)
    return [head.rstrip("\n"), *found, ""] if found else []


HEAD = """# Results

Made by `make bench`; all programs of a line ran in turn, in one process and one session, times are medians. Each result
was compared with the known one, or with that of every other program. The first run of each is apart. Ratios are those
of one run of the benchmark, never of two.
"""

FLOORS = """## Against the floor

The floor is what any matcher in Python workers pays: scan, shuffle and sort of the columns that the query reads, and a
`mapInArrow` that only counts rows; without PARTITION BY, one sorted partition. Memory: the JVM's is the largest so far
in its session and never shrinks; the workers' is the sum of their proportional shares. CPU is the processor time of
both together, which other programs on the machine disturb less.

| workload | rows | first run | ours | floor | ours / floor | goal | CPU ours / floor | JVM | workers |
|---|---|---|---|---|---|---|---|---|---|
"""

GROWTH = f"""## Growth

Time a row at 10 M rows against 1 M rows (goal: at most {MAX_GROWTH}).

| workload | 1 M rows | 10 M rows | ns a row at 1 M | ns a row at 10 M | growth |
|---|---|---|---|---|---|
"""

PEERS = """## Against others

The time of the other program and ours in the same turns. Trino is a real server, warm, on the same Delta tables; Flink
reads an export of them in its own fast format; `lead()` is the exact form in plain Spark SQL, where there is one.
Programs that restart their search at every row were given fewer rows. The loops were, too: "scaled" multiplies their
time by the rows that are missing.

| workload | rows | program | its time | ours | its time / ours | scaled |
|---|---|---|---|---|---|---|
"""

JOINED = """## Joins on time

Two tables of one day with as many rows each, called after their keys: 1,000, 10, none, or half of the rows with one
key. The range is ±60 s with 1,000 keys, ±600 ms with 10, ±200 ms without and with the hot key. Plain Spark has the same
JOIN with the range in ON; for ASOF it joins all earlier rows and takes `max_by`. It looks at all pairs of a key, so it
is given fewer rows where it would not end. DuckDB has two threads and reads the same files; it has an ASOF JOIN of its
own. Flink's interval join runs in streaming mode, on files sorted by time. What is computed is a count and three sums.

| workload | rows of each table | rows of the result | program | its time | ours | its time / ours | goal |
|---|---|---|---|---|---|---|---|
"""

SETTINGS = """## With other settings

| workload | rows | setting | its time | default | its time / default |
|---|---|---|---|---|---|
"""

LACKS = """## What Flink cannot express

| workload | why |
|---|---|"""


def run_line(run: dict) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    cold = f"cold start: session {run['session_s']:.1f} s, first clause {run['first_clause_s']:.1f} s"
    return f"- {run['start']}: {run['machine']}; {versions}; {run['runs']} runs; {cold}"


def floor_lines(figures: Figures) -> Iterator[str]:
    for w in WORKLOADS:
        for m in figures.of(w):
            base = figures.at(w.name, m["rows"], FLOOR)
            if m["runner"] == OURS and base is not None and m["rows"] >= w.rows:
                ratio = m["median_s"] / base["median_s"]
                times = " | ".join(f"{t:.2f} s" for t in (m["first_s"], m["median_s"], base["median_s"]))
                ratios = f"{marked(ratio, w.goal)} | {w.goal:g} | {m['cpu_s'] / base['cpu_s']:.2f}"
                memory = f"{m['jvm_mb']:,} MB | {m['workers_mb']:,} MB"
                yield f"| {w.name} | {m['rows']:,} | {times} | {ratios} | {memory} |"


def marked(ratio: float, most: float) -> str:
    """In bold what misses its goal."""
    return f"{ratio:.2f}" if ratio <= most else f"**{ratio:.2f}**"


def growth_lines(figures: Figures) -> Iterator[str]:
    for w in WORKLOADS:
        small, large = (figures.at(w.name, rows, OURS) for rows in (MILLION, 10 * MILLION))
        if small and large:
            times = [m["median_s"] for m in (small, large)]
            per_row = [1e9 * t / m["rows"] for t, m in zip(times, (small, large))]
            cells = [f"{t:.2f} s" for t in times] + [f"{t:,.0f}" for t in per_row]
            yield f"| {w.name} | {' | '.join(cells)} | {marked(per_row[1] / per_row[0], MAX_GROWTH)} |"


def peer_lines(figures: Figures) -> Iterator[str]:
    for w in WORKLOADS:
        for m in figures.of(w):
            if m["runner"] in NAMES:
                yield f"{compared(m, NAMES[m['runner']])} {scaled(figures, w, m)} |"


def join_lines(figures: Figures) -> Iterator[str]:
    for join in JOINS:
        for m in figures.of(join):
            if m["runner"] in JOIN_NAMES:
                yield join_line(join, m)


def join_line(join: Join, m: Kept) -> str:
    goal = join.goals.get(m["runner"])
    cells = [join.name, f"{m['rows']:,}", f"{m['result'][0]:,}" if m["result"] else "", JOIN_NAMES[m["runner"]]]
    cells += [f"{m[time]:.2f} s" for time in ("median_s", "ours_s")]
    ratio = m["median_s"] / m["ours_s"]
    met = goal is None or ratio >= goal
    cells.append(f"failed: {m['failure']}" if m["failure"] else f"{ratio:.2f}" if met else f"**{ratio:.2f}**")
    return f"| {' | '.join(cells)} | {'' if goal is None else f'{goal:.2g}'} |"


def scaled(figures: Figures, workload: Workload, measured: Kept) -> str:
    """What a loop measured at fewer rows would take for the workload's own, and that time over ours there."""
    ours = figures.at(workload.name, workload.rows, OURS)
    if measured["runner"] != PANDAS or measured["rows"] == workload.rows or ours is None:
        return ""
    time_s = measured["median_s"] * workload.rows / measured["rows"]
    return f"{time_s:.0f} s for {workload.rows:,} rows: {time_s / ours['median_s']:.1f}"


def setting_lines(figures: Figures) -> Iterator[str]:
    for w in WORKLOADS:
        for m in figures.of(w):
            for key, value in w.settings.get(m["runner"], {}).items():
                yield compared(m, f"`{key} = {value}`")


def compared(measured: Kept, name: str) -> str:
    theirs, ours = measured["median_s"], measured["ours_s"]
    cells = [measured["workload"], f"{measured['rows']:,}", name, f"{theirs:.2f} s", f"{ours:.2f} s"]
    ratio = f"failed: {measured['failure']}" if measured["failure"] else f"{theirs / ours:.1f}"
    return f"| {' | '.join(cells)} | {ratio} |"


def lack_lines() -> Iterator[str]:
    yield from (f"| {w.name} | {w.flink_lacks} |" for w in WORKLOADS if w.flink_lacks)
