"""Hand-written cases: one block of matches, and what each measure gives for it, row by row."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

from sqlext.errors import DataError
from sqlext.pattern import navigation
from sqlext.pattern.navigation import aggregate, classify, members, navigate, output_rows, sequence_numbers
from sqlext.pattern.task import CLASSIFIER, Aggregate, Navigation, Output, Spans, Values

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
    "x": (Navigation(0), [0, 1, 3, N, 6, 7, N], [3, N, 7]),
    "FIRST(x)": (Navigation(0, N, FIRST), [0, 0, 0, N, 6, 6, N], [0, N, 6]),
    "FINAL LAST(x)": (Navigation(0, is_final=True), [3, 3, 3, N, 7, 7, N], [3, N, 7]),
    "LAST(x, 1), hidden rows are seen": (Navigation(0, N, LAST, 1), [N, 0, 2, N, N, 6, N], [2, N, 6]),
    "B.x": (Navigation(0, (B,)), [N, 1, 3, N, N, 7, N], [3, N, 7]),
    "C.x, hidden itself": (Navigation(0, (C,)), [N, N, 2, N, N, N, N], [2, N, N]),
    "FINAL C.x": (Navigation(0, (C,), is_final=True), [2, 2, 2, N, N, N, N], [2, N, N]),
    "FIRST(B.x, 1), which RUNNING does not hide": (Navigation(0, (B,), FIRST, 1), [3, 3, 3, N, N, N, N], [3, N, N]),
    "FINAL FIRST(B.x, 1)": (Navigation(0, (B,), FIRST, 1, 0, True), [3, 3, 3, N, N, N, N], [3, N, N]),
    "FIRST(B.x, 2), beyond": (Navigation(0, (B,), FIRST, 2, 0, True), [N] * 7, [N] * 3),
    "LAST(U.x, 1), U = (A, C)": (Navigation(0, (A, C), LAST, 1), [N, N, 0, N, N, N, N], [0, N, N]),
    "no variable": (Navigation(0, ()), [N] * 7, [N] * 3),
    "PREV(x), out of the partition": (Navigation(0, step=-1), [N, 0, 2, N, N, 6, N], [2, N, 6]),
    "NEXT(x), not mapped": (Navigation(0, step=1), [1, 2, 4, N, 7, N, N], [4, N, N]),
    "NEXT(x, 2)": (Navigation(0, step=2), [2, 3, 5, N, N, N, N], [5, N, N]),
    "NEXT(x, 3), out at 6": (Navigation(0, step=3), [3, 4, N, N, N, N, N], [N, N, N]),
    "NEXT(FIRST(B.x), 4)": (Navigation(0, (B,), FIRST, 0, 4), [5, 5, 5, N, N, N, N], [5, N, N]),
    "PREV(FINAL LAST(B.x), 3)": (Navigation(0, (B,), LAST, 0, -3, True), [0, 0, 0, N, N, N, N], [0, N, N]),
}
CLASSIFIERS = {
    "CLASSIFIER()": (Navigation(CLASSIFIER), [A, B, B, N, A, B, N], [B, N, B]),
    "PREV(CLASSIFIER()), hidden rows have one": (Navigation(CLASSIFIER, step=-1), [N, A, C, N, N, A, N], [C, N, A]),
    "NEXT(CLASSIFIER()), known ahead": (Navigation(CLASSIFIER, step=1), [B, C, N, N, B, N, N], [N, N, N]),
    "NEXT(FIRST(CLASSIFIER()))": (Navigation(CLASSIFIER, N, FIRST, 0, 1), [B, B, B, N, B, B, N], [B, N, B]),
    "FINAL LAST(CLASSIFIER())": (Navigation(CLASSIFIER, is_final=True), [B, B, B, N, B, B, N], [B, N, B]),
    "CLASSIFIER(U), U = (A, C)": (Navigation(CLASSIFIER, (A, C)), [A, A, C, N, A, A, N], [C, N, A]),
}
X = Values(np.array([1, 2, 4, 2, 16, 32, 64, 128]), np.array([1, 1, 1, 1, 1, 1, 1, 0], bool))
NAN, INF = math.nan, math.inf
Y = Values(np.array([NAN, 2.0, -0.5, NAN, 0.0, 0.0, INF, -1.0]))
AGGREGATES = {
    "COUNT(*)": (Aggregate("count"), N, [1, 2, 4, 0, 1, 2, N], [4, 0, 2]),
    "FINAL COUNT(B.*)": (Aggregate("count", N, (B,), False, True), N, [2, 2, 2, 0, 1, 1, N], [2, 0, 1]),
    "COUNT(x), not NULLs": (Aggregate("count", 0), X, [1, 2, 4, 0, 1, 1, N], [4, 0, 1]),
    "COUNT(DISTINCT x)": (Aggregate("count", 0, N, True), X, [1, 2, 3, 0, 1, 1, N], [3, 0, 1]),
    "SUM(x)": (Aggregate("sum", 0), X, [1, 3, 9, N, 64, 64, N], [9, N, 64]),
    "SUM(DISTINCT x)": (Aggregate("sum", 0, N, True), X, [1, 3, 7, N, 64, 64, N], [7, N, 64]),
    "FINAL SUM(B.x)": (Aggregate("sum", 0, (B,), False, True), X, [4, 4, 4, N, N, N, N], [4, N, N]),
    "AVG(B.x)": (Aggregate("avg", 0, (B,)), X, [N, 2.0, 2.0, N, N, N, N], [2.0, N, N]),
    "MIN(y), NaN is the greatest": (Aggregate("min", 0), Y, [NAN, 2.0, -0.5, N, INF, -1.0, N], [-0.5, N, -1.0]),
    "MAX(y)": (Aggregate("max", 0), Y, [NAN, NAN, NAN, N, INF, INF, N], [NAN, N, INF]),
    "COUNT(DISTINCT y), NaN is NaN": (Aggregate("count", 0, N, True), Y, [1, 2, 3, 0, 1, 2, N], [3, 0, 2]),
    "COUNT(DISTINCT CLASSIFIER())": (
        Aggregate("count", CLASSIFIER, N, True), N, [1, 2, 3, 0, 1, 2, N], [3, 0, 2]
    ),
    "MIN(CLASSIFIER()), names Z, Y, X": (
        Aggregate("min", CLASSIFIER), Values(np.array([2, 1, 0])), [2, 1, 0, N, 2, 1, N], [0, N, 1]
    ),
}  # fmt: skip


def listed(values: np.ndarray, valid: np.ndarray | None) -> list:
    assert valid is not None
    return [value if is_valid else None for value, is_valid in zip(values.tolist(), valid.tolist())]


@pytest.mark.parametrize("asked, all_rows, one_row", NAVIGATIONS.values(), ids=NAVIGATIONS)
def test_a_navigation_reads(asked, all_rows, one_row):
    for output, expected in ((ALL_ROWS, all_rows), (ONE_ROW, one_row)):
        row = navigate(asked, SPANS, output_rows(SPANS, output), BOUNDS)
        assert listed(row, row >= 0) == expected


@pytest.mark.parametrize("asked, all_rows, one_row", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_a_classifier_is(asked, all_rows, one_row):
    for output, expected in ((ALL_ROWS, all_rows), (ONE_ROW, one_row)):
        label = classify(asked, SPANS, output_rows(SPANS, output), BOUNDS)
        assert listed(label, label >= 0) == expected


@pytest.mark.parametrize("asked, column, all_rows, one_row", AGGREGATES.values(), ids=AGGREGATES)
def test_an_aggregate_is(asked, column, all_rows, one_row):
    for output, expected in ((ALL_ROWS, all_rows), (ONE_ROW, one_row)):
        result = aggregate(asked, column, SPANS, output_rows(SPANS, output))
        assert repr(listed(result.values, result.valid)) == repr(expected)  # repr: NaN equals itself


@pytest.mark.parametrize(
    "output, rows",
    [
        (Output(), [0, 4, 6]),
        (Output(shows_empty=False), [0, 4, 6]),  # ONE ROW PER MATCH always shows them
        (Output(is_all_rows=True), [0, 1, 3, 4, 6, 7]),
        (Output(is_all_rows=True, shows_empty=False), [0, 1, 3, 6, 7]),
        (Output(is_all_rows=True, shows_unmatched=True), [0, 1, 3, 4, 6, 7, 5]),
    ],
)
def test_the_result_has_the_rows(output, rows):
    assert output_rows(SPANS, output).row.tolist() == rows


def test_sequence_numbers_count_hidden_rows():
    assert listed(*sequence_numbers(SPANS, output_rows(SPANS, ALL_ROWS))) == [1, 2, 4, N, 1, 2, N]
    assert listed(*sequence_numbers(SPANS, output_rows(SPANS, ONE_ROW))) == [4, N, 2]


def test_a_block_without_matches_gives_its_unmatched_rows_and_no_others():
    nothing = np.zeros(0, np.int64)
    spans = Spans(nothing, nothing, np.array([0]), np.zeros(0, np.int16), None, np.array([5]))
    for output, count in ((ONE_ROW, 0), (ALL_ROWS, 1)):
        out = output_rows(spans, output)
        for labels in (None, (A,)):
            for is_final in (False, True):
                assert navigate(Navigation(0, labels, is_final=is_final), spans, out, BOUNDS).tolist() == [-1] * count
                total = aggregate(Aggregate("sum", 0, labels, is_final=is_final), X, spans, out)
                assert listed(total.values, total.valid) == [N] * count
                assert members(Aggregate("array_agg", 0, labels), spans, out)[1].tolist() == [0] * (count + 1)


def test_output_rows_in_any_order_are_answered_each_for_itself():
    out = output_rows(SPANS, ALL_ROWS)
    order = np.array([5, 2, 0, 6, 1, 4, 3, 2])
    shuffled = navigation.OutputRows(out.row[order], out.match[order], out.end[order])
    asked = Navigation(0, (B,), step=-1)
    assert (navigate(asked, SPANS, shuffled, BOUNDS) == navigate(asked, SPANS, out, BOUNDS)[order]).all()
    total = Aggregate("sum", 0)
    assert (aggregate(total, X, SPANS, shuffled).values == aggregate(total, X, SPANS, out).values[order]).all()


TOP = 2**63 - 1


@pytest.mark.parametrize(
    "column, sum_of_them",
    [([TOP - 1, 1], TOP), ([TOP, 1], N), ([-TOP, -1], -TOP - 1), ([-TOP, -2], N), ([TOP, 1, -1], N)],
    ids=["in at the top", "out at the top", "in at the bottom", "out at the bottom", "out on the way"],
)
def test_a_sum_of_integers_stays_in_64_bits_or_is_an_error(column, sum_of_them):
    n = len(column)
    spans = Spans(np.array([0]), np.array([7]), np.array([0, n]), np.zeros(n, np.int16), None, np.zeros(0, np.int64))
    ask = Aggregate("sum", 0), Values(np.array(column)), spans, output_rows(spans, ONE_ROW)
    wrapped = (sum(column) + 2**63) % 2**64 - 2**63
    assert aggregate(*ask, is_ansi=False).values.tolist() == [wrapped]
    if sum_of_them is not None:
        assert aggregate(*ask).values.tolist() == [sum_of_them]
        return
    with pytest.raises(DataError, match="match number 7") as raised:
        aggregate(*ask)
    assert raised.value.error_class == "SQLEXT_ARITHMETIC_OVERFLOW"


def test_an_average_of_large_integers_does_not_overflow():
    spans = Spans(np.array([0]), np.array([1]), np.array([0, 2]), np.zeros(2, np.int16), None, np.zeros(0, np.int64))
    average = aggregate(Aggregate("avg", 0), Values(np.array([TOP, TOP])), spans, output_rows(spans, ONE_ROW))
    assert average.values.tolist() == [2.0**63]


def test_distinct_values_of_a_long_match_are_counted_once_each():
    n = 50_000
    keys = np.arange(n) % 7_919 * 2**40  # equal low bits
    spans = Spans(np.array([0]), np.array([1]), np.array([0, n]), np.zeros(n, np.int16), None, np.zeros(0, np.int64))
    out = output_rows(spans, Output(is_all_rows=True))
    for column in (keys, keys.astype(np.float64)):
        counted = aggregate(Aggregate("count", 0, is_distinct=True), Values(column), spans, out)
        assert (counted.values == np.minimum(np.arange(n) + 1, 7_919)).all()


def test_distinct_takes_all_nans_as_one_and_both_zeros_as_one():
    bits = np.array([0x7FF8 << 48, (0xFFF8 << 48) + 1, (0x7FF0 << 48) + 1, 0x7FF0 << 48, 0, 1 << 63], np.uint64)
    spans = Spans(np.array([0]), np.array([1]), np.array([0, 6]), np.zeros(6, np.int16), None, np.zeros(0, np.int64))
    out = output_rows(spans, Output(is_all_rows=True))
    counted = aggregate(Aggregate("count", 0, is_distinct=True), Values(bits.view(np.float64)), spans, out)
    assert counted.values.tolist() == [1, 1, 1, 2, 3, 3]  # quiet, negative, signalling NaN; infinity; 0.0, -0.0


def test_sums_and_averages_need_an_argument_and_other_functions_are_not_fast():
    out = output_rows(SPANS, ONE_ROW)
    with pytest.raises(ValueError, match="sum needs an argument"):
        aggregate(Aggregate("sum"), None, SPANS, out)
    with pytest.raises(ValueError, match="array_agg is not one of"):
        aggregate(Aggregate("array_agg", 0), X, SPANS, out)


def test_the_examples_in_the_docstrings_run():
    assert doctest.testmod(navigation).failed == 0
