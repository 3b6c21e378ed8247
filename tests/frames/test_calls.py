"""Calls of the functions on DataFrames, with their rows or their error: `calls.txt`."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

import sqlext
from sqlext import SqlExtError, UnsupportedError, asof_join, interval_join, match_recognize, windows
from sqlext.rewriter.text.composed import Argument

CASE = re.compile(r"^== (.*)\n((?:.*\n)*?)(rows|error) ?(.*)\n((?:(?!== ).*\n?)*)", re.MULTILINE)
CALLS = CASE.findall((Path(__file__).parent / "calls.txt").read_text("utf-8"))
FRAMES = {
    "ticks": "VALUES ('a', 1, 5), ('a', 2, 4), ('a', 3, 6) AS t(k, ts, v)",
    "events": "(SELECT k, timestamp_seconds(s) AS ts, v FROM VALUES ('a', 1, 5), ('a', 2, 4), ('a', 3, 6) t(k, s, v))",
    "odd": "VALUES ('a', 1, 5), ('a', 2, 4), ('a', 3, 6) AS t(`order`, `a.b`, `sp ``x`)",
    "more": "VALUES (1, 12, NULL), (1, NULL, 'z'), (1, 12, NULL), (2, 20, 'x'), (2, 20, 'y') AS t(ts, bid, note)",
    "quotes": "VALUES ('a', 1, 10), ('a', 2, 20), ('b', 2, 30) AS t(k, ts, bid)",
}


@pytest.fixture(scope="module")
def names(spark):
    frames = {name: spark.sql(f"SELECT * FROM {text}") for name, text in FRAMES.items()}
    functions = (match_recognize, asof_join, interval_join, windows, timedelta)
    return {**frames, **{function.__name__: function for function in functions}, "sqlext": sqlext}


def shown(frame) -> list[str]:
    cells = frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))).selectExpr("CAST(struct(*) AS STRING)").collect()
    return [", ".join(frame.columns), *sorted(row[0] for row in cells)]


@pytest.mark.parametrize(("code", "kind", "head", "tail"), [pytest.param(*c[1:], id=c[0]) for c in CALLS])
def test_a_call_gives_its_rows_or_its_error(names, code, kind, head, tail):
    expected = [head, *tail.strip("\n").splitlines()]
    if kind == "rows":
        assert shown(eval(code.strip(), names)) == expected
    else:
        with pytest.raises(SqlExtError) as raised:
            eval(code.strip(), names)
        message = re.sub(r" Did you mean one of the following.*", "", str(raised.value))  # in no certain order
        assert message.splitlines()[: len(expected)] == expected


def test_ties_are_equal_in_every_way_to_run_the_join(spark, tmp_path, names):
    """By workers, by Spark's window, by one worker that reads the files, of a stream and a table, and of streams."""
    folders = {name: str(tmp_path / name) for name in ("ticks", "more")}
    for name, folder in folders.items():
        names[name].selectExpr("*", "timestamp_seconds(ts) AS at").drop("ts").write.parquet(folder)
    ticks, more = (spark.read.parquet(folder) for folder in folders.values())
    expected = ["5, 12, null", "4, 20, y", "6, 20, y"]

    def joined(left, right):
        return asof_join(left, right, on="at").selectExpr("concat_ws(', ', v, bid, coalesce(note, 'null')) AS row")

    for setting in (("sqlext.read", "auto"), ("sqlext.read", "spark"), ("sqlext.order", "spark")):
        spark.sql(f"SET {setting[0]} = {setting[1]}")
        assert sorted(row.row for row in joined(ticks, more).collect()) == sorted(expected), setting
        spark.sql(f"RESET {setting[0]}")
    streams = [
        spark.readStream.schema(frame.schema).parquet(folder).withWatermark("at", "0 seconds")
        for frame, folder in zip((ticks, more), folders.values())
    ]
    assert "is its partner" not in sqlext.why(asof_join(ticks, more, on="at"), "r.note = 'x'")
    for right in (more, streams[1]):
        query = joined(streams[0], right).writeStream.format("memory").queryName("ties").trigger(availableNow=True)
        query.start().awaitTermination()
        rows = [row.row for row in spark.table("ties").collect()]
        assert set(rows) <= set(expected) and len(rows) >= 2
        spark.catalog.dropTempView("ties")


def test_an_error_of_a_running_query_names_the_argument(names):
    frame = match_recognize(
        names["ticks"], pattern="A", define={"A": "true"}, order_by="ts", measures={"x": "LAST(v) DIV (LAST(v) - 6)"}
    )
    with pytest.raises(Exception, match=r"(?s)DIVIDE_BY_ZERO.*in measures\[\"x\"\]\n  1 \| LAST\(v\) DIV") as raised:
        frame.collect()
    assert "helper" not in str(raised.value)


def test_explain_and_why_take_a_dataframe(names):
    frame = match_recognize(names["ticks"], pattern="A B", define={"B": "v > PREV(v)"}, order_by="ts")
    assert "0: label A" in sqlext.explain(frame)
    assert "matches                               1" in sqlext.explain(frame, analyze=True)
    assert "Row 2 (ts = 2) cannot be B" in sqlext.why(frame, "ts = 1")
    with pytest.raises(SqlExtError, match=r"in condition\n  1 \| t = 1"):
        sqlext.why(frame, "t = 1")
    with pytest.raises(SqlExtError, match="or windows returned"):
        sqlext.explain(names["ticks"])


def test_a_stream_gives_the_rows_of_the_batch_result(spark, tmp_path, names):
    events = names["events"]
    events.write.parquet(str(tmp_path / "events"))
    stream = spark.readStream.schema(events.schema).parquet(str(tmp_path / "events")).withWatermark("ts", "0 seconds")
    calls = {
        "matches": lambda rows: match_recognize(
            rows, pattern="A B", define={"B": "v < PREV(v)"}, partition_by="k", order_by="ts", measures={"x": "LAST(v)"}
        ),
        "firings": lambda rows: windows(
            rows, "tumble", on="ts", size="INTERVAL 2 SECONDS", aggregates={"n": "sum(v)"}, emit="EVERY 1 ROWS"
        ).where("window_start < timestamp_seconds(2)"),
        "nearest": lambda rows: asof_join(rows, rows, on="ts", by="k").where("ts < timestamp_seconds(3)"),
    }
    for name, call in calls.items():
        frame = call(stream)
        assert frame.isStreaming
        query = frame.writeStream.format("memory").queryName(f"frames_{name}").trigger(availableNow=True).start()
        query.awaitTermination()
        assert shown(spark.table(f"frames_{name}")) == shown(call(events))
        spark.catalog.dropTempView(f"frames_{name}")


def test_the_session_need_not_be_extended_and_keeps_no_view(spark):
    frame = spark.newSession().sql("SELECT * FROM VALUES (1), (2) AS t(v)")
    matches = match_recognize(frame, pattern="A B", define={"B": "true"}, order_by="v", measures={"n": "COUNT(*)"})
    assert shown(matches) == ["n", "{2}"]
    assert not sqlext.is_extended(frame.sparkSession) and frame.sparkSession.catalog.listTables() == []


@pytest.mark.parametrize("text", ["a)", "a; b", "(a", "a, b", "'a", "/* a", "`a", "", "a]", "f(a]", "-- a"])
def test_sql_text_cannot_end_the_argument(text):
    with pytest.raises(sqlext.ParseError) as raised:
        Argument.sql("define", text)
    assert raised.value.place is not None and raised.value.place.argument == "define"


def test_what_is_not_built_says_what_to_do(names):
    with pytest.raises(UnsupportedError, match="both without exact matches"):
        asof_join(names["ticks"], names["ticks"], on="ts", direction="nearest", allow_exact_matches=False)
