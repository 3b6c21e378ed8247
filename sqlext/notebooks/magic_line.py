"""The line of `%sql` and `%%sql`: options, the variable that receives the result, and the SQL that follows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from sqlext.errors import ParseError, Place

_OPTION = re.compile(r"\s*(--[A-Za-z][\w-]*|-[A-Za-z])(?=[\s=]|$)")
_VALUE = re.compile(r"(?:\s*=\s*|\s+)([^\s-]\S*)")
_TARGET = re.compile(r"\s*([^\W\d]\w*)\s*<<")
_NAME = re.compile(r"\s*([^\W\d]\w*)\s*$")
_COMMENT = re.compile(r"\s*-- sqlext:([^\n]*)")
_SHORT = {"-v": "--view", "-l": "--limit", "-c": "--cache", "-e": "--explain", "-d": "--draw", "-w": "--why"}
_WITH_VALUE = {"--view": "a name", "--limit": "a number of rows"}
_FLAGS: dict[str, dict[str, Any]] = {
    "--cache": {"is_cached": True},
    "--explain": {"explains": True},
    "--draw": {"draws": True},
    "--why": {"says_why": True},
}


@dataclass(frozen=True, kw_only=True)
class MagicLine:
    """The parts of the text after `%sql` or `%%sql`.

    `view`: the temporary view to create; `limit`: how many rows are shown; `is_cached`: keep the rows in Spark's cache;
    `explains`: show the plan instead of the result; `draws`: draw the matches over time; `says_why`: instead of the
    result show where rows are lost, and draw the matches; `target`: the Python variable of the result; `sql`: the rest
    of the text, with blanks in place of the parts that were read, so that columns stay the same.
    """

    view: str | None = None
    limit: int | None = None
    is_cached: bool = False
    explains: bool = False
    draws: bool = False
    says_why: bool = False
    target: str | None = None
    sql: str = ""


def parse_magic_line(line: str, *, has_body: bool = False) -> MagicLine:
    """The options at the beginning of a line, a target (`name <<`), and the SQL that follows.

    `has_body`: SQL follows on further lines, so that a name alone on this line is a target. Raises ParseError
    (MAGIC_OPTION).

    >>> parse_magic_line("--view v -l 5 df << SELECT '--cache'")
    MagicLine(view='v', limit=5, is_cached=False, explains=False, draws=False, says_why=False, target='df', sql="                    SELECT '--cache'")
    >>> parse_magic_line("--cache df", has_body=True).target
    'df'
    """  # noqa: E501
    options, at = MagicLine(), 0
    while (option := _OPTION.match(line, at)) is not None:
        options, at = _with_option(options, line, option)
    target = _TARGET.match(line, at) or (_NAME.match(line, at) if has_body else None)
    if target is not None:
        options, at = replace(options, target=target[1]), target.end()
    return replace(options, sql=" " * at + line[at:] if line[at:].strip() else "")


def options_of(cell: str | None) -> str:
    """The options in a comment on the first line of a cell, if the cell has no magic line.

    >>> options_of("-- sqlext: --draw\\nSELECT 1")
    ' --draw'
    """
    comment = _COMMENT.match(cell or "")
    return comment[1] if comment is not None else ""


def with_options_in_comment(line: str, body: str, *, has_body: bool) -> str | None:
    """The text of a SQL cell that does what `%%sql line` (or `%sql line`, without a body) does; None if it cannot.

    >>> with_options_in_comment("--view v --draw", "SELECT 1", has_body=True)
    '-- sqlext: --view v --draw\\nSELECT 1'
    >>> with_options_in_comment("--limit 5 SELECT 1", "", has_body=False)
    '-- sqlext: --limit 5\\nSELECT 1'
    """
    try:
        sql = parse_magic_line(line, has_body=has_body).sql
    except ParseError:
        return None
    options = line[: len(line) - len(sql.lstrip())].strip()
    first = f"-- sqlext: {options}\n" if options else ""
    return first + "\n".join(part for part in (sql.strip(), body) if part)


def _with_option(options: MagicLine, line: str, option: re.Match[str]) -> tuple[MagicLine, int]:
    """The options with one more, and the offset where that option ends."""
    name = _SHORT.get(option[1], option[1])
    if name in _FLAGS:
        return replace(options, **_FLAGS[name]), option.end()
    if name not in _WITH_VALUE:
        close = get_close_matches(name, [*_FLAGS, *_WITH_VALUE], n=1)
        hint = f"did you mean {close[0]}?" if close else f"the options are {', '.join([*_WITH_VALUE, *_FLAGS])}."
        raise _error(line, option.start(1), option.end(1), f"{option[1]} is no option of %sql", hint)
    value = _VALUE.match(line, option.end())
    is_right = value is not None and (value[1].isdecimal() if name == "--limit" else value[1].isidentifier())
    if value is None or not is_right:
        wanted = _WITH_VALUE[name]
        raise _error(line, option.start(1), option.end(1), f"{option[1]} needs {wanted}", f"write {name} {wanted}.")
    if name == "--limit":
        return replace(options, limit=int(value[1])), value.end()
    return replace(options, view=value[1]), value.end()


def _error(line: str, start: int, stop: int, message: str, hint: str) -> ParseError:
    return ParseError("MAGIC_OPTION", message, place=Place(line, start, stop), hint=hint)
