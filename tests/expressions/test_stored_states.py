"""Stored states of aggregates name no module, earlier ones are read, and no bytes of a checkpoint run code."""

from __future__ import annotations

import math
import os
import pickle
from decimal import Decimal
from enum import Enum

import pytest

from sqlext.aggregates.aggregator import collection, listed
from sqlext.aggregates.distinct_rows import KeySet, key_set
from sqlext.aggregates.stored_states import read_state, write_states
from sqlext.aggregates.sums import OVERFLOW
from sqlext.errors import DataError

AGGREGATOR = "sqlext.expressions.aggregates.aggregator"
STATES = {
    "plain values": (None, True, 7, 1.5, "a", b"b", Decimal("1.50"), [1, (2, {"x": None})], frozenset({(1, 2)})),
    "an overflow": (OVERFLOW, 3),
    "rows with each type of value": collection([(1, "a"), (None, Decimal("2.5")), ([1], {"k": (math.nan,)})]),
    "distinct rows": (key_set([("a", math.nan), (None, 1.0)]), collection([("a", math.nan), (None, 1.0)]), 2),
    "an error": DataError("ARITHMETIC_OVERFLOW", "bigint overflow", hint="use a wider type"),
    "a long collection": collection(range(10_000)),
}


def shown(state):
    if isinstance(state, KeySet):
        return sorted(map(repr, state))
    if isinstance(state, DataError):
        return state.args
    if isinstance(state, tuple):
        return repr(listed(state)) if type(state).__name__ == "Collection" else tuple(map(shown, state))
    return state


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_a_state_is_stored_and_read_again_and_its_bytes_name_no_module_of_ours(state):
    stored = list(write_states([STATES["distinct rows"], state]))[1]  # which refers to nothing of the state before
    assert shown(read_state(stored)) == shown(state)
    assert b"sqlext" not in stored and (b"decimal" in stored) == ("Decimal" in repr(shown(state)))


@pytest.mark.parametrize("state", [object(), (1, print), collection([KeySet()]), [Enum("E", "x").x], {1: int}])
def test_an_object_without_a_name_is_not_stored(state):
    with pytest.raises(TypeError, match="has no name in the stored states of aggregates"):
        list(write_states([state]))


class Reduced:
    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


def global_call(module: str, name: str, argument: str) -> bytes:
    """A pickle that calls a function by its name, as protocol 0 writes it."""
    return f"c{module}\n{name}\n(S'{argument}'\ntR.".encode()


HOSTILE = {
    "a function of os": lambda mark: pickle.dumps(Reduced(os.system, (f"touch {mark}",))),
    "inside of a state": lambda mark: pickle.dumps([1, (None, Reduced(os.mkdir, (mark,)))]),
    "eval": lambda mark: pickle.dumps(Reduced(eval, (f"open({mark!r}, 'w')",))),
    "a name in a former module": lambda mark: global_call(AGGREGATOR, "__builtins__", "eval"),
    "a dotted name": lambda mark: global_call(AGGREGATOR, "collection.__globals__", "x"),
    "another class of ours": lambda mark: global_call("sqlext.errors", "Place", "x"),
    "in a persistent id": lambda mark: b"\x80\x04" + pickle.dumps(Reduced(os.mkdir, (mark,)))[2:-1] + b"Q.",
    "in the values of a collection": lambda mark: b"\x80\x04" + pickle.dumps(
        ("collection", pickle.dumps(Reduced(os.mkdir, (mark,))))
    )[2:-1] + b"Q.",
    "an unknown name": lambda mark: b"\x80\x04\x8c\x04evil\x85Q.",
    "a former function that is changed": lambda mark: (
        f"c{AGGREGATOR}\ncollection\n(N(dS'__defaults__'\n(I1\ntstb(S'x'\ntR.".encode()
    ),
    "no pickle": lambda mark: b"state",
    "no bytes": lambda mark: b"",
    "half of a state": lambda mark: next(write_states([(OVERFLOW, 3)]))[:-4],
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_state_is_an_error_and_is_not_run(name, tmp_path):
    mark = tmp_path / "run"
    with pytest.raises(DataError) as error:
        read_state(HOSTILE[name](str(mark)))
    assert error.value.error_class == "SQLEXT_STATE_CONTENT" and "checkpoint" in error.value.hint
    assert not mark.exists() and collection.__defaults__ is None and not vars(collection)
