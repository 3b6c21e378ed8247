"""The windows of random rows in Spark, without EMIT and when EMIT completes them, against their definition."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import datetime, timedelta

from tests.operators.emit.model import windows_of
from tests.sampling import SAMPLE

Row = tuple[str, int, int]  # key, second since 1970, id


def random_windows(seed: int) -> dict[str, list]:
    """The arguments of each function in seconds, as `windows_of` takes them; one slide is larger than its size."""
    pick = random.Random(seed)
    step, times, offset = pick.randint(1, 40), pick.randint(1, 6), pick.randint(-90, 90)
    small, large = sorted(pick.sample(range(1, 120), 2))
    return {
        "tumble": ["tumble", pick.randint(1, 300), offset],
        "hop": ["hop", small, large, offset],
        "far hop": ["hop", large, small, -offset],
        "cumulate": ["cumulate", step, step * times, offset],
        "session": ["session", pick.randint(1, 60)],
    }


def defined(windows: list, rows: list[Row]) -> dict[tuple, list[int]]:
    """The ids in each window of each key."""
    groups: dict[tuple, list[int]] = defaultdict(list)
    if windows[0] != "session":
        for key, second, number in rows:
            for start, end in windows_of(windows, second):
                groups[key, start, end].append(number)
        return groups
    sessions: list[tuple[str, int, int, list[int]]] = []
    for key, second, number in sorted(rows):
        last = sessions.pop() if sessions and sessions[-1][0] == key and second <= sessions[-1][2] else None
        start, ids = (second, []) if last is None else (last[1], last[3])
        sessions.append((key, start, second + windows[1], [*ids, number]))
    return {(key, start, end): ids for key, start, end, ids in sessions}


def query(name: str, windows: list, emit: str) -> str:
    kind, *numbers = windows
    data = "TABLE points PARTITION BY k" if kind == "session" else "TABLE points"
    arguments = ", ".join(f"INTERVAL '{n}' SECOND" for n in numbers)
    return f"""SELECT '{name}{emit}' AS name, k, window_start AS s, window_end AS e, sort_array(collect_list(id)) AS ids
      FROM {kind.upper()}({data}, DESCRIPTOR(ts), {arguments}) GROUP BY k, window_start, window_end {emit}"""


def test_windows_of_random_rows_are_those_of_the_definition(spark):
    pick = random.Random(seed := int(SAMPLE) if SAMPLE.isdigit() else 0)
    rows = [(pick.choice("ab"), pick.randint(-2000, 2000), number) for number in range(200)]
    begin, cases = datetime(1970, 1, 1), random_windows(seed)
    points = [(key, begin + timedelta(seconds=second), number) for key, second, number in rows]
    spark.createDataFrame([*points, ("a", None, -1)], "k STRING, ts TIMESTAMP, id INT").createOrReplaceTempView(
        "points"
    )
    try:
        texts = [query(name, windows, emit) for name, windows in cases.items() for emit in ("", "EMIT AFTER WATERMARK")]
        groups: dict[str, dict] = defaultdict(dict)
        for row in spark.sql("\nUNION ALL\n".join(texts)).collect():
            start, end = (int((time - begin).total_seconds()) for time in (row.s, row.e))
            groups[row.name][row.k, start, end] = row.ids
    finally:
        spark.catalog.dropTempView("points")
    for name, windows in cases.items():
        expected = {group: sorted(ids) for group, ids in defined(windows, rows).items()}
        assert groups[name] == expected, windows
        assert groups[f"{name}EMIT AFTER WATERMARK"] == expected, windows
