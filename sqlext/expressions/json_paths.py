"""get_json_object: a small reader of JSON with Jackson's leniency, and Hive's paths as Spark evaluates them.

Reading a text also writes it: as a list of the tokens of the whole text as Spark writes them. Each value stores which
tokens are its own, so the text of a part at any depth is a slice of the tokens. No function here recurses into the
text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, Union

from sqlext.expressions.effort import spend
from sqlext.expressions.json_members import Members
from sqlext.expressions.numbers import float_text

_STEP = re.compile(r"\.\*|\['\*'\]|\.([^.\[]+)|\['([^']+)'\]|\[(\*)\]|\[(\d+)\]", re.ASCII)
_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<mark>[\[\]{}:,\"'])|(?P<word>true|false|null)(?![\w$])"
    r"|(?P<sign>-?)(?P<whole>0|[1-9][0-9]*)(?P<fraction>(?:\.[0-9]+)?)(?P<exponent>(?:[eE][+-]?[0-9]+)?)"
    r"(?=[ \t\r\n,\]}]|\Z))"
)
_STOP = {quote: re.compile(rf"[{quote}\\]") for quote in ('"', "'")}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile("\\\\u00[0-9a-f]{2}|[\ud800-\udfff\U00010000-\U0010ffff]")
_DEEPEST, _LONGEST_NAME, _MOST_DIGITS = 1_000, 50_000, 1_000  # Jackson's limits
_HUGE_INDEX = 18  # number of digits
_MEMBERS = Members(_DEEPEST, _LONGEST_NAME, _MOST_DIGITS)
_LARGE, _NARROWED_STEPS = 1_000, 2
_UNITS_TO_SKIP, _UNITS_TO_READ = 3, 40  # for each character


class String(NamedTuple):
    """`start` to `stop` (exclusive): the tokens of the value, in this class and the next ones."""

    text: str
    start: int
    stop: int


class Other(NamedTuple):
    """A number, true, false or null."""

    is_null: bool
    start: int
    stop: int


class Array(NamedTuple):
    elements: list[Any]
    start: int
    stop: int


class Object(NamedTuple):
    """The fields in order, including all fields that have the same name."""

    fields: list[tuple[str, Any]]
    start: int
    stop: int


Value = Union[String, Other, Array, Object]


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
        parts = _parts(text, steps, _NARROWED_STEPS)
    except _Malformed:
        return None
    return None if parts is None else ",".join(parts)


def _parts(text: str, steps: tuple[Any, ...], narrowed: int) -> list[str] | None:
    """The texts at a path. Of a large text only the part is read to which the first `narrowed` steps lead."""
    if narrowed and len(text) > _LARGE and _is_single(steps):
        spend(_UNITS_TO_SKIP * len(text))
        members = _MEMBERS.texts(text, steps[0])
        if members is not None:
            if isinstance(steps[0], str):
                members = [member for member in members if member != "null"]
            parts = (_parts(member, steps[1:], narrowed - 1) for member in members)
            return next((part for part in parts if part is not None), None)
    spend(_UNITS_TO_READ * len(text))
    value, tokens = _read(text)
    return _Evaluation(tokens).parts(value, steps, "raw")


def _is_single(steps: tuple[Any, ...]) -> bool:
    """Return True if the first step is a name, or an index that changes nothing for the steps after it."""
    return bool(steps) and (isinstance(steps[0], str) or (isinstance(steps[0], int) and steps[1:2] != (("*",),)))


@lru_cache(256)
def _steps(path: str) -> tuple[Any, ...] | None:
    """The steps of a path: names, indexes and "*" for arrays; None if it is malformed or has a wildcard for fields."""
    if not path.startswith("$"):
        return None
    steps: list[Any] = []
    i = 1
    while i < len(path):
        match = _STEP.match(path, i)
        if match is None or not match.lastindex:
            return None
        name, quoted, star, index = match.groups()
        steps.append(("*",) if star else int(index[:_HUGE_INDEX]) if index else name or quoted)
        i = match.end()
    return tuple(steps)


# the value at a path


class _Evaluation(NamedTuple):
    tokens: list[str]

    def parts(self, value: Value, steps: tuple[Any, ...], style: str) -> list[str] | None:
        """The texts that are written, or None if none is. `style`: "raw", "quoted" or "flatten", as in Spark."""
        at = 0
        while at < len(steps):
            step, at = steps[at], at + 1
            if isinstance(step, str):
                choices = _fields(value, step)
                for choice in choices[:-1]:
                    parts = self.parts(choice, steps[at:], style)
                    if parts is not None:
                        return parts
                if not choices:
                    return None
                value = choices[-1]
            elif not isinstance(value, Array):
                return None
            elif step == ("*",):
                return self._all(value, steps[at:], style)
            elif step >= len(value.elements):
                return None
            else:
                style = "quoted" if steps[at : at + 1] == (("*",),) else style
                value = value.elements[step]
        return self._written(value, style)

    def _all(self, value: Array, rest: tuple[Any, ...], style: str) -> list[str] | None:
        if rest[:1] == (("*",),):
            parts = [self.parts(element, rest[1:], "flatten") for element in value.elements]
            return [_array(parts)] if any(part is not None for part in parts) else None
        inner = "flatten" if style == "flatten" else "quoted"
        parts = [self.parts(element, rest, inner) for element in value.elements]
        written = sum(part is not None for part in parts)
        if not written:
            return None
        if style == "quoted" or written > 1:
            return [_array(parts)]
        return next(part for part in parts if part is not None)

    def _written(self, value: Value, style: str) -> list[str] | None:
        if isinstance(value, String) and style == "raw":
            if _SURROGATE.search(value.text):  # no UTF-8 text has half of a surrogate pair
                raise _Malformed
            return [value.text]
        if isinstance(value, Array) and style == "flatten":
            return [self._text(leaf) for leaf in _leaves(value)] or None
        return [self._text(value)]

    def _text(self, value: Value) -> str:
        return "".join(self.tokens[value.start : value.stop])


def _fields(value: Value, name: str) -> list[Value]:
    """The values of the fields with a name, except for NULL."""
    if not isinstance(value, Object):
        return []
    return [inner for key, inner in value.fields if key == name and not (isinstance(inner, Other) and inner.is_null)]


def _leaves(array: Array) -> Iterator[Value]:
    """The elements of arrays nested in arrays, in order."""
    stack = [iter(array.elements)]
    while stack:
        for element in stack[-1]:
            if isinstance(element, Array):
                stack.append(iter(element.elements))
                break
            yield element
        else:
            stack.pop()


def _array(parts: list[list[str] | None]) -> str:
    return "[" + ",".join(text for part in parts for text in part or ()) + "]"


# reading


class _Open(NamedTuple):
    """An array or object whose end has not been read. `end`: its last letter; `items`: its elements or fields so far;
    `start`: its first token; `name`: the name of the field whose value it is."""

    end: str
    items: list[Any]
    start: int
    name: str


def _read(text: str) -> tuple[Value, list[str]]:
    """The first value of a text, and its tokens as Spark writes them. Raises _Malformed."""
    tokens: list[str] = []
    stack: list[_Open] = []
    name, at = "", 0
    while True:
        match, at = _token(text, at)
        mark, top = match["mark"], stack[-1] if stack else None
        if top is not None and mark == top.end and not top.items:
            name, value = _closed(stack, tokens)
        else:
            if top is not None and top.end == "}":
                name, match, at = _name(match, text, at, tokens)
                mark = match["mark"]
            if mark in ("[", "{"):
                if len(stack) == _DEEPEST:
                    raise _Malformed
                stack.append(_Open("]" if mark == "[" else "}", [], len(tokens), name))
                tokens.append(mark)
                continue
            value, at = _scalar(match, text, at, tokens)
        while stack:  # the value is in the innermost array or object, which may end after it
            top = stack[-1]
            top.items.append((name, value) if top.end == "}" else value)
            match, at = _token(text, at)
            if match["mark"] == ",":
                tokens.append(",")
                break
            if match["mark"] != top.end:
                raise _Malformed
            name, value = _closed(stack, tokens)
        if not stack:
            return value, tokens


def _token(text: str, at: int) -> tuple[re.Match[str], int]:
    match = _TOKEN.match(text, at)
    if match is None:
        raise _Malformed
    return match, match.end()


def _closed(stack: list[_Open], tokens: list[str]) -> tuple[str, Value]:
    """The name and the value of the innermost array or object, which ends here."""
    top = stack.pop()
    tokens.append(top.end)
    make = Array if top.end == "]" else Object
    return top.name, make(top.items, top.start, len(tokens))


def _name(match: re.Match[str], text: str, at: int, tokens: list[str]) -> tuple[str, re.Match[str], int]:
    """The name of a field, and the token after its colon."""
    name, at = _string(match["mark"], text, at)
    if len(name) > _LONGEST_NAME:
        raise _Malformed
    colon, at = _token(text, at)
    if colon["mark"] != ":":
        raise _Malformed
    tokens.append(f"{_quoted(name)}:")
    return name, *_token(text, at)


def _scalar(match: re.Match[str], text: str, at: int, tokens: list[str]) -> tuple[Value, int]:
    start = len(tokens)
    if match["mark"]:
        content, at = _string(match["mark"], text, at)
        tokens.append(_quoted(content))
        return String(content, start, start + 1), at
    tokens.append(match["word"] or _number(match))
    return Other(match["word"] == "null", start, start + 1), at


def _number(match: re.Match[str]) -> str:
    sign, whole, fraction, exponent = match["sign"], match["whole"], match["fraction"], match["exponent"]
    digits = len(fraction.strip(".")) + len(exponent.strip("eE+-"))
    if digits + (len(whole) if whole != "0" else 0) > _MOST_DIGITS:
        raise _Malformed
    if not digits:
        return whole if whole == "0" else sign + whole
    value = float(sign + whole + fraction + exponent)
    return float_text(value, is_double=True) if math.isfinite(value) else f'"{float_text(value, is_double=True)}"'


def _string(quote: str, text: str, at: int) -> tuple[str, int]:
    """The content of a string whose first quote is before `at`, and the place where it ends."""
    stop = _STOP.get(quote)
    if stop is None:
        raise _Malformed
    start, has_escapes = at, False
    while (match := stop.search(text, at)) is not None:
        if match[0] == quote:
            content = text[start : match.start()]
            return _unescaped(content, quote) if has_escapes else content, match.end()
        has_escapes, at = True, match.end() + 1
    raise _Malformed


def _unescaped(content: str, quote: str) -> str:
    def letter(match: re.Match[str]) -> str:
        code, other = match.groups()
        if code:
            return chr(int(code, 16))
        if other != quote and other not in _ESCAPES:
            raise _Malformed
        return _ESCAPES.get(other, other)

    text = _ESCAPE.sub(letter, content)
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # joins pairs


def _quoted(text: str) -> str:
    """The string as Jackson writes it."""
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    if match[0][0] == "\\":
        return "\\u" + match[0][2:].upper()
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
