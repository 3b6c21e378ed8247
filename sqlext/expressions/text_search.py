"""LIKE, ILIKE, RLIKE and the functions of regular expressions."""

from __future__ import annotations

from typing import Any

from sqlext.expressions.coercion import takes
from sqlext.expressions.effort import LARGEST, spend
from sqlext.expressions.faults import invalid_value, too_long
from sqlext.expressions.function import Evaluate, Function, Signature
from sqlext.expressions.like import like_pattern
from sqlext.expressions.regex import Regex, java_regex
from sqlext.expressions.regex_replacement import replacement_parts

_UNITS_OF_A_PART = 20  # for each part of a replacement


def _like(text: str, pattern: str, escape: str = "\\") -> bool:
    return like_pattern(pattern, escape).matches(text)


def _ilike(text: str, pattern: str, escape: str = "\\") -> bool:
    return _like(text.lower(), pattern.lower(), escape)


def _rlike(text: str, pattern: str) -> bool:
    return java_regex(pattern).first(text) is not None


def _group_index(regex: Regex, index: int) -> int:
    if not 0 <= index <= regex.groups:
        raise invalid_value(
            f"the pattern {regex.source!r} has no group {index}", f"it has the groups 0 to {regex.groups}"
        )
    return index


def _extract(text: str, pattern: str, index: int = 1) -> str:
    regex = java_regex(pattern)
    match = regex.first(text)
    return "" if match is None else match.group(_group_index(regex, index))


def _extract_all(text: str, pattern: str, index: int = 1) -> list[str]:
    regex = java_regex(pattern)
    return [match.group(_group_index(regex, index)) for match in regex.all(text)]


def _replace(text: str, pattern: str, replacement: str, position: int = 1) -> str:
    if position < 1:
        raise invalid_value("the position of regexp_replace is less than 1", "positions count from 1")
    regex = java_regex(pattern)
    if position - 1 >= len(text) and position > 1:
        return text
    searched = text[position - 1 :]  # for the pattern, the text begins at the position
    parts: list[str | int] | None = None
    size = len(text)
    pieces, end, match = [text[: position - 1]], 0, None
    for match in regex.all(searched):
        if parts is None:
            parts = replacement_parts(replacement, regex)
        spend(_UNITS_OF_A_PART * len(parts))
        groups = {part: match.group(part) for part in set(parts) if isinstance(part, int)}
        filled = "".join([part if isinstance(part, str) else groups[part] for part in parts])
        size += len(filled)
        if size > LARGEST:
            raise too_long(LARGEST)
        pieces += [match.between(end, match.spans[0][0]), filled]
        end = match.spans[0][1]
    return text if match is None else "".join([*pieces, match.between(end, len(match.text))])


def _count(text: str, pattern: str) -> int:
    return sum(1 for _ in java_regex(pattern).all(text))


def _substr(text: str, pattern: str) -> str | None:
    match = java_regex(pattern).first(text)
    return (match.group(0) or None) if match else None


def _instr(text: str, pattern: str, _: int = 0) -> int:
    match = java_regex(pattern).first(text)
    return 0 if match is None else match.start + 1


def _searching(result: str, evaluate: Evaluate, *parameters: str, optional: int = 0) -> Function:
    """A function whose second argument is a regular expression, read at once if it is constant."""

    def bind(signature: Signature) -> Evaluate:
        pattern: Any = signature.constants.get(1)
        if isinstance(pattern, str):
            java_regex(pattern)
        return evaluate

    return Function(parameters=takes(*parameters, optional=optional), result=result, bind=bind)


def _bind_like(signature: Signature) -> Evaluate:
    pattern: Any = signature.constants.get(1)
    if isinstance(pattern, str):
        like_pattern(pattern, signature.constants.get(2) or "\\")
    return _ilike if signature.name.lower() == "ilike" else _like


_LIKE = Function(parameters=takes("string", "string", "string", optional=1), result="boolean", bind=_bind_like)
_RLIKE = _searching("boolean", _rlike, "string", "string")

TEXT_SEARCH: dict[str, Function] = {
    **dict.fromkeys(("LIKE", "like", "ILIKE", "ilike"), _LIKE),
    **dict.fromkeys(("RLIKE", "rlike", "regexp", "regexp_like"), _RLIKE),
    "regexp_extract": _searching("string", _extract, "string", "string", "int", optional=1),
    "regexp_extract_all": _searching("array<string>", _extract_all, "string", "string", "int", optional=1),
    "regexp_replace": _searching("string", _replace, "string", "string", "string", "int", optional=1),
    "regexp_count": _searching("int", _count, "string", "string"),
    "regexp_substr": _searching("string", _substr, "string", "string"),
    "regexp_instr": _searching("int", _instr, "string", "string", "int", optional=1),
}
