"""The SQL in a document of an editor: all of it, or the strings of a Python file that are marked as SQL, or a cell."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

_MAGIC = re.compile(r"\A\s*%%sql\b[^\n]*(?:\n|\Z)")
_MARK = re.compile(r"#\s*(?:language\s*[=:]\s*)?sql\s*\Z", re.IGNORECASE)  # as PyCharm and VS Code have it
_QUOTES = re.compile(r"\A[rRuU]?(\"\"\"|'''|\"|')")
_OF_SPARK = ("(", "sql", ".")  # the tokens before the text of spark.sql(…), from the last one on
_NO_CODE = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True)
class Part:
    """SQL in a document, from the character `start` on."""

    text: str
    start: int

    @property
    def stop(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class Document:
    """A document as the editor has it. `language`: the editor's name of its language."""

    text: str
    language: str

    def parts(self) -> list[Part]:
        """The parts that are SQL, in order.

        >>> Document("x = 1", "python").parts(), Document("%%sql --limit 3\\nSELECT 1", "python").parts()
        ([], [Part(text='SELECT 1', start=16)])
        >>> Document("spark.sql('SELECT 1')\\n# sql\\nq = 'SELECT 2'", "python").parts()
        [Part(text='SELECT 1', start=11), Part(text='SELECT 2', start=33)]
        """
        magic = _MAGIC.match(self.text)
        if magic is not None:
            return [Part(self.text[magic.end() :], magic.end())]
        return list(_strings(self.text)) if self.language == "python" else [Part(self.text, 0)]

    def part_at(self, offset: int) -> Part | None:
        """The part that has a character, or ends with it."""
        return next((part for part in self.parts() if part.start <= offset <= part.stop), None)

    def offset(self, line: int, character: int) -> int:
        """The offset of a position of the protocol, which counts units of UTF-16 from 0.

        >>> Document("a\\n𝄞bc", "sql").offset(1, 3)
        4
        """
        lines = self.text.split("\n")
        if line >= len(lines):
            return len(self.text)
        before = lines[line].encode("utf-16-le")[: 2 * character].decode("utf-16-le", "ignore")
        return sum(len(text) + 1 for text in lines[:line]) + len(before)

    def position(self, offset: int) -> dict[str, int]:
        """The position of an offset.

        >>> Document("a\\n𝄞bc", "sql").position(4)
        {'line': 1, 'character': 3}
        """
        line = self.text.count("\n", 0, offset)
        start = self.text.rfind("\n", 0, offset) + 1
        return {"line": line, "character": len(self.text[start:offset].encode("utf-16-le")) // 2}

    def range(self, start: int, stop: int) -> dict[str, dict[str, int]]:
        return {"start": self.position(start), "end": self.position(stop)}


def _strings(text: str) -> Iterator[Part]:
    """The strings that follow `spark.sql(`, or a comment `# sql`.

    Those with escapes and f-strings are left out, because their SQL is another text.
    """
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    before: list[str] = []
    is_marked = False
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                is_marked = _MARK.fullmatch(token.string) is not None
            if token.type in (tokenize.COMMENT, *_NO_CODE):
                continue
            if token.type == tokenize.STRING:
                part = _content(token.string, starts[token.start[0] - 1] + token.start[1])
                if part is not None and (is_marked or tuple(before[-1:-4:-1]) == _OF_SPARK):
                    yield part
                is_marked = False
            before.append(token.string)
    except (tokenize.TokenError, SyntaxError):  # while it is typed
        return


def _content(literal: str, start: int) -> Part | None:
    quotes = _QUOTES.match(literal)
    if quotes is None or ("\\" in literal and literal[0] not in "rR"):
        return None
    return Part(literal[quotes.end() : -len(quotes[1])], start + quotes.end())
