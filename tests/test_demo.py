"""The demo gives the same results as pandas, which computes them in another way, and prints plain text into a pipe."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from rich.console import Console

from sqlext.cli import demo
from sqlext.cli.main import main

HALF_AN_HOUR, HOUR = pd.Timedelta("30min"), pd.Timedelta("1h")


@pytest.fixture(scope="module")
def printed(spark):
    """The text that the tour prints into a pipe. Its tables exist until the tests of this module end."""
    sink = io.StringIO()
    demo.tour(spark, Console(file=sink, width=120))
    yield sink.getvalue()
    for table in (demo.READINGS, demo.CRASHES):
        spark.sql(f"DROP TABLE {table}")


@pytest.fixture(scope="module")
def readings():
    """The rows of the file in the order of the clause: rows of one minute by the column that it reads."""
    rows = pd.read_csv(demo.DATA, parse_dates=["time"])
    return rows.sort_values(["time", "mg_dl"], ignore_index=True)


def crashes_backwards(readings):
    """The crashes, searched from each first reading below 70 back over the fall to the high before it."""
    time, mg_dl = readings["time"], readings["mg_dl"]
    for low in range(1, len(readings)):
        if not mg_dl[low] < 70 <= mg_dl[low - 1]:
            continue
        last = low - 1
        while last >= 0 and 70 <= mg_dl[last] <= 180:
            last -= 1
        if last < 0 or mg_dl[last] < 70:
            continue
        first = last
        while first > 0 and mg_dl[first - 1] > 180 and time[first] - time[first - 1] <= HALF_AN_HOUR:
            first -= 1
        end = low
        while end < len(readings) and mg_dl[end] < 70:
            end += 1
        if time[low] - time[last] <= 3 * HOUR and time[last] - time[first] >= HOUR:
            yield (
                time[first], (time[last] - time[first]) // pd.Timedelta("1min"), mg_dl[first : last + 1].max(),
                time[low], (time[low] - time[last]) // pd.Timedelta("1min"), mg_dl[low:end].min(),
            )  # fmt: skip


def test_the_file_has_the_readings_that_its_note_describes(readings):
    assert len(readings) == 52_281
    assert (readings["mg_dl"].min(), readings["mg_dl"].max()) == (40, 400)
    assert readings["time"].duplicated().sum() == 3
    assert (demo.DATA.parent / "README.md").read_text().count("Public domain") == 1


def test_the_crashes_are_those_of_pandas(spark, printed, readings):
    rows = [tuple(row) for row in spark.table(demo.CRASHES).orderBy("high_from").collect()]
    assert rows == list(crashes_backwards(readings))
    assert len(rows) == 34


def test_the_gaps_are_the_longest_of_pandas(spark, printed, readings):
    silence = readings["time"].diff()
    longest = silence[silence > HALF_AN_HOUR].nlargest(5)
    rows = spark.sql(demo.STEPS[0].sql).collect()
    assert [row.back_at for row in rows] == readings["time"][longest.index].to_list()
    assert [row.hours for row in rows] == (longest // HOUR).to_list()


def test_the_months_are_those_that_pandas_counts(spark, printed, readings):
    starts = pd.Series([crash[0] for crash in crashes_backwards(readings)])
    rows = spark.sql(demo.STEPS[3].sql).collect()
    assert {row.month: row.crashes for row in rows} == starts.dt.strftime("%Y-%m").value_counts().to_dict()
    assert sum(row.of_these_from_lunch for row in rows) == starts.dt.hour.between(11, 13).sum()


def test_the_output_in_a_pipe_is_plain_text_with_the_sql_the_rows_and_the_strategy(printed):
    assert "\x1b" not in printed
    assert all(step.title in printed and step.sql.strip() in printed for step in demo.STEPS)
    assert "2010-07-22 20:26:00  2010-07-24 00:21:00" in printed
    assert "EXPLAIN MATCH: two_pass: " in printed
    assert "EXPLAIN MATCH: threads: " in printed


def test_a_session_with_another_warehouse_is_an_error_and_not_a_traceback(spark, tmp_path, capsys):
    assert main(["demo", "--warehouse", str(tmp_path)]) == 1
    assert "SESSION_WITH_OTHER_WAREHOUSE" in capsys.readouterr().err
