"""Statements that write a stream into a table, read off the text; and what is remembered beside their checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.rewriter.text.names import Parts, name_at, tokens_of, unquoted
from sqlext.rewriter.text.tokens import STRING, Token, closing

OPTIONS = ("checkpointLocation", "trigger")
_VERSION = 1
_FILE = "_sqlext.json"  # in the checkpoint's folder


@dataclass(frozen=True)
class StreamTarget:
    """`CREATE [OR REFRESH] STREAMING TABLE name [OPTIONS (…)] AS query` or `INSERT INTO name query`.

    The query is characters `query_start` to `query_stop` (exclusive) of `text`.
    """

    text: str
    name: Parts
    place: Place
    query_start: int
    query_stop: int
    is_insert: bool
    checkpoint: str | None = None
    trigger: str | None = None


def parse_target(text: str) -> StreamTarget | None:
    """The table that a statement writes a query into; None for all other text.

    Raises UnsupportedError for an option that does not exist.

    >>> target = parse_target("CREATE OR REFRESH STREAMING TABLE db.t AS SELECT 1;")
    >>> target.name, target.text[target.query_start : target.query_stop], target.is_insert
    (('db', 't'), 'SELECT 1', False)
    >>> parse_target("INSERT INTO t SELECT 1").is_insert, parse_target("INSERT OVERWRITE t SELECT 1")
    (True, None)
    """
    tokens = tokens_of(text)
    while tokens and tokens[-1].text == ";":
        tokens = tokens[:-1]
    words = [t.word for t in tokens[:5]]
    if words[:2] == ["INSERT", "INTO"]:
        return _target(text, tokens, 3 if words[2:3] == ["TABLE"] else 2, is_insert=True)
    behind = 3 if words[:3] == ["CREATE", "OR", "REFRESH"] else 1
    if words[:1] == ["CREATE"] and words[behind : behind + 2] == ["STREAMING", "TABLE"]:
        return _target(text, tokens, behind + 2, is_insert=False)
    return None


def _target(text: str, tokens: tuple[Token, ...], i: int, is_insert: bool) -> StreamTarget | None:
    if [t.word for t in tokens[i : i + 3]] == ["IF", "NOT", "EXISTS"]:
        i += 3
    name = name_at(tokens, i)
    if name is None:
        return None
    i += 2 * len(name.parts) - 1
    options: dict[str, str] = {}
    if not is_insert:
        options, i = _options(text, tokens, i)
        i += i < len(tokens) and tokens[i].word == "AS"
    if i >= len(tokens):
        return None
    place = Place(text, name.start, name.stop)
    return StreamTarget(
        text, name.parts, place, tokens[i].start, tokens[-1].stop, is_insert,
        options.get("checkpointlocation"), options.get("trigger"),
    )  # fmt: skip


def _options(text: str, tokens: tuple[Token, ...], i: int) -> tuple[dict[str, str], int]:
    """`OPTIONS ('name' = 'value', …)` and the index behind it."""
    close = closing(tokens, i + 1) if [t.word for t in tokens[i : i + 2]] == ["OPTIONS", "("] else None
    if close is None:
        return {}, i
    inside, found = tokens[i + 2 : close], {}
    while inside:
        key, value = inside[0], inside[2] if len(inside) > 2 else inside[-1]
        name = _literal(key).lower()
        if name not in map(str.lower, OPTIONS) or value.kind != STRING:
            raise UnsupportedError(
                "STREAM_OPTION", f"a streaming table has no option {key.text}",
                place=Place(text, key.start, value.stop),
                hint="write OPTIONS ('checkpointLocation' = '…', 'trigger' = '10 seconds' or 'available-now').",
            )  # fmt: skip
        found[name] = _literal(value)
        inside = inside[4:]
    return found, close + 1


def _literal(token: Token) -> str:
    return token.text[1:-1] if token.kind == STRING else unquoted(token)


@dataclass(frozen=True)
class StoredPattern:
    """A clause of the query that wrote a checkpoint: its PATTERN as written, and a fingerprint of its whole plan."""

    pattern: str
    fingerprint: str


def check_same_query(checkpoint: Path, patterns: Sequence[tuple[StoredPattern, Place]]) -> None:
    """Raise BindError if the checkpoint was written by other clauses; remember these if it is new."""
    file = checkpoint / _FILE
    if not file.exists():
        checkpoint.mkdir(parents=True, exist_ok=True)
        stored = [pattern.__dict__ for pattern, _ in patterns]
        file.write_text(json.dumps({"version": _VERSION, "clauses": stored}, indent=1))
        return
    before = [StoredPattern(**fields) for fields in json.loads(file.read_text())["clauses"]]
    hint = f"DROP the table to begin anew, or remove {checkpoint} and what it has written so far stays."
    if len(before) != len(patterns):
        message = f"the checkpoint was written by a query with {len(before)} MATCH_RECOGNIZE, this has {len(patterns)}"
        raise BindError("CHANGED_QUERY", message, place=patterns[0][1] if patterns else None, hint=hint)
    for old, (new, place) in zip(before, patterns):
        if old.fingerprint != new.fingerprint:
            what = f"PATTERN ({old.pattern})" if old.pattern != new.pattern else "other columns or conditions"
            message = f"the checkpoint was written by {what}: it may lack rows that this query needs"
            raise BindError("CHANGED_QUERY", message, place=place, hint=hint)
