"""get_json_object: a small reader of JSON with Jackson's leniency, and Hive's paths as Spark evaluates them."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, NamedTuple

from sqlext.expressions.numbers import float_text

_STEP = re.compile(r"\.\*|\['\*'\]|\.([^.\[]+)|\['([^']+)'\]|\[(\*)\]|\[(\d+)\]")
_NUMBER = re.compile(r"(-?(?:0|[1-9]\d*))((?:\.\d+)?(?:[eE][+-]?\d+)?)", re.ASCII)
_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST = 500


class Object(NamedTuple):
    """A JSON object: its fields in order, those of one name all of them."""

    fields: list[tuple[str, Any]]


class Number(NamedTuple):
    text: str


class _Malformed(Exception):
    pass


def get_json_object(text: str, path: str) -> str | None:
    """The part of a JSON text at a path; None if there is none, or the text or the path is malformed.

    >>> get_json_object('{"a": [{"b": "x"}, {"b": 2}]}', "$.a[*].b"), get_json_object('{"a": {"b": 1.50}}', "$.a")
    ('["x",2]', '{"b":1.5}')
    """
    steps = _steps(path)
    if steps is None:
        return None
    try:
        value = _Reader(text).value(0)
    except _Malformed:
        return None
    parts = _evaluate(value, steps, "raw")
    return None if parts is None else ",".join(parts)


@lru_cache(256)
def _steps(path: str) -> tuple[Any, ...] | None:
    """Names, indexes and "*" of arrays; None if the path is malformed or has a wildcard of fields."""
    if not path.startswith("$"):
        return None
    steps: list[Any] = []
    i = 1
    while i < len(path):
        match = _STEP.match(path, i)
        if match is None or not match.lastindex:
            return None
        name, quoted, star, index = match.groups()
        steps.append(("*",) if star else int(index) if index else name or quoted)
        i = match.end()
    return tuple(steps)


def _evaluate(value: Any, steps: tuple[Any, ...], style: str) -> list[str] | None:
    """The texts that are written, or None if nothing is. `style`: "raw", "quoted" or "flatten", as in Spark."""
    if not steps:
        return _written(value, style)
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        return _field(value, step, rest, style) if isinstance(value, Object) else None
    if not isinstance(value, list):
        return None
    if step != ("*",):
        inner = "quoted" if rest[:1] == (("*",),) else style
        return _evaluate(value[step], rest, inner) if step < len(value) else None
    if rest[:1] == (("*",),):
        parts = [_evaluate(element, rest[1:], "flatten") for element in value]
        return [_array(parts)] if any(part is not None for part in parts) else None
    parts = [_evaluate(element, rest, "flatten" if style == "flatten" else "quoted") for element in value]
    written = sum(part is not None for part in parts)
    if not written:
        return None
    if style == "quoted" or written > 1:
        return [_array(parts)]
    return next(part for part in parts if part is not None)


def _field(value: Object, name: str, rest: tuple[Any, ...], style: str) -> list[str] | None:
    for key, inner in value.fields:
        if key == name and inner is not None:
            parts = _evaluate(inner, rest, style)
            if parts is not None:
                return parts
    return None


def _written(value: Any, style: str) -> list[str] | None:
    if isinstance(value, str) and style == "raw":
        return [value]
    if isinstance(value, list) and style == "flatten":
        parts = [_evaluate(element, (), style) for element in value]
        return [text for part in parts for text in part or ()] if value else None
    return [_text(value)]


def _array(parts: list[list[str] | None]) -> str:
    return "[" + ",".join(text for part in parts for text in part or ()) + "]"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Number):
        return value.text
    if isinstance(value, Object):
        return "{" + ",".join(f"{_quoted(name)}:{_text(v)}" for name, v in value.fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return {None: "null", True: "true", False: "false"}[value]


def _quoted(text: str) -> str:
    return re.sub(r"\\u00[0-9a-f]{2}", lambda m: "\\u" + m[0][2:].upper(), json.dumps(text, ensure_ascii=False))


class _Reader:
    def __init__(self, text: str):
        self.text, self.i = text, 0

    def space(self) -> str:
        """Skip white space; the letter behind it, or nothing at the end."""
        match = _SPACE.match(self.text, self.i)
        self.i = match.end() if match else self.i
        return self.text[self.i : self.i + 1]

    def value(self, depth: int) -> Any:
        letter = self.space()
        if depth > _DEEPEST:
            raise _Malformed
        if letter == "{":
            return self.object(depth)
        if letter == "[":
            return self.array(depth)
        if letter in ('"', "'") and letter:
            return self.string(letter)
        for word, constant in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, self.i):
                self.i += len(word)
                return constant
        return self.number()

    def number(self) -> Number:
        match = _NUMBER.match(self.text, self.i)
        if match is None or self.text[match.end() : match.end() + 1] not in ("", " ", "\t", "\n", "\r", ",", "]", "}"):
            raise _Malformed
        self.i = match.end()
        return Number(float_text(float(match[0]), True) if match[2] else str(int(match[1])))

    def object(self, depth: int) -> Object:
        fields: list[tuple[str, Any]] = []
        self.i += 1
        if self.space() == "}":
            self.i += 1
            return Object(fields)
        while True:
            quote = self.space()
            if quote not in ('"', "'") or not quote:
                raise _Malformed
            name = self.string(quote)
            if self.space() != ":":
                raise _Malformed
            self.i += 1
            fields.append((name, self.value(depth + 1)))
            if self.is_last("}"):
                return Object(fields)

    def array(self, depth: int) -> list[Any]:
        elements: list[Any] = []
        self.i += 1
        if self.space() == "]":
            self.i += 1
            return elements
        while True:
            elements.append(self.value(depth + 1))
            if self.is_last("]"):
                return elements

    def is_last(self, end: str) -> bool:
        """Skip a comma, or the end of the object or array."""
        letter = self.space()
        self.i += 1
        if letter not in (",", end) or not letter:
            raise _Malformed
        return letter == end

    def string(self, quote: str) -> str:
        parts: list[str] = []
        self.i += 1
        while True:
            letter = self.text[self.i : self.i + 1]
            self.i += 1
            if not letter:
                raise _Malformed
            if letter == quote:
                return "".join(parts)
            parts.append(self.escape(quote) if letter == "\\" else letter)

    def escape(self, quote: str) -> str:
        letter = self.text[self.i : self.i + 1]
        self.i += 1
        if letter == "u":
            digits = self.text[self.i : self.i + 4]
            self.i += 4
            if not re.fullmatch("[0-9a-fA-F]{4}", digits):
                raise _Malformed
            return chr(int(digits, 16))
        if letter == quote:
            return letter
        if letter not in _ESCAPES or not letter:
            raise _Malformed
        return _ESCAPES[letter]
