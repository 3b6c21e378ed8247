"""Hand-written cases: one block of matches, and the value of each measure for it, row by row."""

from __future__ import annotations

import doctest
import math
from itertools import pairwise

import numpy as np
import pytest

from sqlext.errors import DataError
from sqlext.pattern.measures import navigation
from sqlext.pattern.measures.navigation import (
    aggregate,
    classify,
    member_labels,
    members,
    navigate,
    output_rows,
    sequence_numbers,
)
from sqlext.pattern.measures.tails import unshared
from sqlext.pattern.task.task import CLASSIFIER, Aggregate, Navigation, Output, Spans, Tails, Values

A, B, C = 0, 1, 2
N = None
BOUNDS = np.array([0, 6, 8])
ONE_ROW, ALL_ROWS = Output(), Output(is_all_rows=True, shows_empty=True, shows_unmatched=True)

# rows      0   1   2   3   4   5 | 6   7
# match 0   A   B  {C}  B
# match 1                   ()
# match 2                           A   B
# unmatched                     5
SPANS = Spans(
    start=np.array([0, 4, 6]),
    number=np.array([1, 2, 1]),
    offset=np.array([0, 4, 4, 6]),
    label=np.array([A, B, C, B, A, B], np.int16),
    is_hidden=np.array([False, False, True, False, False, False]),
    unmatched=np.array([5]),
)
#    shown, ALL ROWS: 0  1  3 |  4 | 6  7 |  5

FIRST, LAST = True, False
NAVIGATIONS = {  # text: (navigation, ALL ROWS, ONE ROW)
    "x": (Navigation(argument=0), [0, 1, 3, N, 6, 7, N], [3, N, 7]),
    "FIRST(x)": (Navigation(argument=0, labels=N, from_first=FIRST), [0, 0, 0, N, 6, 6, N], [0, N, 6]),
    "FINAL LAST(x)": (Navigation(argument=0, is_final=True), [3, 3, 3, N, 7, 7, N], [3, N, 7]),
    "LAST(x, 1), hidden rows are seen": (
        Navigation(argument=0, labels=N, from_first=LAST, offset=1),
        [N, 0, 2, N, N, 6, N],
        [2, N, 6],
    ),
    "B.x": (Navigation(argument=0, labels=(B,)), [N, 1, 3, N, N, 7, N], [3, N, 7]),
    "C.x, hidden itself": (Navigation(argument=0, labels=(C,)), [N, N, 2, N, N, N, N], [2, N, N]),
    "FINAL C.x": (Navigation(argument=0, labels=(C,), is_final=True), [2, 2, 2, N, N, N, N], [2, N, N]),
    "FIRST(B.x), not before B is mapped": (
        Navigation(argument=0, labels=(B,), from_first=FIRST),
        [N, 1, 1, N, N, 7, N],
        [1, N, 7],
    ),
    "FIRST(B.x, 1)": (
        Navigation(argument=0, labels=(B,), from_first=FIRST, offset=1),
        [N, N, 3, N, N, N, N],
        [3, N, N],
    ),
    "FINAL FIRST(B.x, 1)": (
        Navigation(argument=0, labels=(B,), from_first=FIRST, offset=1, step=0, is_final=True),
        [3, 3, 3, N, N, N, N],
        [3, N, N],
    ),
    "FIRST(B.x, 2), beyond": (
        Navigation(argument=0, labels=(B,), from_first=FIRST, offset=2, step=0, is_final=True),
        [N] * 7,
        [N] * 3,
    ),
    "LAST(U.x, 1), U = (A, C)": (
        Navigation(argument=0, labels=(A, C), from_first=LAST, offset=1),
        [N, N, 0, N, N, N, N],
        [0, N, N],
    ),
    "no variable": (Navigation(argument=0, labels=()), [N] * 7, [N] * 3),
    "PREV(x), out of the partition": (Navigation(argument=0, step=-1), [N, 0, 2, N, N, 6, N], [2, N, 6]),
    "NEXT(x), not mapped": (Navigation(argument=0, step=1), [1, 2, 4, N, 7, N, N], [4, N, N]),
    "NEXT(x, 2)": (Navigation(argument=0, step=2), [2, 3, 5, N, N, N, N], [5, N, N]),
    "NEXT(x, 3), out at 6": (Navigation(argument=0, step=3), [3, 4, N, N, N, N, N], [N, N, N]),
    "NEXT(FIRST(B.x), 4)": (
        Navigation(argument=0, labels=(B,), from_first=FIRST, offset=0, step=4),
        [N, 5, 5, N, N, N, N],
        [5, N, N],
    ),
    "PREV(FINAL LAST(B.x), 3)": (
        Navigation(argument=0, labels=(B,), from_first=LAST, offset=0, step=-3, is_final=True),
        [0, 0, 0, N, N, N, N],
        [0, N, N],
    ),
}
CLASSIFIERS = {
    "CLASSIFIER()": (Navigation(argument=CLASSIFIER), [A, B, B, N, A, B, N], [B, N, B]),
    "PREV(CLASSIFIER()), hidden rows have one": (
        Navigation(argument=CLASSIFIER, step=-1),
        [N, A, C, N, N, A, N],
        [C, N, A],
    ),
    "NEXT(CLASSIFIER()), known ahead": (Navigation(argument=CLASSIFIER, step=1), [B, C, N, N, B, N, N], [N, N, N]),
    "NEXT(FIRST(CLASSIFIER()))": (
        Navigation(argument=CLASSIFIER, labels=N, from_first=FIRST, offset=0, step=1),
        [B, B, B, N, B, B, N],
        [B, N, B],
    ),
    "FINAL LAST(CLASSIFIER())": (Navigation(argument=CLASSIFIER, is_final=True), [B, B, B, N, B, B, N], [B, N, B]),
    "FIRST(CLASSIFIER(B))": (
        Navigation(argument=CLASSIFIER, labels=(B,), from_first=FIRST),
        [N, B, B, N, N, B, N],
        [B, N, B],
    ),
    "CLASSIFIER(U), U = (A, C)": (Navigation(argument=CLASSIFIER, labels=(A, C)), [A, A, C, N, A, A, N], [C, N, A]),
}
X = Values(np.array([1, 2, 4, 2, 16, 32, 64, 128]), np.array([1, 1, 1, 1, 1, 1, 1, 0], bool))
NAN, INF = math.nan, math.inf
Y = Values(np.array([NAN, 2.0, -0.5, NAN, 0.0, 0.0, INF, -1.0]))
AGGREGATES = {
    "COUNT(*)": (Aggregate(function="count"), N, [1, 2, 4, 0, 1, 2, N], [4, 0, 2]),
    "FINAL COUNT(B.*)": (Aggregate(function="count", labels=(B,), is_final=True), N, [2, 2, 2, 0, 1, 1, N], [2, 0, 1]),
    "COUNT(x), not NULLs": (Aggregate(function="count", argument=0), X, [1, 2, 4, 0, 1, 1, N], [4, 0, 1]),
    "COUNT(DISTINCT x)": (
        Aggregate(function="count", argument=0, is_distinct=True), X, [1, 2, 3, 0, 1, 1, N], [3, 0, 1]
    ),
    "SUM(x)": (Aggregate(function="sum", argument=0), X, [1, 3, 9, N, 64, 64, N], [9, N, 64]),
    "SUM(DISTINCT x)": (
        Aggregate(function="sum", argument=0, is_distinct=True), X, [1, 3, 7, N, 64, 64, N], [7, N, 64]
    ),
    "FINAL SUM(B.x)": (
        Aggregate(function="sum", argument=0, labels=(B,), is_final=True), X, [4, 4, 4, N, N, N, N], [4, N, N]
    ),
    "AVG(B.x)": (Aggregate(function="avg", argument=0, labels=(B,)), X, [N, 2.0, 2.0, N, N, N, N], [2.0, N, N]),
    "MIN(y), NaN is the greatest": (
        Aggregate(function="min", argument=0), Y, [NAN, 2.0, -0.5, N, INF, -1.0, N], [-0.5, N, -1.0]
    ),
    "MAX(y)": (Aggregate(function="max", argument=0), Y, [NAN, NAN, NAN, N, INF, INF, N], [NAN, N, INF]),
    "COUNT(DISTINCT y), NaN is NaN": (
        Aggregate(function="count", argument=0, is_distinct=True), Y, [1, 2, 3, 0, 1, 2, N], [3, 0, 2]
    ),
    "COUNT(DISTINCT CLASSIFIER())": (
        Aggregate(function="count", argument=CLASSIFIER, is_distinct=True), N, [1, 2, 3, 0, 1, 2, N], [3, 0, 2]
    ),
    "MIN(CLASSIFIER()), names Z, Y, X": (
        Aggregate(function="min", argument=CLASSIFIER), Values(np.array([2, 1, 0])), [2, 1, 0, N, 2, 1, N], [0, N, 1]
    ),
}  # fmt: skip


def listed(values: np.ndarray, valid: np.ndarray | None) -> list:
    assert valid is not None
    return [value if is_valid else None for value, is_valid in zip(values.tolist(), valid.tolist())]


@pytest.mark.parametrize("measure, all_rows, one_row", NAVIGATIONS.values(), ids=NAVIGATIONS)
def test_a_navigation_reads_these_rows(measure, all_rows, one_row):
    for output, expected in ((ALL_ROWS, all_rows), (ONE_ROW, one_row)):
        row = navigate(measure, SPANS, output_rows(SPANS, output), BOUNDS)
        assert listed(row, row >= 0) == expected


@pytest.mark.parametrize("measure, all_rows, one_row", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_a_classifier_has_these_labels(measure, all_rows, one_row):
    for output, expected in ((ALL_ROWS, all_rows), (ONE_ROW, one_row)):
        label = classify(measure, SPANS, output_rows(SPANS, output), BOUNDS)
        assert listed(label, label >= 0) == expected


@pytest.mark.parametrize("measure, column, all_rows, one_row", AGGREGATES.values(), ids=AGGREGATES)
def test_an_aggregate_has_these_values(measure, column, all_rows, one_row):
    for output, expected in ((ALL_ROWS, all_rows), (ONE_ROW, one_row)):
        result = aggregate(measure, column, SPANS, output_rows(SPANS, output))
        assert repr(listed(result.values, result.valid)) == repr(expected)  # repr: NaN equals itself


# Matches that overlap and share labels: AFTER MATCH SKIP TO NEXT ROW, PATTERN (A B+ {- C -} | B+ C? | …).
#
# rows      0   1   2   3   4   5 | 6   7
# match 0   A   B   B  {C}  A   B          its own
# match 1       A   B  {C}  A   B          one row of its own, then as match 0
# match 2           B  {C}  A   B          as match 0
# match 3               A   B   B          own rows 3 and 4, then as match 0
# match 4                   B   B          as match 3, whose tail is that of match 0
# match 5                         | B   B  its own
# match 6                         |     ()
OVERLAPS = Spans(
    start=np.array([0, 1, 2, 3, 4, 6, 7]),
    number=np.array([1, 2, 3, 4, 5, 1, 2]),
    offset=np.array([0, 6, 7, 7, 9, 9, 11, 11]),
    label=np.array([A, B, B, C, A, B, A, A, B, B, B], np.int16),
    is_hidden=np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], bool),
    unmatched=np.zeros(0, np.int64),
    tails=Tails(
        match=np.array([-1, 0, 0, 0, 3, -1, -1]),
        at=np.array([-1, 2, 2, 5, 8, -1, -1]),
        length=np.array([6, 5, 4, 3, 2, 2, 0]),
    ),
)
BIG = Values(np.array([-5, 2**63 - 4, 2, 1, 1, -1, 2**63 - 1, -1]))
TENTHS = Values(np.array([0.1, 0.2, 0.3, 1e16, 0.4, 0.1, 1.0, 2.0]))
ZEROS = Values(np.array([1.0, 1.0, 1.0, 1.0, -0.0, 0.0, 0.0, -0.0]))
OVERLAP_ROWS = {  # navigations
    "x": (Navigation(argument=0), [5, 5, 5, 5, 5, 7, N]),
    "FIRST(x)": (Navigation(argument=0, labels=N, from_first=FIRST), [0, 1, 2, 3, 4, 6, N]),
    "FIRST(x, 3)": (Navigation(argument=0, labels=N, from_first=FIRST, offset=3), [3, 4, 5, N, N, N, N]),
    "LAST(x, 3)": (Navigation(argument=0, labels=N, from_first=LAST, offset=3), [2, 2, 2, N, N, N, N]),
    "FIRST(A.x)": (Navigation(argument=0, labels=(A,), from_first=FIRST), [0, 1, 4, 3, N, N, N]),
    "FIRST(A.x, 1)": (Navigation(argument=0, labels=(A,), from_first=FIRST, offset=1), [4, 4, N, N, N, N, N]),
    "LAST(B.x)": (Navigation(argument=0, labels=(B,)), [5, 5, 5, 5, 5, 7, N]),
    "LAST(B.x, 1)": (Navigation(argument=0, labels=(B,), from_first=LAST, offset=1), [2, 2, 2, 4, 4, 6, N]),
    "LAST(B.x, 2)": (Navigation(argument=0, labels=(B,), from_first=LAST, offset=2), [1, N, N, N, N, N, N]),
    "LAST(U.x, 1), U = (A, C)": (
        Navigation(argument=0, labels=(A, C), from_first=LAST, offset=1),
        [3, 3, 3, N, N, N, N],
    ),
    "NEXT(C.x)": (Navigation(argument=0, labels=(C,), step=1), [4, 4, 4, N, N, N, N]),
    "PREV(FIRST(B.x), 2)": (
        Navigation(argument=0, labels=(B,), from_first=FIRST, offset=0, step=-2),
        [N, 0, 0, 2, 2, N, N],
    ),
}
OVERLAP_LABELS = {
    "CLASSIFIER()": (Navigation(argument=CLASSIFIER), [B, B, B, B, B, B, N]),
    "FIRST(CLASSIFIER())": (Navigation(argument=CLASSIFIER, labels=N, from_first=FIRST), [A, A, B, A, B, B, N]),
    "FIRST(CLASSIFIER(), 1)": (
        Navigation(argument=CLASSIFIER, labels=N, from_first=FIRST, offset=1),
        [B, B, C, B, B, B, N],
    ),
    "PREV(CLASSIFIER())": (Navigation(argument=CLASSIFIER, step=-1), [A, A, A, B, B, B, N]),
    "PREV(FIRST(CLASSIFIER()))": (
        Navigation(argument=CLASSIFIER, labels=N, from_first=FIRST, offset=0, step=-1),
        [N, N, N, N, N, N, N],
    ),
    "NEXT(FIRST(CLASSIFIER(A)))": (
        Navigation(argument=CLASSIFIER, labels=(A,), from_first=FIRST, offset=0, step=1),
        [B, B, B, B, N, N, N],
    ),
}
OVERLAP_AGGREGATES = {
    "COUNT(*)": (Aggregate(function="count"), N, [6, 5, 4, 3, 2, 2, 0]),
    "COUNT(B.*)": (Aggregate(function="count", labels=(B,)), N, [3, 2, 2, 2, 2, 2, 0]),
    "COUNT(x)": (Aggregate(function="count", argument=0), X, [6, 5, 4, 3, 2, 1, 0]),
    "COUNT(DISTINCT x)": (Aggregate(function="count", argument=0, is_distinct=True), X, [5, 4, 4, 3, 2, 1, 0]),
    "SUM(x)": (Aggregate(function="sum", argument=0), X, [57, 56, 54, 50, 48, 64, N]),
    "SUM(A.x)": (Aggregate(function="sum", argument=0, labels=(A,)), X, [17, 18, 16, 2, N, N, N]),
    "SUM(DISTINCT x)": (Aggregate(function="sum", argument=0, is_distinct=True), X, [55, 54, 54, 50, 48, 64, N]),
    "AVG(B.x)": (Aggregate(function="avg", argument=0, labels=(B,)), X, [38 / 3, 18.0, 18.0, 24.0, 24.0, 64.0, N]),
    "SUM(A.x), near the end of 64 bits": (
        Aggregate(function="sum", argument=0, labels=(A,)), BIG, [-4, 2**63 - 3, 1, 1, N, N, N]
    ),
    "AVG(x), beyond whole float64": (
        Aggregate(function="avg", argument=0, labels=(A,)), BIG, [-2.0, 2.0**62, 1.0, 1.0, N, N, N]
    ),
    "SUM(t), rounded from the left": (
        Aggregate(function="sum", argument=0), TENTHS,
        [0.1 + 0.2 + 0.3 + 1e16 + 0.4 + 0.1, 0.2 + 0.3 + 1e16 + 0.4 + 0.1, 0.3 + 1e16 + 0.4 + 0.1, 1e16 + 0.4 + 0.1,
         0.4 + 0.1, 3.0, N]
    ),
    "SUM(B.t), of which some are whole": (
        Aggregate(function="sum", argument=0, labels=(B,)), TENTHS,
        [0.2 + 0.3 + 0.1, 0.3 + 0.1, 0.3 + 0.1, 0.4 + 0.1, 0.4 + 0.1, 3.0, N]
    ),
    "SUM(C.y), whole floats": (
        Aggregate(function="sum", argument=0, labels=(C,)), TENTHS, [1e16, 1e16, 1e16, N, N, N, N]
    ),
    "MIN(y)": (Aggregate(function="min", argument=0), Y, [-0.5, -0.5, -0.5, 0.0, 0.0, -1.0, N]),
    "MAX(y)": (Aggregate(function="max", argument=0), Y, [NAN, NAN, NAN, NAN, 0.0, INF, N]),
    "MIN(z), the first zero": (Aggregate(function="min", argument=0), ZEROS, [-0.0, -0.0, -0.0, -0.0, -0.0, 0.0, N]),
    "MAX(z), the first zero": (Aggregate(function="max", argument=0), ZEROS, [1.0, 1.0, 1.0, 1.0, -0.0, 0.0, N]),
    "MAX(A.x)": (Aggregate(function="max", argument=0, labels=(A,)), X, [16, 16, 16, 2, N, N, N]),
    "MIN(DISTINCT x)": (Aggregate(function="min", argument=0, is_distinct=True), X, [1, 2, 2, 2, 16, 64, N]),
    "COUNT(DISTINCT CLASSIFIER())": (
        Aggregate(function="count", argument=CLASSIFIER, is_distinct=True), N, [3, 3, 3, 2, 1, 1, 0]
    ),
    "MIN(CLASSIFIER()), names Z, Y, X": (
        Aggregate(function="min", argument=CLASSIFIER), Values(np.array([2, 1, 0])), [0, 0, 0, 1, 1, 1, N]
    ),
}  # fmt: skip
OVERLAP_MEMBERS = {
    "all": (N, [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [2, 3, 4, 5], [3, 4, 5], [4, 5], [6, 7], []]),
    "A": ((A,), [[0, 4], [1, 4], [4], [3], [], [], []]),
    "B": ((B,), [[1, 2, 5], [2, 5], [2, 5], [4, 5], [4, 5], [6, 7], []]),
}


@pytest.mark.parametrize("measure, rows", OVERLAP_ROWS.values(), ids=OVERLAP_ROWS)
def test_navigation_of_matches_that_share_labels_reads_these_rows(measure, rows):
    row = navigate(measure, OVERLAPS, output_rows(OVERLAPS, ONE_ROW), BOUNDS)
    assert listed(row, row >= 0) == rows


@pytest.mark.parametrize("measure, labels", OVERLAP_LABELS.values(), ids=OVERLAP_LABELS)
def test_classifier_of_matches_that_share_labels_has_these_labels(measure, labels):
    label = classify(measure, OVERLAPS, output_rows(OVERLAPS, ONE_ROW), BOUNDS)
    assert listed(label, label >= 0) == labels


@pytest.mark.parametrize("measure, column, expected", OVERLAP_AGGREGATES.values(), ids=OVERLAP_AGGREGATES)
def test_aggregate_of_matches_that_share_labels_has_these_values(measure, column, expected):
    result = aggregate(measure, column, OVERLAPS, output_rows(OVERLAPS, ONE_ROW))
    assert repr(listed(result.values, result.valid)) == repr(expected)


@pytest.mark.parametrize("labels, rows", OVERLAP_MEMBERS.values(), ids=OVERLAP_MEMBERS)
def test_members_of_matches_that_share_labels_are_these_rows(labels, rows):
    measure, out = Aggregate(function="array_agg", argument=0, labels=labels), output_rows(OVERLAPS, ONE_ROW)
    row, list_bounds = members(measure, OVERLAPS, out)
    assert [row[a:b].tolist() for a, b in pairwise(list_bounds)] == rows
    plain = unshared(OVERLAPS, np.arange(7))
    assert (member_labels(measure, OVERLAPS, out) == member_labels(measure, plain, output_rows(plain, ONE_ROW))).all()


def test_matches_that_share_labels_have_their_sequence_numbers_and_are_shown_whole():
    assert listed(*sequence_numbers(OVERLAPS, output_rows(OVERLAPS, ONE_ROW))) == [6, 5, 4, 3, 2, 2, N]
    with pytest.raises(ValueError, match="shown whole"):
        output_rows(OVERLAPS, ALL_ROWS)


def test_a_sum_over_shared_labels_leaves_64_bits_only_where_its_own_rows_do():
    arguments = Aggregate(function="sum", argument=0), BIG, OVERLAPS, output_rows(OVERLAPS, ONE_ROW)
    with pytest.raises(DataError, match="match number 2"):  # match number 1 begins with -5
        aggregate(*arguments)
    wrapped = [
        int(np.array(BIG.values[a:b]).sum()) for a, b in ((0, 6), (1, 6), (2, 6), (3, 6), (4, 6), (6, 8), (7, 7))
    ]
    assert aggregate(*arguments, is_ansi=False).values.tolist() == wrapped


def test_sums_that_need_every_row_are_computed_in_groups():
    """Three matches of 600,000 rows, each a suffix of the one before."""
    n = 600_000
    tails = Tails(np.array([-1, 0, 0]), np.array([-1, 1, 2]), np.array([n, n - 1, n - 2]))
    nothing = np.zeros(0, np.int64)
    offset, label = np.array([0, n, n, n]), np.zeros(n, np.int16)
    spans = Spans(
        start=np.arange(3),
        number=np.arange(3),
        offset=offset,
        label=label,
        is_hidden=None,
        unmatched=nothing,
        tails=tails,
    )
    column = Values(np.arange(n) % 7 * 1.5)
    counted = aggregate(
        Aggregate(function="count", argument=0, is_distinct=True), column, spans, output_rows(spans, ONE_ROW)
    )
    summed = aggregate(Aggregate(function="sum", argument=0), column, spans, output_rows(spans, ONE_ROW))
    assert counted.values.tolist() == [7, 7, 7]
    assert summed.values.tolist() == [column.values[i:].cumsum()[-1] for i in range(3)]


@pytest.mark.parametrize(
    "output, rows",
    [
        (Output(), [0, 4, 6]),
        (Output(shows_empty=False), [0, 4, 6]),  # ONE ROW PER MATCH always shows empty matches
        (Output(is_all_rows=True), [0, 1, 3, 4, 6, 7]),
        (Output(is_all_rows=True, shows_empty=False), [0, 1, 3, 6, 7]),
        (Output(is_all_rows=True, shows_unmatched=True), [0, 1, 3, 4, 6, 7, 5]),
    ],
)
def test_the_result_has_these_rows(output, rows):
    assert output_rows(SPANS, output).row.tolist() == rows


def test_sequence_numbers_count_hidden_rows():
    assert listed(*sequence_numbers(SPANS, output_rows(SPANS, ALL_ROWS))) == [1, 2, 4, N, 1, 2, N]
    assert listed(*sequence_numbers(SPANS, output_rows(SPANS, ONE_ROW))) == [4, N, 2]


def test_a_block_without_matches_shows_only_its_unmatched_rows():
    nothing = np.zeros(0, np.int64)
    spans = Spans(
        start=nothing,
        number=nothing,
        offset=np.array([0]),
        label=np.zeros(0, np.int16),
        is_hidden=None,
        unmatched=np.array([5]),
    )
    for output, count in ((ONE_ROW, 0), (ALL_ROWS, 1)):
        out = output_rows(spans, output)
        for labels in (None, (A,)):
            for is_final in (False, True):
                assert (
                    navigate(Navigation(argument=0, labels=labels, is_final=is_final), spans, out, BOUNDS).tolist()
                    == [-1] * count
                )
                total = aggregate(
                    Aggregate(function="sum", argument=0, labels=labels, is_final=is_final), X, spans, out
                )
                assert listed(total.values, total.valid) == [N] * count
                assert members(Aggregate(function="array_agg", argument=0, labels=labels), spans, out)[1].tolist() == [
                    0
                ] * (count + 1)


def test_the_order_of_output_rows_does_not_change_their_values():
    out = output_rows(SPANS, ALL_ROWS)
    order = np.array([5, 2, 0, 6, 1, 4, 3, 2])
    shuffled = navigation.OutputRows(out.row[order], out.match[order], out.end[order])
    measure = Navigation(argument=0, labels=(B,), step=-1)
    assert (navigate(measure, SPANS, shuffled, BOUNDS) == navigate(measure, SPANS, out, BOUNDS)[order]).all()
    total = Aggregate(function="sum", argument=0)
    assert (aggregate(total, X, SPANS, shuffled).values == aggregate(total, X, SPANS, out).values[order]).all()


TOP = 2**63 - 1


@pytest.mark.parametrize(
    "column, sum_of_them",
    [([TOP - 1, 1], TOP), ([TOP, 1], N), ([-TOP, -1], -TOP - 1), ([-TOP, -2], N), ([TOP, 1, -1], N)],
    ids=["in at the top", "out at the top", "in at the bottom", "out at the bottom", "out on the way"],
)
def test_a_sum_of_integers_stays_in_64_bits_or_is_an_error(column, sum_of_them):
    n = len(column)
    spans = Spans(
        start=np.array([0]),
        number=np.array([7]),
        offset=np.array([0, n]),
        label=np.zeros(n, np.int16),
        is_hidden=None,
        unmatched=np.zeros(0, np.int64),
    )
    arguments = Aggregate(function="sum", argument=0), Values(np.array(column)), spans, output_rows(spans, ONE_ROW)
    wrapped = (sum(column) + 2**63) % 2**64 - 2**63
    assert aggregate(*arguments, is_ansi=False).values.tolist() == [wrapped]
    if sum_of_them is not None:
        assert aggregate(*arguments).values.tolist() == [sum_of_them]
        return
    with pytest.raises(DataError, match="match number 7") as raised:
        aggregate(*arguments)
    assert raised.value.error_class == "SQLEXT_ARITHMETIC_OVERFLOW"


def test_an_average_of_large_integers_does_not_overflow():
    spans = Spans(
        start=np.array([0]),
        number=np.array([1]),
        offset=np.array([0, 2]),
        label=np.zeros(2, np.int16),
        is_hidden=None,
        unmatched=np.zeros(0, np.int64),
    )
    average = aggregate(
        Aggregate(function="avg", argument=0), Values(np.array([TOP, TOP])), spans, output_rows(spans, ONE_ROW)
    )
    assert average.values.tolist() == [2.0**63]


def test_distinct_values_of_a_long_match_are_counted_once_each():
    n = 50_000
    keys = np.arange(n) % 7_919 * 2**40  # equal low bits
    spans = Spans(
        start=np.array([0]),
        number=np.array([1]),
        offset=np.array([0, n]),
        label=np.zeros(n, np.int16),
        is_hidden=None,
        unmatched=np.zeros(0, np.int64),
    )
    out = output_rows(spans, Output(is_all_rows=True))
    for column in (keys, keys.astype(np.float64)):
        counted = aggregate(Aggregate(function="count", argument=0, is_distinct=True), Values(column), spans, out)
        assert (counted.values == np.minimum(np.arange(n) + 1, 7_919)).all()


def test_all_nans_are_one_distinct_value_and_both_zeros_are_one():
    bits = np.array([0x7FF8 << 48, (0xFFF8 << 48) + 1, (0x7FF0 << 48) + 1, 0x7FF0 << 48, 0, 1 << 63], np.uint64)
    spans = Spans(
        start=np.array([0]),
        number=np.array([1]),
        offset=np.array([0, 6]),
        label=np.zeros(6, np.int16),
        is_hidden=None,
        unmatched=np.zeros(0, np.int64),
    )
    out = output_rows(spans, Output(is_all_rows=True))
    counted = aggregate(
        Aggregate(function="count", argument=0, is_distinct=True), Values(bits.view(np.float64)), spans, out
    )
    assert counted.values.tolist() == [1, 1, 1, 2, 3, 3]  # quiet, negative, signalling NaN; infinity; 0.0, -0.0


def test_sums_and_averages_need_an_argument_and_other_functions_are_not_fast():
    out = output_rows(SPANS, ONE_ROW)
    with pytest.raises(ValueError, match="sum needs an argument"):
        aggregate(Aggregate(function="sum"), None, SPANS, out)
    with pytest.raises(ValueError, match="array_agg is not one of"):
        aggregate(Aggregate(function="array_agg", argument=0), X, SPANS, out)


def test_the_examples_in_the_docstrings_run():
    assert doctest.testmod(navigation).failed == 0
