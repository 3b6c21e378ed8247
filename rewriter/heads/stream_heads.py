"""Reads SHOW, DESCRIBE, STOP and REFRESH of streaming tables from tokens."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import Place
from sqlext.rewriter.heads.statement import OwnStatement
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import Parts
from sqlext.rewriter.text.tokens import closed

SHOW, DESCRIBE, STOP, REFRESH = "SHOW", "DESCRIBE", "STOP", "REFRESH"
_FORMS = {
    SHOW: "SHOW STREAMING TABLES [LIKE 'pattern']",
    DESCRIBE: "DESCRIBE STREAMING TABLE [EXTENDED] name, or DESCRIBE STREAMING TABLE name FOR KEY (condition)",
    STOP: "STOP STREAMING TABLE name",
    REFRESH: "REFRESH STREAMING TABLE name",
}


@dataclass(frozen=True)
class StreamCommand(OwnStatement):
    """`verb` is SHOW, DESCRIBE, STOP or REFRESH; `name` is the name of the table at `place`, None for SHOW, whose
    `place` is its words.

    `pattern`: the names that SHOW lists, as `view_statements.fits` reads it; `is_extended`: DESCRIBE … EXTENDED.
    """

    verb: str
    name: Parts | None
    place: Place
    pattern: str = "*"
    is_extended: bool = False


@dataclass(frozen=True)
class DescribeKey(OwnStatement):
    """DESCRIBE STREAMING TABLE `name` FOR KEY (`key`); `place` is that of the name."""

    name: Parts
    place: Place
    key: Fragment


def parse_command(text: str) -> StreamCommand | DescribeKey:
    """The command that a text with the first words of one is. Raises ParseError if something else follows it.

    >>> command = parse_command("stop streaming table db.`Alerts`;")
    >>> command.verb, command.name
    ('STOP', ('db', 'Alerts'))
    >>> parse_command("SHOW STREAMING TABLES LIKE 'al*'").pattern
    'al*'
    >>> parse_command("DESC STREAMING TABLE EXTENDED t").is_extended
    True
    >>> parse_command("DESC STREAMING TABLE extended").name
    ('extended',)
    >>> parse_command("DESCRIBE STREAMING TABLE t FOR KEY (card = '4711')").key.text
    "card = '4711'"
    """
    cursor = Cursor.of(text, error_class="STREAM_COMMAND")
    tokens = cursor.tokens
    verb = DESCRIBE if cursor.word == "DESC" else cursor.word
    cursor.index = 3
    cursor.hint = f"write {_FORMS[verb]}." + ("" if verb == SHOW else " SHOW STREAMING TABLES lists them.")
    command: StreamCommand | DescribeKey
    if verb == SHOW:
        pattern = cursor.expect_pattern() if cursor.take("LIKE") else "*"
        command = StreamCommand(verb, None, cursor.fragment(0, 3).place, pattern=pattern)
    else:
        is_extended = verb == DESCRIBE and len(tokens) > 4 and tokens[4].text != "." and cursor.take("EXTENDED")
        name = cursor.take_name()
        if name is None:
            raise cursor.error(f"{verb} STREAMING TABLE needs the name of a table", 0, 3)
        place = Place(text, name.start, name.stop)
        if verb == DESCRIBE and not is_extended and cursor.take("FOR"):
            command = DescribeKey(name.parts, place, _key(cursor))
        else:
            command = StreamCommand(verb, name.parts, place, is_extended=is_extended)
    if not cursor.is_at_end:
        what = "TABLES" if verb == SHOW else "TABLE and its name"
        raise cursor.error(f"nothing may follow {verb} STREAMING {what}", cursor.index, len(tokens))
    return command


def _key(cursor: Cursor) -> Fragment:
    """The condition of FOR KEY (condition), to the end of the statement."""
    cursor.expect("KEY (condition)", "KEY")
    opening, last = cursor.index, len(cursor.tokens) - 1
    if not cursor.is_at("(") or last == opening:
        raise cursor.expected("a condition on the key in parentheses")
    close = closed(cursor.text, cursor.tokens, opening, hint=cursor.hint)
    if close == opening + 1:
        raise cursor.error("a condition on the key is missing", opening, close + 1)
    condition = cursor.fragment(opening + 1, close)
    cursor.index = close + 1
    if not cursor.is_at_end:
        raise cursor.error("nothing may follow the condition of FOR KEY", cursor.index, last + 1)
    return condition
