"""Reads SHOW, DESCRIBE, STOP and REFRESH of streaming tables from tokens."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import ParseError, Place
from sqlext.rewriter.text.names import Parts, name_at, tokens_of

SHOW, DESCRIBE, STOP, REFRESH = "SHOW", "DESCRIBE", "STOP", "REFRESH"
FIRST_WORDS = frozenset({SHOW, DESCRIBE, "DESC", STOP, REFRESH})


@dataclass(frozen=True)
class StreamCommand:
    """`verb` is SHOW, DESCRIBE, STOP or REFRESH; `name` is the name of the table, None for SHOW."""

    verb: str
    name: Parts | None
    place: Place


def parse_command(text: str) -> StreamCommand | None:
    """The command of a statement; None for all other text. Raises ParseError if something else follows the command.

    >>> command = parse_command("stop streaming table db.`Alerts`;")
    >>> command.verb, command.name
    ('STOP', ('db', 'Alerts'))
    >>> parse_command("SHOW TABLES"), parse_command("SHOW STREAMING TABLES").name
    (None, None)
    """
    tokens = tokens_of(text)
    while tokens and tokens[-1].text == ";":
        tokens = tokens[:-1]
    words = [token.word for token in tokens[:3]]
    verb = DESCRIBE if words[:1] == ["DESC"] else words[0] if words else ""
    if verb not in FIRST_WORDS or words[1:] != ["STREAMING", "TABLES" if verb == SHOW else "TABLE"]:
        return None
    name = None if verb == SHOW else name_at(tokens, 3)
    stop = 3 if name is None else 3 + 2 * len(name.parts) - 1
    whole = Place(text, tokens[0].start, tokens[2].stop)
    if verb != SHOW and name is None:
        raise ParseError(
            "STREAM_COMMAND", f"{verb} STREAMING TABLE needs the name of a table", place=whole,
            hint="SHOW STREAMING TABLES lists them.",
        )  # fmt: skip
    if stop < len(tokens):
        extra = Place(text, tokens[stop].start, tokens[-1].stop)
        raise ParseError("STREAM_COMMAND", f"nothing may follow {verb} STREAMING TABLE and its name", place=extra)
    return StreamCommand(verb, None if name is None else name.parts, whole)
