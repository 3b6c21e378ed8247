"""Lays out the gaps between the tokens of a text; besides them, a formatter changes only the case of keywords.

A gap is white space and comments. Comments are never lost, and never change their order or their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlext.rewriter.text.tokens import Tokens

_INDENT = re.compile(r"\n( *)(?=\S|$)")
_CONTINUED = 4  # columns by which further lines of a block are indented if they began left of the first line


@dataclass(frozen=True)
class Comment:
    """A comment; `is_trailing` is true if it is on the same line as the token before it."""

    text: str
    is_trailing: bool


@dataclass
class Layout:
    """The new layout of tokens: by the index of a token, `gaps` holds the gap before it and `words` its new text.

    A gap of "\\n" and spaces begins a line, any other gap is spaces. `blocks` maps the first token of an expression to
    the token after its last one. The expression moves as a block: its further lines keep their distance to its first
    line.
    """

    gaps: dict[int, str] = field(default_factory=dict)
    words: dict[int, str] = field(default_factory=dict)
    blocks: dict[int, int] = field(default_factory=dict)

    def break_before(self, i: int, indent: int) -> None:
        self.gaps[i] = "\n" + " " * indent


def comments(gap: str) -> Iterator[Comment]:
    """The comments of a gap. Comments with /* may be nested, as in Spark.

    >>> list(comments(" -- a\\n /* b /* c */ */ "))
    [Comment(text='-- a', is_trailing=True), Comment(text='/* b /* c */ */', is_trailing=False)]
    """
    i, is_trailing = 0, True
    while i < len(gap):
        if gap.startswith(("--", "/*"), i):
            stop = _end_of_line(gap, i) if gap[i] == "-" else _end_of_block(gap, i)
            yield Comment(gap[i:stop].rstrip("\r"), is_trailing)
            i = stop
        else:
            is_trailing = is_trailing and gap[i] != "\n"
            i += 1


def _end_of_line(gap: str, start: int) -> int:
    stop = gap.find("\n", start)
    return len(gap) if stop < 0 else stop


def _end_of_block(gap: str, start: int) -> int:
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(gap, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(gap)


def gap_before(text: str, tokens: Tokens, i: int) -> str:
    return text[tokens[i - 1].stop if i else 0 : tokens[i].start]


def laid_out(text: str, tokens: Tokens, layout: Layout) -> str:
    """The text with its tokens laid out."""
    newline = "\r\n" if "\r\n" in text else "\n"
    result, column, indent, shift, shift_stop = [], 0, 0, 0, 0
    for i, token in enumerate(tokens):
        gap = gap_before(text, tokens, i)
        if i in layout.gaps:
            gap = _new_gap(gap, layout.gaps[i], newline)
        elif i < shift_stop and shift:
            gap = _shifted(gap, shift)
        column = _column_after(column, gap)
        indent = column if "\n" in gap or i == 0 else indent
        if i in layout.blocks:
            shift, shift_stop = _shift(text, tokens, layout, i, column, indent), layout.blocks[i]
        word = layout.words.get(i, token.text)
        column = _column_after(column, word)
        result += [gap, word]
    return "".join(result) + text[tokens[-1].stop if tokens else 0 :]


def _shift(text: str, tokens: Tokens, layout: Layout, first: int, column: int, indent: int) -> int:
    """The number of columns by which the further lines of a block move to the right.

    The first token of the block is now at `column`, on a line that begins with `indent` blanks. The further lines move
    with it, unless they began left of it.
    """
    inside = range(first + 1, layout.blocks[first])
    gaps = (gap_before(text, tokens, i) for i in inside if i not in layout.gaps)
    least = min((len(m[1]) for gap in gaps if "/*" not in gap for m in _INDENT.finditer(gap)), default=0)
    before = column_of(text, tokens[first].start)
    return column - before if least >= before else indent + _CONTINUED - least


def _new_gap(gap: str, wanted: str, newline: str) -> str:
    """The gap `wanted`, with the comments of the old gap.

    If `wanted` does not begin a line, an old gap with comments is returned unchanged.
    """
    inside = list(comments(gap))
    if not wanted.startswith("\n"):
        return gap if inside else wanted
    wanted = wanted.replace("\n", newline)
    return "".join((" " if c.is_trailing else wanted) + c.text for c in inside) + wanted


def _shifted(gap: str, shift: int) -> str:
    """The gap with its lines moved `shift` columns to the right; a gap with a /* comment is unchanged."""
    if "/*" in gap:
        return gap
    return _INDENT.sub(lambda m: "\n" + " " * max(0, len(m[1]) + shift), gap)


def _column_after(column: int, text: str) -> int:
    return column + len(text) if "\n" not in text else len(text) - text.rfind("\n") - 1


def column_of(text: str, offset: int) -> int:
    """The number of characters before `offset` on its line."""
    return offset - text.rfind("\n", 0, offset) - 1


def indent_of(text: str, offset: int) -> int:
    """The number of blanks at the beginning of the line of `offset`."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return len(line) - len(line.lstrip())


def is_on_one_line(text: str, tokens: Tokens, lo: int, hi: int, free: Mapping[int, str]) -> bool:
    """Whether tokens `lo` to `hi` have no ends of lines and no comments between them.

    Ends of lines in the gaps `free` are allowed.
    """
    for i in range(lo + 1, hi):
        gap = gap_before(text, tokens, i)
        if any(True for _ in comments(gap)) or ("\n" in gap and i not in free):
            return False
    return not any("\n" in token.text for token in tokens[lo:hi])


def same_tokens(old: Tokens, new: Tokens) -> bool:
    """Whether these are the same tokens, apart from the case of words."""
    return [(t.kind, t.text if t.kind != "word" else t.word) for t in old] == [
        (t.kind, t.text if t.kind != "word" else t.word) for t in new
    ]
