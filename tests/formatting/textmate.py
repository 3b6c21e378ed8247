"""A small TextMate engine, as far as our grammar goes: match, begin … end, include, captures of begin and end.

It reads a whole text instead of lines, and runs the patterns with Python's `re`. Checked against vscode-textmate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Found = tuple[str, str]  # the text and the name of its scope


def scopes(grammar: dict[str, Any], text: str) -> list[Found]:
    """The named pieces of a text."""
    found, position = [], 0
    patterns = [{"include": "#comments"}, {"include": "#strings"}, *grammar["patterns"]]
    while position < len(text):
        position = _step(grammar, patterns, text, position, found)
    return found


def _flat(grammar: dict[str, Any], patterns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for pattern in patterns:
        if "include" in pattern:
            pattern = grammar["repository"][pattern["include"].removeprefix("#")]
        if "match" in pattern or "begin" in pattern:
            yield pattern
        else:
            yield from _flat(grammar, pattern["patterns"])


def _step(grammar: dict[str, Any], patterns: Any, text: str, position: int, found: list[Found]) -> int:
    """Go past the first of the patterns that match next, or to the end; the first in the list wins."""
    candidates = [(m.start(), i, m, p) for i, p in enumerate(_flat(grammar, list(patterns)))
                  if (m := re.compile(p.get("match") or p["begin"]).search(text, position))]  # fmt: skip
    if not candidates:
        return len(text)
    _, _, match, pattern = min(candidates, key=lambda c: c[:2])
    if "match" in pattern:
        found.append((match[0], pattern["name"]))
        return max(match.end(), position + 1)
    _captures(pattern, "beginCaptures", match, found)
    return _inside(grammar, pattern, text, match.end(), found)


def _inside(grammar: dict[str, Any], outer: dict[str, Any], text: str, position: int, found: list[Found]) -> int:
    end = {"match": outer["end"], "name": ""}
    while position < len(text):
        inner: list[Found] = []
        before = position
        position = _step(grammar, [end, *outer.get("patterns", [])], text, before, inner)
        ended = re.compile(outer["end"]).search(text, before)
        if inner and inner[0][1] == "" and ended:
            _captures(outer, "endCaptures", ended, found)
            return position
        found += inner
    return position


def _captures(pattern: dict[str, Any], which: str, match: re.Match[str], found: list[Found]) -> None:
    for group, capture in sorted(pattern.get(which, {}).items()):
        found.append((match[int(group)], capture["name"]))
