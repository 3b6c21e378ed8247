"""The texts that Spark received last, so that an error of a running query is shown in the user's own text.

Spark shows the SQL that it received, in which columns of the clause have generated names: `CAST(__s0 AS INT)`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from sqlext.errors import Place
from sqlext.rewriter.text.composed import Composed
from sqlext.rewriter.text.splice import Text

HELPER = re.compile(r"__sqlext_helper_\d+__")
# the name of a helper in the text that Spark received, alone and as a qualifier
HELPER_OF_SPARK = r"`?(?:_pyspark_(?:connect_temp_view_)?[0-9a-f]{32}|__sqlext_helper_\d+__)`?"
HELPER_NAME = re.compile(HELPER_OF_SPARK, re.IGNORECASE)
QUALIFIER = re.compile(rf"{HELPER_OF_SPARK}\.", re.IGNORECASE)
_COMPOSED: deque[Composed] = deque(maxlen=64)
_SENT: deque[tuple[Text, str]] = deque(maxlen=64)
_BLOCK = re.compile(r"\n?== SQL \(line (\d+), position (\d+)\) ==\n((?:.*\n *\^+ *\n?)+)")
_MARKED_LINE = re.compile(r"(.*)\n( *)(\^+) *\n?")
_CUT = "..."  # where Spark has left out a part of a line
# an unquoted name of ours, or its end where Spark has cut the line
_GENERATED = re.compile(
    r"\b(?:__[a-z]+_?\d+|__rows|_pyspark_\w+|\w*sqlext_\w+)\b|\.\.\.\w*(?:(?:asof|right|left)\d+_\w+|[0-9a-f]{6}\b)"
)


def note_composed(composed: Composed) -> None:
    """Keep a statement that is composed of the arguments of a Python function."""
    _COMPOSED.append(composed)


def _in_argument(place: Place) -> Place:
    """The place in an argument, if the statement is composed of some."""
    places = (composed.place(place) for composed in _COMPOSED if composed.text == place.text)
    return next(filter(None, places), place)


def note(text: Text, user_text: str) -> None:
    """Keep a text that is sent to Spark, and the statement that it was made from."""
    _SENT.append((text, user_text))


def in_users_text(message: str) -> str:
    """Spark's message about a query that was made from a statement, with the excerpt of the statement.

    Messages about text that sqlext did not write, which may be plain SQL, remain as they are.

    >>> from sqlext.rewriter.text.splice import join, standing_for
    >>> note(join("SELECT ", standing_for("__s0", 9), " + 1"), "MEASURES LAST(x) + 1 AS y")
    >>> print(in_users_text("Overflow.\\n== SQL (line 1, position 8) ==\\nSELECT __s0 + 1\\n       ^^^^\\n"))
    Overflow.
    == SQL (line 1, position 10) ==
      1 | MEASURES LAST(x) + 1 AS y
        |          ^^^^^^^
    """
    block = _BLOCK.search(message)
    if block is None:
        return message
    marked = list(_MARKED_LINE.finditer(block[3]))
    fragment = "\n".join(m[1][len(m[2]) : len(m[2]) + len(m[3])] for m in marked)
    shown_lines = [m[1].removeprefix(_CUT).removesuffix(_CUT) for m in marked if "_pyspark_" not in m[1]]
    if _GENERATED.search(block[3]) is None and not any(map(_is_ours, shown_lines)):
        return message
    places = list(map(_in_argument, _places(fragment, shown_lines, int(block[1]), int(block[2]))))
    shown = ""
    if len(places) == 1:
        shown = f"\n== SQL (line {places[0].line}, position {places[0].column}) ==\n{places[0].excerpt()}"
    elif places:  # in several statements
        shown = f"\n== SQL ==\n{places[0].text[places[0].start : places[0].stop]}"
    return message[: block.start()] + shown + message[block.end() :]


def _is_ours(line: str) -> bool:
    """Return True for a line of a text that was sent to Spark and that the user did not write."""
    return any(line in str(text) and line not in user_text for text, user_text in _SENT)


def _places(fragment: str, shown_lines: list[str], line: int, position: int) -> list[Place]:
    """The places of a part of Spark's text, one for each statement that has it, the last statement first."""
    places: dict[str, Place] = {}
    for text, user_text in reversed(_SENT):
        sent = str(text)
        if user_text in places or fragment not in sent or any(each not in sent for each in shown_lines):
            continue
        near = sum(map(len, sent.splitlines(keepends=True)[: line - 1])) + position - 1
        place = place_of_fragment(fragment, near, text, user_text)
        if place is not None:
            places[user_text] = place
    return list(places.values())


def place_of_fragment(fragment: str, near: int, text: Text, user_text: str, part: slice | None = None) -> Place | None:
    """The place of a fragment of `text`, which is about `near` characters from its beginning; `part`: of the
    characters `part.start` to `part.stop` of the fragment."""
    for start, stop in starts_of(fragment, near, text):
        if part is not None:
            start, stop = start + part.start, start + part.stop
        place = text.place(start, stop, user_text)
        if place is not None:
            return place
    return None


def starts_of(fragment: str, near: int, text: Text) -> Iterator[tuple[int, int]]:
    """(start, stop) of each occurrence in `text` of a fragment of the text that Spark received, the one nearest to
    character `near` first. Helpers have other names there, which changes the offsets."""
    pattern = HELPER.pattern.join(map(re.escape, HELPER_NAME.split(fragment)))
    spans = [match.span() for match in re.finditer(pattern, str(text))] if fragment else []
    yield from sorted(spans, key=lambda span: abs(span[0] - near))
