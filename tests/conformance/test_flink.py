"""Flink's own CEP test cases, and random patterns with real Flink's answers (README.md here)."""

from __future__ import annotations

import pytest

from tests.sampling import sample

from .flink import (
    CASES,
    COLUMNS,
    Case,
    found_text,
    is_code,
    known_differences,
    rows_text,
    spark_query,
    stream_query,
    translate,
)
from .flink_pure import in_batch, is_in_order, run, streamed

DIFFERENT = known_differences()
RUNNABLE = [case for case in CASES if not is_code(case)]
IN_SPARK = [case for case in RUNNABLE if case.title not in DIFFERENT and case.events][::5]


def _is_every(case: Case) -> bool:
    return translate(case.calls).skip == "NO SKIP"


def _answers(case: Case) -> tuple[tuple, tuple]:
    """Our (matches, time-outs) and Flink's; no time-outs where the cases do not have Flink's."""
    matches, timeouts = run(case)
    if not (case.title.startswith("random") and translate(case.calls).within_ms is not None and _is_every(case)):
        return (matches, set()), (sorted(case.matches), set())
    return (matches, set(map(tuple, timeouts))), (sorted(case.matches), set(map(tuple, case.timeouts)))


@pytest.mark.parametrize("case", [case for case in RUNNABLE if not case.error], ids=lambda case: case.title)
def test_a_pattern_of_flink_gives_flinks_matches(case):
    """But for the listed differences, which must differ: else the list is out of date."""
    actual, expected = _answers(case)
    if case.title in DIFFERENT:
        assert actual != expected, "this is no difference any more: delete it from differences.txt"
    else:
        assert actual == expected


def test_enough_is_equal():
    every, one = (
        [case.title not in DIFFERENT for case in RUNNABLE if not case.error and _is_every(case) == is_every]
        for is_every in (True, False)
    )
    assert sum(every) / len(every) >= 0.97
    assert sum(one) / len(one) >= 0.90


@pytest.mark.parametrize("case", [case for case in RUNNABLE if case.error], ids=lambda case: case.title)
def test_a_pattern_on_which_flink_hangs_gives_what_the_reference_gives(case):
    answer = run(case)
    assert answer[0]
    assert answer == run(case, strategy="reference")


@pytest.mark.parametrize("case", RUNNABLE[::9], ids=lambda case: case.title)
def test_the_reference_gives_the_same(case):
    assert run(case, strategy="reference") == run(case)


ORDERED = [case for case in RUNNABLE if case.events and is_in_order(case)]


def test_all_cases_but_one_come_in_the_order_of_their_times():
    assert len(ORDERED) == len([case for case in RUNNABLE if case.events]) - 1


@pytest.mark.random
@pytest.mark.parametrize("case", ORDERED, ids=lambda case: case.title)
def test_a_stream_gives_what_batch_gives_as_far_as_it_is_decided(case):
    """The first matches of the batch after each event; with WITHIN, and with NO SKIP, all of them when time is over.
    Otherwise a later row could prolong the last match, so all but this one."""
    batch, steps = in_batch(case), list(streamed(case))
    for matches, timeouts in steps:
        assert matches == batch[0][: len(matches)]
        assert all(t in batch[1] for t in timeouts)
    is_over = translate(case.calls).within_ms is not None or _is_every(case)
    assert steps[-1] == batch if is_over else len(steps[-1][0]) >= len(batch[0]) - 1


AS_STREAM = ["random 34", "random 39", "random 169", "random 184", "random 28"]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_same_as_a_stream_through_sql(spark):
    """Matches and time-outs of a few cases, as one query; a row after all of them ends their time."""
    chosen = [case for case in RUNNABLE if case.title in sample(AS_STREAM, 2)]
    spark.conf.set("sqlext.stream.buckets", "1")
    texts = []
    for i, case in enumerate(chosen):
        values = f"VALUES {rows_text(case)}, (99, 10000, -1, NULL, NULL, NULL, NULL) AS t({COLUMNS})"
        columns = COLUMNS.replace("ts", "timestamp_millis(1000 + ts) AS ts")
        spark.sql(f"CREATE TABLE flink_case{i} AS SELECT {columns} FROM {values}")
        relation = f"STREAM flink_case{i} WATERMARK ts DELAY OF INTERVAL 1 SECONDS"
        texts.append(stream_query(case, i, relation))
    spark.conf.set("sqlext.stream.trigger", "available-now")
    spark.sql("CREATE STREAMING TABLE flink_found AS " + "\nUNION ALL\n".join(texts))
    found: list[tuple[list[str], list[str]]] = [([], []) for _ in chosen]
    for row in spark.table("flink_found").collect():
        found[row.n][row.o].append(found_text(chosen[row.n], row))
    for name in ("sqlext.stream.buckets", "sqlext.stream.trigger"):
        spark.conf.unset(name)
    for name in (*(f"flink_case{i}" for i in range(len(chosen))), "flink_found"):
        spark.sql(f"DROP TABLE {name}")
    for case, (matches, timeouts) in zip(chosen, found):
        assert sorted(matches) == sorted(case.matches), case.title
        assert set(timeouts) == {partial for _, partial in case.timeouts} or not _is_every(case), case.title


@pytest.mark.spark
def test_the_same_through_sql(spark):
    """A sample, as one statement."""
    texts = [spark_query(case, i) for i, case in enumerate(IN_SPARK)]
    found: list[list[str]] = [[] for _ in IN_SPARK]
    for row in spark.sql("\nUNION ALL\n".join(texts)).collect():
        found[row.n].append(found_text(IN_SPARK[row.n], row))
    wrong = [(c.title, sorted(f), sorted(c.matches)) for c, f in zip(IN_SPARK, found) if sorted(f) != sorted(c.matches)]
    assert not wrong, wrong[0]
