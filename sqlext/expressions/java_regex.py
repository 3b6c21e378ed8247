"""Java's syntax of regular expressions, read into a tree.

Java's `.` and `$` recognize five ends of lines. Its classes `\\d \\w \\s \\b` are ASCII, and `(?i)` ignores the case of
ASCII letters only. `(?i)` becomes sets of both letters, so the tree has no flags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from sqlext.errors import UnsupportedError
from sqlext.expressions.faults import invalid_pattern
from sqlext.expressions.regex_tree import (
    LAST,
    LINE_ENDS,
    Anchor,
    BackReference,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    Ranges,
    Repeat,
    Sequence,
    complement,
    union,
    width,
)

_DEEPEST = 60  # groups inside groups, which recursive functions read
_MOST_TIMES = (1 << 31) - 1


def _ranges(text: str) -> Ranges:
    """Pairs of characters: the first and the last of each range."""
    return union([(ord(low), ord(high)) for low, high in zip(text[::2], text[1::2])])


_SETS = {
    "d": _ranges("09"),
    "w": _ranges("azAZ09__"),
    "s": _ranges("  \t\r"),
    "h": _ranges("  \t\t\xa0\xa0\u1680\u1680\u180e\u180e\u2000\u200a\u202f\u202f\u205f\u205f\u3000\u3000"),
    "v": _ranges("\n\r\x85\x85\u2028\u2029"),
}
_POSIX = {
    "Lower": _ranges("az"),
    "Upper": _ranges("AZ"),
    "Alpha": _ranges("azAZ"),
    "Digit": _ranges("09"),
    "Alnum": _ranges("azAZ09"),
    "Punct": _ranges("!/:@[`{~"),
    "Space": _ranges("  \t\r"),
}
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_PLACES = {"b": "word", "B": "no word", "A": "begin", "Z": "last line", "z": "end"}
_LOOKS = {"?=": (True, False), "?!": (True, True), "?<=": (False, False), "?<!": (False, True)}
_NUMBERS = re.compile(r"(\d+)(,(\d*))?\}", re.ASCII)
_INLINE = re.compile(r"\(\?([is]+)\)")
_NAME = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)>")
_PROPERTY = re.compile(r"\{(\w+)\}")
_CODES = {
    "x": re.compile(r"([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\}"),
    "u": re.compile(r"([0-9a-fA-F]{4})"),
    "0": re.compile(r"([0-3][0-7]{0,2}|[4-7][0-7]?)"),
}
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_NOTHING = Sequence(())


class JavaPattern(NamedTuple):
    tree: Node
    groups: int
    names: Mapping[str, int]


def read_java_regex(pattern: str) -> JavaPattern:
    """Read a pattern. Raises DataError INVALID_PATTERN, and UnsupportedError REGULAR_EXPRESSION for unsupported syntax.

    >>> read_java_regex("(?<x>[ab]?)c").names
    {'x': 1}
    """
    flags = ""
    if match := _INLINE.match(pattern):
        flags, pattern = match[1], pattern[match.end() :]
    reader = _PatternReader(pattern, folds="i" in flags, dot_all="s" in flags)
    tree = reader.choice()
    if reader.i < len(pattern):
        raise invalid_pattern(f"{pattern!r} has a closing parenthesis too many")
    return JavaPattern(tree, reader.groups, reader.names)


class _PatternReader:
    """One pass over a pattern."""

    def __init__(self, pattern: str, *, folds: bool, dot_all: bool):
        self.pattern, self.folds, self.i = pattern, folds, 0
        self.dot = Chars(((0, LAST),) if dot_all else complement(union([(ord(end), ord(end)) for end in LINE_ENDS])))
        self.groups, self.depth = 0, 0
        self.names: dict[str, int] = {}

    def choice(self) -> Node:
        options = [self._sequence()]
        while self._skips("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.i < len(self.pattern) and self.pattern[self.i] not in "|)":
            *before, last = self._atoms()
            parts += [*before, self._repeated(last)]
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _skips(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.i):
            return False
        self.i += len(text)
        return True

    def _take(self) -> str:
        self.i += 1
        return self.pattern[self.i - 1]

    def _match(self, regex: re.Pattern[str]) -> re.Match[str] | None:
        match = regex.match(self.pattern, self.i)
        if match:
            self.i = match.end()
        return match

    def _atoms(self) -> list[Node]:
        """The atoms at this place; a quantifier that follows belongs to the last of them."""
        letter = self._take()
        if letter == "\\" and self._skips("Q"):
            return [_NOTHING, *(self._literal(ord(quoted)) for quoted in self._quoted())]
        if letter in "*+?":
            raise invalid_pattern(f"{self.pattern!r} repeats nothing by {letter}")
        if letter == "{":
            self.i -= 1  # Java repeats an empty text
            return [_NOTHING]
        if letter in ".^$":
            return [self.dot if letter == "." else Anchor("begin" if letter == "^" else "last line")]
        if letter == "(":
            return [self._group()]
        if letter == "[":
            return [Chars(self._class())]
        return [self._escape() if letter == "\\" else self._literal(ord(letter))]

    def _repeated(self, body: Node) -> Node:
        letter = self.pattern[self.i : self.i + 1]
        if letter not in ("*", "+", "?", "{"):
            return body
        self.i += 1
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(letter) or self._numbers()
        if self._skips("+"):
            raise self._refused("possessive quantifiers")
        return Repeat(body=body, least=least, most=most, is_greedy=not self._skips("?"))

    def _numbers(self) -> tuple[int, int | None]:
        match = self._match(_NUMBERS)
        if match is None:
            raise invalid_pattern(f"{self.pattern!r} has an open brace")
        if max(len(match[1]), len(match[3] or "")) > 10:
            raise invalid_pattern(f"{self.pattern!r} repeats too often")
        least = int(match[1])
        most = least if match[2] is None else int(match[3]) if match[3] else None
        if least > _MOST_TIMES or (most is not None and not least <= most <= _MOST_TIMES):
            raise invalid_pattern(f"{self.pattern!r} has an illegal range of repetitions")
        return least, most

    def _group(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._refused(f"more than {_DEEPEST} groups inside each other")
        look = next((kind for kind in _LOOKS if self._skips(kind)), None)
        if look is not None:
            body, (is_ahead, is_negated) = self.choice(), _LOOKS[look]
            if not is_ahead and width(body)[1] is None:
                raise invalid_pattern(f"{self.pattern!r} looks behind without a limit")
            node: Node = Look(body, is_ahead, is_negated)
        elif self._skips("?:"):
            node = self.choice()
            node = node if isinstance(node, Choice) else Choice((node,))
        else:
            node = self._capturing_group()
        if not self._skips(")"):
            raise invalid_pattern(f"{self.pattern!r} has an open group")
        self.depth -= 1
        return node

    def _capturing_group(self) -> Node:
        name = None
        if self._skips("?"):
            match = self._match(_NAME)
            if match is None:
                raise self._refused("groups with flags, and atomic groups")
            name = match[1]
            if name in self.names:
                raise invalid_pattern(f"{self.pattern!r} has two groups {name}")
        self.groups += 1
        number = self.groups
        if name is not None:
            self.names[name] = number
        return Group(self.choice(), number)

    def _literal(self, code: int) -> Chars:
        return Chars(self._folded(((code, code),)))

    def _folded(self, ranges: Ranges) -> Ranges:
        """The ranges, with both cases of the letters from A to Z if the pattern ignores case."""
        if not self.folds:
            return ranges
        both = list(ranges)
        for first, shift in ((65, 32), (97, -32)):
            common = ((max(low, first), min(high, first + 25)) for low, high in ranges)
            both += [(low + shift, high + shift) for low, high in common if low <= high]
        return union(both)

    # escapes

    def _escape(self) -> Node:
        letter = self._escaped_letter()
        if letter in _PLACES:
            return Anchor(_PLACES[letter])
        if letter in "123456789":
            return self._reference(int(letter))
        if letter == "k" and (match := self._match(_NAME)):
            if match[1] not in self.names:
                raise invalid_pattern(f"{self.pattern!r} has no group {match[1]} before its reference")
            return BackReference(self.names[match[1]], self.folds)
        ranges = self._set(letter)
        return Chars(ranges) if ranges is not None else self._literal(self._code(letter))

    def _escaped_letter(self) -> str:
        if self.i >= len(self.pattern):
            raise invalid_pattern(f"{self.pattern!r} ends in a backslash")
        return self._take()

    def _reference(self, number: int) -> Node:
        """A reference `\\n`. As in Java, a further digit is taken only if a group of that number has begun before."""
        while (digit := self.pattern[self.i : self.i + 1]) and digit in "0123456789":
            if number * 10 + int(digit) > self.groups:
                break
            number = number * 10 + int(self._take())
        return BackReference(number, self.folds)

    def _set(self, letter: str) -> Ranges | None:
        if letter.lower() in _SETS:
            ranges = _SETS[letter.lower()]
            return complement(ranges) if letter.isupper() else ranges
        if letter in "pP":
            match = self._match(_PROPERTY)
            if match is None or match[1] not in _POSIX:
                raise self._refused(f"\\{letter}")
            ranges = self._folded(_POSIX[match[1]])
            return complement(ranges) if letter == "P" else ranges
        return None

    def _code(self, letter: str) -> int:
        if letter in _CODES:
            match = self._match(_CODES[letter])
            if match is None:
                raise invalid_pattern(f"{self.pattern!r} has an incomplete \\{letter}")
            code = int(next(filter(None, match.groups())), 8 if letter == "0" else 16)
            if 0xD800 <= code < 0xDC00 and letter == "u" and (low := self._match(_LOW_SURROGATE)):
                code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
            if code > LAST:
                raise invalid_pattern(f"{self.pattern!r} has a character beyond Unicode")
            return code
        if letter in _LETTERS:
            return ord(_LETTERS[letter])
        if letter.isascii() and letter.isalnum():
            raise self._refused(f"\\{letter}")
        return ord(letter)

    def _quoted(self) -> str:
        end = self.pattern.find("\\E", self.i)
        text = self.pattern[self.i : end if end >= 0 else len(self.pattern)]
        self.i += len(text) + (2 if end >= 0 else 0)
        return text

    # classes

    def _class(self) -> Ranges:
        is_negated, is_first = self._skips("^"), True
        ranges: list[tuple[int, int]] = []
        while True:
            if self.i >= len(self.pattern):
                raise invalid_pattern(f"{self.pattern!r} has an open bracket")
            letter = self._take()
            if letter == "]" and not is_first:
                whole = union(ranges)
                return complement(whole) if is_negated else whole
            if letter == "[" or (letter == "&" and self.pattern.startswith("&", self.i)):
                raise self._refused("classes inside classes")
            ranges += self._member(letter)
            is_first = False

    def _member(self, letter: str) -> Ranges:
        """A member of a class: a set, a character or a range of characters."""
        if letter == "\\" and self._skips("Q"):
            return union([pair for quoted in self._quoted() for pair in self._folded(((ord(quoted), ord(quoted)),))])
        low = self._class_code(letter)
        if isinstance(low, tuple):
            return low
        if self.pattern[self.i : self.i + 1] != "-" or self.pattern[self.i + 1 : self.i + 2] in ("", "[", "]"):
            return self._folded(((low, low),))
        self.i += 1
        high = self._class_code(self._take())
        if isinstance(high, tuple) or high < low:
            raise invalid_pattern(f"{self.pattern!r} has an illegal range of characters")
        return self._folded(((low, high),))

    def _class_code(self, letter: str) -> int | Ranges:
        if letter != "\\":
            return ord(letter)
        escaped = self._escaped_letter()
        if escaped in _PLACES or escaped in "123456789":
            raise invalid_pattern(f"{self.pattern!r} has \\{escaped} in a class")
        ranges = self._set(escaped)
        return self._code(escaped) if ranges is None else ranges

    def _refused(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            "REGULAR_EXPRESSION",
            f"{what} in {self.pattern!r} cannot be computed over several rows",
            hint="write a simpler pattern, or compute it in the navigation where one row decides it.",
        )
