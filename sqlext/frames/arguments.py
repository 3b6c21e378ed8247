"""Reads the arguments of the functions on DataFrames: SQL text, names of columns, durations and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Union

from sqlext.errors import BindError, Place
from sqlext.rewriter.statements.parameters import literal
from sqlext.rewriter.text.composed import Argument, Part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Texts = Union[str, Sequence[str]]
Amount = Union[str, timedelta, int, float]


def text_of(of: str, value: object) -> str:
    """The argument, which is SQL text. Raises BindError (ARGUMENT_TYPE)."""
    if not isinstance(value, str):
        raise BindError("ARGUMENT_TYPE", f"{of} is SQL text (str), not {type(value).__name__}")
    return value


def sql_of(of: str, value: object) -> Argument:
    """An argument that is one expression. Raises ParseError and BindError."""
    return Argument.sql(of, text_of(of, value))


def sql_items(of: str, value: Texts) -> list[Argument]:
    """An argument that is a list of expressions: a text with commas between them, or a text for each."""
    if isinstance(value, str):
        return [Argument.sql(of, value, is_list=True)] if value.strip() else []
    if not isinstance(value, Sequence):
        raise BindError("ARGUMENT_TYPE", f"{of} is SQL text (str) or a list of it, not {type(value).__name__}")
    return [sql_of(f"{of}[{i}]", item) for i, item in enumerate(value)]


def entries(of: str, value: object) -> list[tuple[str, str, object]]:
    """An argument that is a dict with names as keys: how each entry is called, its name and its value."""
    if not isinstance(value, Mapping):
        raise BindError("ARGUMENT_TYPE", f"{of} is a dict, not {type(value).__name__}")
    return [(f"{of}[{_name(of, key)!r}]".replace("'", '"'), key, item) for key, item in value.items()]


def _name(of: str, key: object) -> str:
    if not isinstance(key, str) or not key:
        raise BindError("ARGUMENT_TYPE", f"the keys of {of} are names (str), not {key!r}")
    return key


def amount_of(of: str, value: Amount) -> Part:
    """An interval or a number: as SQL text, or as a value of Python."""
    if isinstance(value, str):
        return sql_of(of, value)
    if isinstance(value, bool) or not isinstance(value, (timedelta, int, float)):
        raise BindError("ARGUMENT_TYPE", f"{of} is SQL text (str), a timedelta or a number, not {type(value).__name__}")
    return literal(value)


def one_of(of: str, value: object, words: Mapping[str, str]) -> str:
    """What stands for one of some words. Raises BindError (ARGUMENT_VALUE)."""
    if value not in words:
        listed = ", ".join(map(repr, words))
        raise BindError("ARGUMENT_VALUE", f"{of} is one of {listed}, not {value!r}")
    return words[str(value)]


def names_of(of: str, value: object) -> list[tuple[str, str]]:
    """An argument that is the name of a column or a list of names: how each is called, and the name."""
    if value is None:
        return []
    if isinstance(value, str):
        return [(of, value)]
    if not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise BindError("ARGUMENT_TYPE", f"{of} is the name of a column (str) or a list of names, not {value!r}")
    return [(f"{of}[{i}]", item) for i, item in enumerate(value)]


def column_of(of: str, name: str, frame: DataFrame) -> Argument:
    """The column of a DataFrame that is called so, without regard to case if no other is.

    Raises BindError (UNKNOWN_COLUMN).
    """
    columns = frame.columns
    same = [column for column in columns if column == name] or [c for c in columns if c.lower() == name.lower()]
    if len(same) != 1:
        close = get_close_matches(name, columns, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the columns are {', '.join(columns)}."
        message = f"there are {len(same)} columns {name}" if same else f"there is no column {name}"
        raise BindError("UNKNOWN_COLUMN", message, place=Place(name, 0, len(name), of), hint=hint)
    return Argument.name(of, same[0]) if same[0] == name else Argument(of, name, Argument.name(of, same[0]).written)
