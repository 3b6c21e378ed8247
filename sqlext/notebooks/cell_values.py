"""The values that the SQL of a cell reads: widgets and Python variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from sqlext.errors import BindError, Place, SqlExtError, SqlExtErrors
from sqlext.notebooks.widgets import Widgets
from sqlext.rewriter.statements.parameters import literal, markers
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.splice import Edit, Source, Text
from sqlext.rewriter.text.tokens import STRING, tokenize
from sqlext.sessions.typed_values import typed_value

_LEGACY = re.compile(r"(?<!\\)\$\{(\w+)\}|(?<!\\)\$(\w+)")


def arguments(text: str, widgets: Widgets, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the markers `:name` of a statement.

    A widget has precedence over a Python variable, as in Databricks. A widget's value is a text; a value that was
    passed to the notebook has the type that its form determines. Raises BindError: MISSING_ARGUMENT, ARGUMENT_TYPE.

    >>> arguments("SELECT :n + :x, 'a:b'", Widgets({"n": "3"}), {"x": 1.5})
    {'n': 3, 'x': 1.5}
    """
    values: dict[str, Any] = {}
    for marker in markers(tokenize(text)):
        if marker.name is not None and marker.name not in values:
            values[marker.name] = _value(marker.name, Place(text, marker.start, marker.stop), widgets, variables)
    return values


def _value(name: str, place: Place, widgets: Widgets, variables: Mapping[str, Any]) -> Any:
    text = widgets.lookup(name)
    if text is not None:
        return typed_value(text) if widgets.is_passed(name) else text
    if name not in variables:
        names = [*widgets.getAll(), *(n for n, value in variables.items() if n[0] != "_" and not callable(value))]
        close = get_close_matches(name, names, n=1)
        hint = (
            f"did you mean :{close[0]}?" if close else f"assign {name} in Python, or write CREATE WIDGET TEXT {name}."
        )
        message = f'there is no widget and no Python variable "{name}"'
        raise BindError("MISSING_ARGUMENT", message, place=place, hint=hint)
    value = variables[name]
    value = value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value
    try:
        literal(value)
    except BindError as error:
        raise error.with_(place=place) from None
    return value


def with_texts(text: str, widgets: Widgets) -> Text:
    """The text of a statement with the values of widgets in place of `${name}`, `$name` and `getArgument('name')`.

    The first two are replaced as text, as in Databricks up to 15.1; the last becomes a string. Only names of widgets
    are replaced. Raises BindError (UNKNOWN_WIDGET) for getArgument.

    >>> widgets = Widgets({"t": "orders", "who": "O'Neil"})
    >>> str(with_texts("SELECT * FROM ${t} WHERE name = getArgument('who')", widgets))
    "SELECT * FROM orders WHERE name = CAST(X'4F274E65696C' AS STRING)"
    """
    edits = sorted([*_legacy_edits(text, widgets), *_argument_edits(text, widgets)], key=lambda edit: edit.start)
    return Source(text, tuple(edits)).slice(0, len(text))


def _legacy_edits(text: str, widgets: Widgets) -> Iterator[Edit]:
    for match in _LEGACY.finditer(text):
        value = widgets.lookup(match[1] or match[2])
        if value is not None:
            yield Edit(match.start(), match.end(), value)


def _argument_edits(text: str, widgets: Widgets) -> Iterator[Edit]:
    if "getargument" not in text.lower():
        return
    tokens = tokenize(text)
    for i, token in enumerate(tokens[:-3]):
        opening, name, close = tokens[i + 1 : i + 4]
        if token.word == "GETARGUMENT" and (opening.text, name.kind, close.text) == ("(", STRING, ")"):
            try:
                yield Edit(token.start, close.stop, literal(widgets.get(string_value(name.text))))
            except BindError as error:
                raise error.with_(place=Place(text, token.start, close.stop)) from None


def in_cell(error: SqlExtError, text: Text, cell: str) -> SqlExtError:
    """The error with its places in the cell as the user wrote it; `text` is the cell's statement with values inserted.

    A place in another text, such as that of a stored view, is not changed.
    """
    if isinstance(error, SqlExtErrors):
        return SqlExtErrors([in_cell(e, text, cell) for e in error.errors])
    place = error.place
    if place is None or place.text.strip() not in str(text):
        return error
    start = text.origin(place.start)
    return error if start is None else error.with_(place=Place(cell, start, start + place.stop - place.start))
