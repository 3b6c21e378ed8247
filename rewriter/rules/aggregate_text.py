"""The type of the text of an aggregate: `sum(DISTINCT v)`, `listagg(v, ',' ORDER BY ts)`, `mode() WITHIN GROUP (…)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlext.expressions.aggregates.aggregate_table import AGGREGATES, parameter_types
from sqlext.expressions.aggregates.aggregate_types import aggregate_result
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.splice import Text, join


class _Types(Protocol):
    def types(self, texts: Sequence[Text]) -> list[str]: ...


def aggregate_type_of(resolver: _Types, text: Text) -> str | None:
    """The type of an aggregate, or None if the text is none. `resolver`: of the types of its arguments."""
    raw = str(text)
    parts = lexemes(Fragment(raw, 0, len(raw)))
    name = parts[0].raw.lower() if parts else ""
    if name not in AGGREGATES or len(parts) < 3 or parts[1].raw != "(":
        return None
    arguments = _arguments(raw, parts, 2)
    within = next((i for i in range(len(parts)) if parts[i].word == "WITHIN"), None)
    if within is not None and (not arguments or name.startswith("percentile")):
        arguments = [*_arguments(raw, parts, within + 5), *arguments]
    types = tuple(resolver.types([join(argument) for argument in arguments]))
    return aggregate_result(name, parameter_types(name, types))


def _arguments(raw: str, parts: Sequence[Lexeme], first: int) -> list[str]:
    """The arguments from lexeme `first` on, up to ORDER BY, a direction or the closing parenthesis."""
    arguments: list[str] = []
    depth, start = 0, first + (parts[first].word in ("DISTINCT", "ALL"))
    for i in range(start, len(parts)):
        word = parts[i].word
        is_end = depth == 0 and (word in (")", "ASC", "DESC", "NULLS", "IGNORE", "RESPECT") or _is_order(parts, i))
        if is_end or (depth == 0 and word == ","):
            if start < i:
                arguments.append(raw[parts[start].start : parts[i - 1].stop])
            start = i + 1
        if is_end:
            break
        depth += (word in "([{") - (word in ")]}")
    return arguments


def _is_order(parts: Sequence[Lexeme], i: int) -> bool:
    return parts[i].word == "ORDER" and i + 1 < len(parts) and parts[i + 1].word == "BY"
