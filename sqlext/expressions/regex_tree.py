"""The tree of a regular expression, and what can be computed from it alone: widths, costs, texts for other engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

Ranges = tuple[tuple[int, int], ...]  # of code points, both ends inclusive, in order, neither touching nor overlapping

LAST = 0x10FFFF
LINE_ENDS = "\n\r\x85\u2028\u2029"  # Java's
_NEVER = float("inf")


@dataclass(frozen=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """The options in the order in which they are tried."""

    options: tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """`most` is None where there is no limit."""

    body: Node
    least: int
    most: int | None
    is_greedy: bool


@dataclass(frozen=True)
class Group:
    body: Node
    number: int


@dataclass(frozen=True)
class Look:
    """What must, or must not, follow or precede a place."""

    body: Node
    is_ahead: bool
    is_negated: bool


@dataclass(frozen=True)
class Anchor:
    """`kind`: "begin", "end", "last line" (the end, or before the last end of a line), "word" (`\\b`) or "no word"."""

    kind: str


@dataclass(frozen=True)
class BackReference:
    """The text of a group; `folds`: the case of the letters from A to Z is ignored."""

    number: int
    folds: bool


Node = Union[Chars, Sequence, Choice, Repeat, Group, Look, Anchor, BackReference]


def union(ranges: list[tuple[int, int]]) -> Ranges:
    """
    >>> union([(5, 9), (1, 2), (3, 6)])
    ((1, 9),)
    """
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """
    >>> complement(((0, 9), (11, LAST)))
    ((10, 10),)
    """
    gaps, start = [], 0
    for low, high in ranges:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    return tuple([*gaps, (start, LAST)] if start <= LAST else gaps)


def parts_of(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Sequence):
        return node.parts
    if isinstance(node, Choice):
        return node.options
    return (node.body,) if isinstance(node, (Repeat, Group, Look)) else ()


def width(node: Node) -> tuple[int, int | None]:
    """The least and the greatest number of characters that a node takes; None for no limit."""
    if isinstance(node, Chars):
        return 1, 1
    if isinstance(node, Group):
        return width(node.body)
    if isinstance(node, Repeat):
        least, most = width(node.body)
        return least * node.least, 0 if most == 0 else _product(most, node.most)
    if isinstance(node, BackReference):
        return 0, None
    if isinstance(node, (Look, Anchor)):
        return 0, 0
    widths = [width(part) for part in parts_of(node)]
    limits = [most for _, most in widths if most is not None]
    is_limited = len(limits) == len(widths)
    if isinstance(node, Sequence):
        return sum(least for least, _ in widths), sum(limits) if is_limited else None
    return min(least for least, _ in widths), max(limits) if is_limited else None


def _product(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


def repeats_nothing(node: Node) -> bool:
    """Return True if the body of a repetition may be empty: engines differ in what its groups contain then."""
    if isinstance(node, Repeat) and width(node.body)[0] == 0:
        return True
    return any(repeats_nothing(part) for part in parts_of(node))


def backtracking_cost(node: Node, length: int) -> float:
    """An upper bound of the number of steps of a backtracking search in a text of that many characters.

    >>> several = Repeat(body=Chars(((97, 97),)), least=1, most=None, is_greedy=True)
    >>> backtracking_cost(several, 100)
    20402.0
    >>> backtracking_cost(Repeat(body=several, least=1, most=None, is_greedy=True), 100)  # (a+)+
    inf
    """
    _, steps = _ways(node, length)
    return steps if is_anchored(node) else steps * (length + 1)


def is_anchored(node: Node) -> bool:
    """Return True if a match can only begin where the text does."""
    if isinstance(node, Sequence):
        return bool(node.parts) and is_anchored(node.parts[0])
    if isinstance(node, Choice):
        return all(map(is_anchored, node.options))
    return is_anchored(node.body) if isinstance(node, Group) else node == Anchor("begin")


def _ways(node: Node, length: int) -> tuple[float, float]:
    """The number of ways in which a node may match at one place, and of steps in which all of them are found."""
    if isinstance(node, Sequence):
        ways, steps = 1.0, 1.0
        for part in node.parts:
            more, cost = _ways(part, length)
            steps, ways = steps + ways * cost, ways * more
        return ways, steps
    if isinstance(node, Choice):
        each = [_ways(option, length) for option in node.options]
        return sum(w for w, _ in each), sum(s for _, s in each)
    if isinstance(node, Look):
        return 1.0, _ways(node.body, length)[1]
    if isinstance(node, Group):
        return _ways(node.body, length)
    if isinstance(node, Repeat):
        return _ways_of_repeat(node, length)
    return 1.0, float(length) if isinstance(node, BackReference) else 1.0


def _ways_of_repeat(node: Repeat, length: int) -> tuple[float, float]:
    ways, steps = _ways(node.body, length)
    if width(node.body)[0] == 0:
        return _NEVER, _NEVER
    times = min(length, length if node.most is None else node.most) + 1
    if ways == 1:
        return float(times if node.most != node.least else 1), times * (steps + 1)
    if times > 64:
        return _NEVER, _NEVER
    all_ways = sum(ways**k for k in range(times + 1))
    return all_ways, all_ways * steps


def has_group_in_look(node: Node, *, is_inside: bool = False) -> bool:
    """Return True if a lookaround has a group, which Java keeps where Python's `re` forgets it."""
    is_inside = is_inside or isinstance(node, Look)
    return (is_inside and isinstance(node, Group)) or any(
        has_group_in_look(part, is_inside=is_inside) for part in parts_of(node)
    )


def scans_ahead(node: Node, *, is_inside: bool = False) -> bool:
    """Return True if a search may read far beyond the end of the match that it finds: it has an unlimited repetition
    inside an option or another repetition, as `a(.*b)?`."""
    if isinstance(node, Repeat):
        is_open = node.most is None
        return (is_open and is_inside) or scans_ahead(node.body, is_inside=is_inside or node.most != node.least)
    return any(scans_ahead(part, is_inside=is_inside or isinstance(node, (Choice, Look))) for part in parts_of(node))


# texts

_LAST_LINE = f"(?=(?:\\r\\n|(?<!\\r)\\n|[\\r{LINE_ENDS[2:]}])?\\Z)"
_PLACES = {"begin": "\\A", "end": "\\Z", "last line": _LAST_LINE, "word": "\\b", "no word": "(?!\\b)"}


def python_text(node: Node) -> str | None:
    """The pattern for Python's `re`, with the flag ASCII; None if it has none."""
    if any(isinstance(part, BackReference) and part.folds for part in _all_parts(node)):
        return None
    return _text(node, _PLACES)


def re2_text(node: Node) -> str | None:
    """The pattern for RE2, for texts that do not end in an end of a line; None if it would find other matches, or none.

    >>> any_number = Repeat(body=Chars(((97, 97),)), least=0, most=None, is_greedy=False)
    >>> re2_text(Sequence((any_number, Anchor("last line"))))
    'a*?\\\\z'
    """
    if repeats_nothing(node) or any(isinstance(part, (Look, BackReference)) for part in _all_parts(node)):
        return None
    return _text(node, {**_PLACES, "end": "\\z", "last line": "\\z", "no word": "\\B"})


def has_place(node: Node, kind: str) -> bool:
    return any(part == Anchor(kind) for part in _all_parts(node))


def has_reference(node: Node) -> bool:
    return any(isinstance(part, BackReference) for part in _all_parts(node))


def _all_parts(node: Node) -> list[Node]:
    return [node, *(inner for part in parts_of(node) for inner in _all_parts(part))]


def _text(node: Node, places: dict[str, str]) -> str:
    if isinstance(node, Chars):
        return _class_text(node.ranges)
    if isinstance(node, Sequence):
        return "".join(_text(p, places) if not isinstance(p, Choice) else f"(?:{_text(p, places)})" for p in node.parts)
    if isinstance(node, Choice):
        return "|".join(_text(option, places) for option in node.options)
    if isinstance(node, Group):
        return f"({_text(node.body, places)})"
    if isinstance(node, Look):
        return f"(?{'' if node.is_ahead else '<'}{'!' if node.is_negated else '='}{_text(node.body, places)})"
    if isinstance(node, BackReference):
        return f"(?:\\{node.number})"
    if isinstance(node, Anchor):
        return places[node.kind]
    body = _text(node.body, places)
    times = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.least, node.most))
    times = times or f"{{{node.least},{'' if node.most is None else node.most}}}"
    return (body if isinstance(node.body, Chars) else f"(?:{body})") + times + ("" if node.is_greedy else "?")


def _class_text(ranges: Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escaped(ranges[0][0])
    if ranges == ((0, LAST),):
        return "(?s:.)"
    is_negated = not ranges or (ranges[0][0] == 0 and ranges[-1][1] == LAST)
    shown = (complement(ranges) if ranges else ((0, LAST),)) if is_negated else ranges
    inner = "".join(_escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}" for low, high in shown)
    return f"[{'^' if is_negated else ''}{inner}]"


def _escaped(code: int) -> str:
    letter = chr(code)
    if code < 32 or code == 127:
        return f"\\x{code:02x}"
    return letter if code > 127 or letter.isalnum() or letter == "_" else f"\\{letter}"
