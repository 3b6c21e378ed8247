"""Functions of strings. Positions count characters from 1."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

from sqlext.expressions.coercion import as_result, chosen_type, takes
from sqlext.expressions.effort import size_of, spend
from sqlext.expressions.faults import invalid_value
from sqlext.expressions.function import (
    BINARY_AS_STRING,
    CASE_OF_ICU,
    PADDED_IS_STRING,
    Evaluate,
    Function,
    ResultType,
    Signature,
    Types,
    null_propagating,
)
from sqlext.expressions.spark_types import ArrayOf, nested

_WHOLE = (1 << 31) - 1


def substring(text: Any, position: int, length: int = _WHOLE) -> Any:
    """
    >>> substring("abcde", -2), substring("abcde", 0, 2), substring("abc", -5, 3)
    ('de', 'ab', 'a')
    """
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _part_type(signature: Signature) -> str:
    return "binary" if signature.types[:1] == ("binary",) else "string"


def _left(text: Any, length: int) -> Any:
    return text[: max(length, 0)]


def _right(text: Any, length: int) -> Any:
    return text[max(len(text) - length, 0) :] if length > 0 else text[:0]


def _replaced_size(text: str, search: str, replacement: str = "") -> int:
    more = len(replacement) - len(search)
    return len(text) + (text.count(search) * more if more > 0 and search else 0)


def _joined_size(separator: str | None, *parts: Any) -> int:
    counts = (1 + len(part) if isinstance(part, list) else 1 for part in parts)
    return size_of(*parts) + len(separator or "") * sum(counts)


def _padding(*, is_left: bool) -> Evaluate:
    def pad(text: Any, length: int, filler: Any = None) -> Any:
        if filler is None:
            filler = " " if isinstance(text, str) else b"\0"
        missing = length - len(text)
        if missing <= 0 or not filler:
            return text[: max(length, 0)]
        padding = (filler * (missing // len(filler) + 1))[:missing]
        return padding + text if is_left else text + padding

    return pad


def _padded_type(signature: Signature) -> str:
    is_binary = {*signature.types[:1], *signature.types[2:]} == {"binary"}
    return "binary" if is_binary and PADDED_IS_STRING not in signature.settings.is_on else "string"


def _padded_types(signature: Signature) -> Types | None:
    """The texts are of the type of the result, to which Spark casts binary values if it is a string."""
    kind = "binary" if signature.result == "binary" else "string"
    return takes(kind, "int", kind, optional=1)(signature)


def _padded_size(text: Any, length: int, pad: Any = None) -> int:
    return length if pad is None or pad else 0


def split_part(text: str, delimiter: str, index: int) -> str:
    """
    >>> split_part("a.b.c", ".", 2), split_part("a.b.c", ".", -1), split_part("a.b.c", ".", 9)
    ('b', 'c', '')
    """
    if index == 0:
        raise invalid_value("the index of split_part is 0", "the first part has the index 1, the last one -1")
    parts = text.split(delimiter) if delimiter else [text]
    at = index - 1 if index > 0 else len(parts) + index
    return parts[at] if 0 <= at < len(parts) else ""


def _locate(sub: str | None, text: str | None, position: int | None = 1) -> int | None:
    if position is None:
        return 0
    if sub is None or text is None:
        return None
    return 0 if position < 1 else 1 if not sub else text.find(sub, position - 1) + 1


def _replace(text: str, search: str, replacement: str = "") -> str:
    return text.replace(search, replacement) if search else text


def _translate(text: str, letters: str, replacements: str) -> str:
    table: dict[int, str | None] = {}
    for i, letter in enumerate(letters):
        table.setdefault(ord(letter), replacements[i] if i < len(replacements) else None)
    return text.translate(table)


def initcap(text: str) -> str:
    """
    >>> initcap("sPark-sql is")
    'Spark-sql Is'
    """
    words = text.lower().split(" ")
    return " ".join(word[:1].title() + word[1:] for word in words)


def _bind_initcap(signature: Signature) -> Evaluate:
    return initcap if CASE_OF_ICU in signature.settings.is_on else _initcap_of_java


def _initcap_of_java(text: str) -> str:
    """As `initcap`, with one character for each.

    >>> initcap("ßa"), _initcap_of_java("ßa")
    ('Ssa', 'ßa')
    """
    words = text.lower().split(" ")
    titles = ((word[:1].title(), word) for word in words)
    return " ".join(title + word[1:] if len(title) == 1 else word for title, word in titles)


def _substring_index(text: str, delimiter: str, count: int) -> str:
    """The text before, or from the end after, as many delimiters. Spark counts delimiters that overlap.

    >>> _substring_index("a.b.c", ".", 2), _substring_index("a.b.c", ".", -1), _substring_index("aaaa", "aa", 2)
    ('a.b', 'c', 'a')
    """
    if not delimiter or count == 0:
        return ""
    length = len(delimiter)
    at = -1 if count > 0 else len(text) - length + 1
    for _ in range(abs(count)):
        spend(length)
        at = text.find(delimiter, at + 1) if count > 0 else text.rfind(delimiter, 0, at + length - 1)
        if at < 0:
            return text
    return text[:at] if count > 0 else text[at + length :]


def _chr(code: int) -> str:
    return "" if code < 0 else chr(code & 0xFF)


def _ascii(text: str) -> int:
    return ord(text[0]) if text else 0


def _concat_type(signature: Signature) -> str | None:
    types, settings = signature.types, signature.settings
    if types and all(isinstance(nested(t), ArrayOf) or t == "void" for t in types):
        return chosen_type(types, settings)
    is_binary = set(types) == {"binary"} and BINARY_AS_STRING not in settings.is_on
    return "binary" if is_binary else "string"


def _concat(signature: Signature) -> Evaluate:
    """The concatenation. Spark evaluates all arguments, even after a NULL."""
    if isinstance(nested(signature.result), ArrayOf):
        return null_propagating(lambda *arrays: [element for array in arrays for element in array])
    empty: Any = b"" if signature.result == "binary" else ""
    return null_propagating(lambda *texts: empty.join(texts))


def _concat_ws(separator: str | None, *parts: Any) -> str | None:
    if separator is None:
        return None
    texts = (text for part in parts for text in (part if isinstance(part, list) else [part]))
    return separator.join(text for text in texts if text is not None)


def _concat_ws_types(signature: Signature) -> Types:
    return tuple(
        "array<string>" if i and isinstance(nested(t), ArrayOf) else "string" for i, t in enumerate(signature.types)
    )


def _trim(side: str, *, text_first: bool) -> Callable[[Signature], Evaluate]:
    strip: Callable[[str, str], str] = getattr(str, side)

    def bind(signature: Signature) -> Evaluate:
        if len(signature.types) == 1:
            return lambda text: strip(text, " ")
        return strip if text_first else lambda letters, text: strip(text, letters)

    return bind


def _reversed_type(signature: Signature) -> str:
    types = signature.types
    return types[0] if types and nested(types[0]) else "string"


def _octets(value: str | bytes) -> int:
    return len(value.encode() if isinstance(value, str) else value)


def _sha2(value: bytes, bits: int) -> str | None:
    size = bits or 256
    return hashlib.new(f"sha{size}", value).hexdigest() if size in (224, 256, 384, 512) else None


def _plain(
    evaluate: Evaluate,
    *parameters: str,
    result: str | ResultType = "string",
    optional: int = 0,
    size: Callable[..., int] | None = None,
) -> Function:
    return Function(parameters=takes(*parameters, optional=optional), result=result, bind=lambda _: evaluate, size=size)


def _padded(evaluate: Evaluate) -> Function:
    return Function(parameters=_padded_types, result=_padded_type, bind=lambda _: evaluate, size=_padded_size)


def _trimming(side: str, *, text_first: bool = False) -> Function:
    bind = _trim(side, text_first=text_first)
    return Function(parameters=takes("string", "string", optional=1), result="string", bind=bind)


def _number(evaluate: Evaluate, *parameters: str) -> Function:
    return _plain(evaluate, *parameters, result="int")


def _test(evaluate: Evaluate) -> Function:
    return _plain(evaluate, "string|binary", "string|binary", result="boolean")


_CONCAT = Function(parameters=as_result, result=_concat_type, bind=_concat, takes_nulls=True, size=size_of)
_LENGTH = _number(len, "string|binary")
_SUBSTRING = _plain(substring, "string|binary", "int", "int", result=_part_type, optional=1)
_LOCATE = Function(
    parameters=takes("string", "string", "int", optional=1), result="int", bind=lambda _: _locate, takes_nulls=True
)
_CHR = _plain(_chr, "bigint")
_SHA1 = _plain(lambda value: hashlib.sha1(value).hexdigest(), "binary")

STRINGS: dict[str, Function] = {
    **dict.fromkeys(("lower", "lcase"), _plain(str.lower, "string")),
    **dict.fromkeys(("upper", "ucase"), _plain(str.upper, "string")),
    "initcap": Function(parameters=takes("string"), result="string", bind=_bind_initcap),
    "trim": _trimming("strip"),
    "ltrim": _trimming("lstrip"),
    "rtrim": _trimming("rstrip"),
    "btrim": _trimming("strip", text_first=True),
    **dict.fromkeys(("substr", "substring"), _SUBSTRING),
    "left": _plain(_left, "string|binary", "int", result=_part_type),
    "right": _plain(_right, "string", "int"),
    **dict.fromkeys(("length", "len", "char_length", "character_length"), _LENGTH),
    "octet_length": _number(_octets, "string|binary"),
    "bit_length": _number(lambda value: 8 * _octets(value), "string|binary"),
    **dict.fromkeys(("concat", "||"), _CONCAT),
    "concat_ws": Function(
        parameters=_concat_ws_types, result="string", bind=lambda _: _concat_ws, takes_nulls=True, size=_joined_size
    ),
    "lpad": _padded(_padding(is_left=True)),
    "rpad": _padded(_padding(is_left=False)),
    "split_part": _plain(split_part, "string", "string", "int"),
    "startswith": _test(lambda text, part: text.startswith(part)),
    "endswith": _test(lambda text, part: text.endswith(part)),
    "contains": _test(lambda text, part: part in text),
    "instr": _number(lambda text, part: text.find(part) + 1, "string", "string"),
    **dict.fromkeys(("locate", "position"), _LOCATE),
    "replace": _plain(_replace, "string", "string", "string", optional=1, size=_replaced_size),
    "translate": _plain(_translate, "string", "string", "string"),
    "reverse": _plain(lambda value: value[::-1], "string|array", result=_reversed_type),
    "repeat": _plain(lambda text, times: text * times, "string", "int", size=lambda text, times: len(text) * times),
    "space": _plain(lambda times: " " * times, "int", size=lambda times: times),
    "substring_index": _plain(_substring_index, "string", "string", "int"),
    "ascii": _number(_ascii, "string"),
    **dict.fromkeys(("chr", "char"), _CHR),
    "md5": _plain(lambda value: hashlib.md5(value).hexdigest(), "binary"),
    **dict.fromkeys(("sha", "sha1"), _SHA1),
    "sha2": _plain(_sha2, "binary", "int"),
    "crc32": _plain(zlib.crc32, "binary", result="bigint"),
}
