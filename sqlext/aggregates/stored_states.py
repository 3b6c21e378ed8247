"""The states of aggregators as bytes in a checkpoint. They name no module of sqlext, and reading them runs no code.

The bytes are a pickle. An object of this package is stored as a persistent id of pickle: a tuple of a name of `_MAKERS`
and its parts. Any other name in a pickle is an error, except decimals, and the functions with which states were pickled
before these names existed (`_FORMER`). The list of these functions is closed, so renaming code does not extend it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from io import BytesIO
from typing import Any

from sqlext.aggregates.aggregator import Collection, collection, listed
from sqlext.aggregates.distinct_rows import KeySet, key_set
from sqlext.aggregates.sums import OVERFLOW, Overflow
from sqlext.errors import DataError

_PROTOCOL = 4  # the protocol of pickle; all Python versions that sqlext runs on read it
_COLLECTION, _KEYS, _OVERFLOW, _ERROR = "collection", "keys", "overflow", "error"


def write_states(states: Iterable[Any]) -> Iterator[bytes]:
    """The stored form of each state. Raises TypeError for a state that holds an object without a name.

    >>> state = (KeySet().with_key("a"), collection(range(10_000)), OVERFLOW)
    >>> keys, values, mark = read_state(next(write_states([state])))
    >>> "a" in keys, listed(values) == list(range(10_000)), mark is OVERFLOW
    (True, True, True)
    """
    buffer = BytesIO()
    pickler = _Objects(buffer, _PROTOCOL)
    for state in states:
        pickler.dump(state)
        yield buffer.getvalue()
        pickler.clear_memo()
        buffer.seek(0)
        buffer.truncate()


def read_state(stored: bytes) -> Any:
    """The state that `write_states` stored. Raises DataError STATE_CONTENT for all other bytes, without running them.

    >>> read_state(b"cos\\nsystem\\n(S'echo run'\\ntR.")
    Traceback (most recent call last):
    sqlext.errors.DataError: SQLEXT_STATE_CONTENT: the checkpoint holds what is not the state of an aggregate: os.system
    Hint: restore the checkpoint from a copy, or start the query with a new checkpoint.
    """
    try:
        return _StateUnpickler(BytesIO(stored)).load()
    except DataError:
        raise
    except Exception as error:  # damaged bytes raise any error that the objects made from them raise
        raise _not_a_state(f"{type(error).__name__}: {error}") from None


class _Values(pickle.Pickler):
    """Pickles values of Spark: objects of Python's own types and decimals."""

    def reducer_override(self, value: Any) -> Any:
        if value is Decimal or isinstance(value, Decimal):
            return NotImplemented  # as pickle does it
        raise TypeError(f"{type(value).__name__} has no name in the stored states of aggregates")


class _Objects(_Values):
    """Pickles states, which may hold objects of this package besides values."""

    def persistent_id(self, value: Any) -> tuple[Any, ...] | None:
        stored_parts = _PARTS.get(type(value))
        return None if stored_parts is None else stored_parts(value)


_PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Collection: lambda values: (_COLLECTION, _pickled(listed(values))),
    KeySet: lambda keys: (_KEYS, _pickled(list(keys))),
    Overflow: lambda _: (_OVERFLOW,),
    DataError: lambda error: (_ERROR, error.error_class.removeprefix("SQLEXT_"), error.message, error.hint),
}


def _pickled(values: list[Any]) -> bytes:
    """Pickle many values, without testing each of them for objects of this package."""
    buffer = BytesIO()
    _Values(buffer, _PROTOCOL).dump(values)
    return buffer.getvalue()


class _StateUnpickler(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        name, *parts = pid
        return _MAKERS[name](*parts)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("decimal", "Decimal"):
            return Decimal
        if (module, name) not in _FORMER:
            raise _not_a_state(f"{module}.{name}")
        make = _FORMER[module, name]
        return partial(make)  # a new object: pickle can set the attributes of what it is given


def _error(name: str, message: str, hint: str | None) -> DataError:
    return DataError(name, message, hint=hint)


_MAKERS: dict[str, Callable[..., Any]] = {
    _COLLECTION: lambda pickled: collection(read_state(pickled)),
    _KEYS: lambda pickled: key_set(read_state(pickled)),
    _OVERFLOW: lambda: OVERFLOW,
    _ERROR: _error,
}
_FORMER: dict[tuple[str, str], Callable[..., Any]] = {
    ("sqlext.expressions.aggregates.aggregator", "collection"): collection,
    ("sqlext.expressions.aggregates.distinct_rows", "key_set"): key_set,
    ("sqlext.expressions.aggregates.sums", "_Mark"): lambda text: OVERFLOW,
    ("sqlext.errors", "_rebuild"): lambda kind, name, message, place, hint: _error(name, message, hint),
    ("sqlext.errors", "DataError"): _error,  # the first argument of `_rebuild`
}


def _not_a_state(content: str) -> DataError:
    return DataError(
        "STATE_CONTENT",
        f"the checkpoint holds what is not the state of an aggregate: {content[:200]}",
        hint="restore the checkpoint from a copy, or start the query with a new checkpoint.",
    )
