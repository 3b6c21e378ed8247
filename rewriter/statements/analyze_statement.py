"""`EXPLAIN MATCH ANALYZE [FORMAT JSON] [LIMIT n PARTITIONS] query`: the statement that runs a query and says where its
rows are lost."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import tokenize, without_semicolons

_HINT = "write EXPLAIN MATCH ANALYZE [FORMAT JSON] [LIMIT n PARTITIONS] SELECT …."


@dataclass(frozen=True, kw_only=True)
class AnalyzeStatement:
    """`partitions`: the most partitions to read, None for all."""

    query: Fragment
    is_json: bool = False
    partitions: int | None = None


def parse_analyze(text: str) -> AnalyzeStatement | None:
    """The parts of EXPLAIN MATCH ANALYZE; None for all other text. Raises ParseError: UNEXPECTED_WORD.

    >>> analyze = parse_analyze("EXPLAIN MATCH ANALYZE FORMAT JSON LIMIT 5 PARTITIONS SELECT 1;")
    >>> analyze.query.text, analyze.is_json, analyze.partitions
    ('SELECT 1', True, 5)
    >>> parse_analyze("EXPLAIN MATCH SELECT 1") is None
    True
    """
    if "ANALYZE" not in text.upper():
        return None
    cursor = Cursor(without_semicolons(tokenize(text)), text=text, error_class="UNEXPECTED_WORD", hint=_HINT)
    if not cursor.take("EXPLAIN", "MATCH", "ANALYZE"):
        return None
    is_json, partitions = take_options(cursor)
    if cursor.is_at_end:
        raise cursor.expected("a query")
    query = cursor.fragment(cursor.index, len(cursor.tokens))
    return AnalyzeStatement(query=query, is_json=is_json, partitions=partitions)


def take_options(cursor: Cursor) -> tuple[bool, int | None]:
    """Move past the options after ANALYZE; return whether the format is JSON, and the limit of partitions."""
    is_json, partitions = False, None
    while cursor.is_at("FORMAT") or cursor.is_at("LIMIT"):
        if cursor.take("FORMAT"):
            is_json = cursor.take("JSON")
            if not is_json and not cursor.take("TEXT"):
                raise cursor.expected("JSON or TEXT")
        else:
            cursor.expect("LIMIT", "LIMIT")
            number = "" if cursor.is_at_end else cursor.tokens[cursor.index].text
            partitions = int(number) if number.isdecimal() else 0
            if not partitions:
                raise cursor.expected("a number of partitions, at least 1,")
            cursor.index += 1
            if not cursor.take_one_of(("PARTITIONS", "PARTITION")):
                raise cursor.expected("PARTITIONS")
    return is_json, partitions
