"""The parts of a large JSON text, found by Python's own scanner, which is written in C and here stores no values.

It accepts less than Jackson (no single quotes, no bare control characters). Where it refuses a text, the reader of
`json_paths` reads all of the text.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class _Unusual(Exception):
    """Raised for a text that Jackson reads in another way, or that may exceed a limit of Jackson."""


class Members:
    """`deepest`, `longest_name`, `most_digits`: the limits of Jackson."""

    def __init__(self, deepest: int, longest_name: int, most_digits: int):
        self.deepest, self.longest_name, self.most_digits = deepest, longest_name, most_digits
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._checked, parse_int=self._number, parse_float=self._number, parse_constant=_unusual
        )

    def texts(self, text: str, step: str | int) -> list[str] | None:
        """The texts of the fields with a name, or of the element with an index; None if the reader must read the text.

        >>> Members(1000, 50_000, 1000).texts('{"a": [1, 2], "b": 3, "a": null}', "a")
        ['[1, 2]', 'null']
        """
        start = _after_space(text, 0)
        if text[start : start + 1] != ("{" if isinstance(step, str) else "["):
            return None
        if self._may_be_too_deep(text):
            return None
        try:
            return self._members(text, start, step)
        except (_Unusual, ValueError, RecursionError):
            return None

    def _members(self, text: str, at: int, step: str | int) -> list[str]:
        close, members, number = ("}", [], 0) if isinstance(step, str) else ("]", [], 0)
        at = _after_space(text, at + 1)
        if text[at : at + 1] == close:
            return []
        while True:
            name: str | int = number
            if isinstance(step, str):
                if text[at : at + 1] != '"':
                    raise _Unusual
                name, at = self._decoder.raw_decode(text, at)
                if len(str(name)) > self.longest_name:
                    raise _Unusual
                at = _after_space(text, at)
                if text[at : at + 1] != ":":
                    raise _Unusual
                at = _after_space(text, at + 1)
            _, end = self._decoder.raw_decode(text, at)
            if name == step:
                members.append(text[at:end])
            number += 1
            at = _after_space(text, end)
            letter = text[at : at + 1]
            if letter == close:
                return members
            if letter != ",":
                raise _Unusual
            at = _after_space(text, at + 1)

    def _checked(self, pairs: list[tuple[str, Any]]) -> None:
        for name, _ in pairs:
            if len(name) > self.longest_name:
                raise _Unusual

    def _number(self, text: str) -> None:
        if len(text) > self.most_digits:
            raise _Unusual

    def _may_be_too_deep(self, text: str) -> bool:
        if text.count("[") + text.count("{") <= self.deepest:
            return False
        outside = np.frombuffer(_STRING.sub("", text).encode("utf-8", "replace"), np.uint8)
        change = np.isin(outside, list(b"[{")).astype(np.int32) - np.isin(outside, list(b"]}"))
        return int(np.cumsum(change).max(initial=0)) > self.deepest


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _unusual(_: str) -> None:
    raise _Unusual
