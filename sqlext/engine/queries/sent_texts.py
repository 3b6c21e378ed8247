"""The texts that Spark received last, so that an error of a running query is shown in the user's own text.

Spark shows the SQL that it received, in which columns of the clause have generated names: `CAST(__s0 AS INT)`.
"""

from __future__ import annotations

import re
from collections import deque

from sqlext.errors import Place
from sqlext.rewriter.text.splice import Text

_SENT: deque[tuple[Text, str]] = deque(maxlen=64)
_BLOCK = re.compile(r"\n?== SQL \(line (\d+), position (\d+)\) ==\n((?:.*\n +\^+ *\n?)+)")
_MARKED_LINE = re.compile(r"(.*)\n( +)(\^+) *\n?")
# an unquoted name of ours, or its end where Spark has cut the line
_GENERATED = re.compile(
    r"\b(?:__[a-z]+_?\d+|__rows|_pyspark_\w+|\w*sqlext_\w+)\b|\.\.\.\w*(?:(?:asof|right|left)\d+_\w+|[0-9a-f]{6}\b)"
)


def note(text: Text, user_text: str) -> None:
    """Keep a text that is sent to Spark, and the statement that it was made from."""
    _SENT.append((text, user_text))


def in_users_text(message: str) -> str:
    """Spark's message about a query that was made from a statement, with the excerpt of the statement.

    Messages without generated names, which may be about plain SQL, remain as they are.

    >>> from sqlext.rewriter.text.splice import join, standing_for
    >>> note(join("SELECT ", standing_for("__s0", 9), " + 1"), "MEASURES LAST(x) + 1 AS y")
    >>> print(in_users_text("Overflow.\\n== SQL (line 1, position 8) ==\\nSELECT __s0 + 1\\n       ^^^^\\n"))
    Overflow.
    == SQL (line 1, position 10) ==
      1 | MEASURES LAST(x) + 1 AS y
        |          ^^^^^^^
    """
    block = _BLOCK.search(message)
    if block is None or _GENERATED.search(block[3]) is None:
        return message
    marked = list(_MARKED_LINE.finditer(block[3]))
    fragment = "\n".join(m[1][len(m[2]) : len(m[2]) + len(m[3])] for m in marked)
    whole_lines = [m[1] for m in marked if "..." not in m[1] and "_pyspark_" not in m[1]]
    places = _places(fragment, whole_lines, int(block[1]), int(block[2]))
    shown = ""
    if len(places) == 1:
        shown = f"\n== SQL (line {places[0].line}, position {places[0].column}) ==\n{places[0].excerpt()}"
    elif places:  # in several statements
        shown = f"\n== SQL ==\n{places[0].text[places[0].start : places[0].stop]}"
    return message[: block.start()] + shown + message[block.end() :]


def _places(fragment: str, whole_lines: list[str], line: int, position: int) -> list[Place]:
    """The places of a part of Spark's text, one for each statement that has it, the last statement first."""
    places: dict[str, Place] = {}
    for text, user_text in reversed(_SENT):
        sent = str(text)
        if user_text in places or fragment not in sent or any(each not in sent for each in whole_lines):
            continue
        near = sum(map(len, sent.splitlines(keepends=True)[: line - 1])) + position - 1
        place = place_of_fragment(fragment, near, text, user_text)
        if place is not None:
            places[user_text] = place
    return list(places.values())


def place_of_fragment(fragment: str, near: int, text: Text, user_text: str, part: slice | None = None) -> Place | None:
    """The place of a fragment of `text`, which is about `near` characters from its beginning; `part`: of the
    characters `part.start` to `part.stop` of the fragment."""
    part = part or slice(0, len(fragment))
    starts = [m.start() for m in re.finditer(re.escape(fragment), str(text))]  # helper names change the offsets
    for start in sorted(starts, key=lambda s: abs(s - near)):
        place = text.place(start + part.start, start + part.stop, user_text)
        if place is not None:
            return place
    return None
