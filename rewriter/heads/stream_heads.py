"""Reads SHOW, DESCRIBE, STOP and REFRESH of streaming tables from tokens."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import ParseError, Place
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import Parts, tokens_of
from sqlext.rewriter.text.tokens import closed, without_semicolons

SHOW, DESCRIBE, STOP, REFRESH = "SHOW", "DESCRIBE", "STOP", "REFRESH"
FIRST_WORDS = frozenset({SHOW, DESCRIBE, "DESC", STOP, REFRESH})
_FORMS = {
    SHOW: "SHOW STREAMING TABLES [LIKE 'pattern']",
    DESCRIBE: "DESCRIBE STREAMING TABLE [EXTENDED] name, or DESCRIBE STREAMING TABLE name FOR KEY (condition)",
    STOP: "STOP STREAMING TABLE name",
    REFRESH: "REFRESH STREAMING TABLE name",
}


@dataclass(frozen=True)
class StreamCommand:
    """`verb` is SHOW, DESCRIBE, STOP or REFRESH; `name` is the name of the table at `place`, None for SHOW, whose
    `place` is its words.

    `pattern`: the names that SHOW lists, as `view_statements.fits` reads it; `is_extended`: DESCRIBE … EXTENDED;
    `key`: the condition of DESCRIBE … FOR KEY.
    """

    verb: str
    name: Parts | None
    place: Place
    pattern: str = "*"
    is_extended: bool = False
    key: Fragment | None = None


def parse_command(text: str) -> StreamCommand | None:
    """The command of a statement; None for all other text. Raises ParseError if something else follows the command.

    >>> command = parse_command("stop streaming table db.`Alerts`;")
    >>> command.verb, command.name
    ('STOP', ('db', 'Alerts'))
    >>> parse_command("SHOW TABLES"), parse_command("SHOW STREAMING TABLES LIKE 'al*'").pattern
    (None, 'al*')
    >>> parse_command("DESC STREAMING TABLE EXTENDED t").is_extended
    True
    >>> parse_command("DESC STREAMING TABLE extended").name
    ('extended',)
    >>> parse_command("DESCRIBE STREAMING TABLE t FOR KEY (card = '4711')").key.text
    "card = '4711'"
    """
    tokens = without_semicolons(tokens_of(text))
    words = [token.word for token in tokens[:3]]
    verb = DESCRIBE if words[:1] == ["DESC"] else words[0] if words else ""
    if verb not in FIRST_WORDS or words[1:] != ["STREAMING", "TABLES" if verb == SHOW else "TABLE"]:
        return None
    hint = f"write {_FORMS[verb]}." + ("" if verb == SHOW else " SHOW STREAMING TABLES lists them.")
    cursor = Cursor(tokens, 3, text=text, error_class="STREAM_COMMAND", hint=hint)
    whole = cursor.fragment(0, 3).place
    if verb == SHOW:
        pattern = cursor.expect_pattern() if cursor.take("LIKE") else "*"
        command = StreamCommand(verb, None, whole, pattern=pattern)
    else:
        is_extended = verb == DESCRIBE and len(tokens) > 4 and tokens[4].text != "." and cursor.take("EXTENDED")
        name = cursor.take_name()
        if name is None:
            raise ParseError(
                "STREAM_COMMAND", f"{verb} STREAMING TABLE needs the name of a table", place=whole, hint=hint
            )
        key = _key(cursor) if verb == DESCRIBE and not is_extended and cursor.take("FOR") else None
        command = StreamCommand(verb, name.parts, Place(text, name.start, name.stop), is_extended=is_extended, key=key)
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
