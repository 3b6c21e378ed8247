"""Many texts are ordered as their bytes are, on any number of threads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rows.grouped_order import grouped_order
from sqlext.operators.rows.text_order import text_numbers

ROWS = 20_000  # more than `ranked` leaves to Arrow
TEXTS = {
    "names": [f"user{i:07d}" for i in range(3000)],
    "few": ["", "a", "é", "\U0001f600", "ab", "\uffff", "browse"],
    "zeros": ["\0" * i + x for i in range(20) for x in ("", "a")] + ["a" + "\0" * i for i in range(20)],
    "prefixes": ["x" * i for i in range(100)],
    "one prefix": ["https://example.com/" + str(i) for i in range(500)],
}
KINDS = [pa.string(), pa.binary(), pa.large_string(), pa.large_binary()]


def columns(name: str, chance: np.random.Generator) -> list[pa.Array]:
    """Drawn at random, and in order; parts of longer columns, with NULLs."""
    texts = pa.array(TEXTS[name], KINDS[chance.integers(len(KINDS))])
    rows = chance.integers(0, len(texts), ROWS + 10)
    drawn = (texts.take(pa.array(r, mask=chance.random(len(r)) < 0.1)) for r in (rows, np.sort(rows)))
    return [column.slice(7, ROWS) for column in drawn]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", TEXTS)
def test_the_numbers_of_texts_are_in_the_order_of_their_bytes(name, threads):
    for column in columns(name, np.random.default_rng(threads)):
        texts = [x for x in column.cast(pa.large_binary()).to_pylist() if x is not None]
        numbers = text_numbers(column, threads)[column.is_valid().to_numpy(zero_copy_only=False)]
        pairs = sorted(set(zip(texts, numbers.tolist())))
        assert len(pairs) == len(set(texts)) and (np.diff([number for _, number in pairs]) > 0).all()


@pytest.mark.parametrize("name", TEXTS)
def test_texts_and_dictionaries_are_ordered_alike(name):
    chance = np.random.default_rng(5)
    times = pa.array(chance.permutation(ROWS))
    for column in columns(name, chance):
        for nulls_last in (False, True):
            rows, codes = ({"k": texts, "t": times} for texts in (column, column.dictionary_encode()))
            sort = [SortKey("k", is_descending=nulls_last, nulls_last=nulls_last), SortKey("t")]
            texts = [x and x.encode() if isinstance(x, str) else x for x in column.to_pylist()]
            last = sorted(range(ROWS), key=lambda i: times[i].as_py())
            wanted = sorted(last, key=lambda i: texts[i] or b"", reverse=nulls_last)
            wanted = sorted(wanted, key=lambda i: (texts[i] is None) == nulls_last)
            if not nulls_last:  # a stable sort in reverse would also reverse ties of times
                assert grouped_order(rows, [], sort)[0].tolist() == wanted
            for keys in ([], ["k"]):
                of_texts, of_codes = (grouped_order(each, keys, sort, threads=2) for each in (rows, codes))
                assert [x.tolist() for x in of_texts] == [x.tolist() for x in of_codes]


def test_texts_with_one_hash_and_long_texts_are_left_to_arrow():
    factor, most = 0x9E3779B97F4A7C15, 1 << 64

    def mixed(word: int) -> int:
        word = word * factor % most
        return word ^ word >> 32

    def text(first: int, rest: int) -> bytes:
        return first.to_bytes(8, "big") + (mixed(16 ^ first) ^ rest).to_bytes(8, "big")

    assert text_numbers(pa.array([text(1, 5), text(2, 5), text(1, 5)])) is None
    assert text_numbers(pa.array([text(1, 5), text(2, 6), text(1, 5)])).tolist() == [0, 1, 0]
    assert text_numbers(pa.array(["x" * 257, "y"])) is None
    assert text_numbers(pa.array([], pa.string())).tolist() == []
