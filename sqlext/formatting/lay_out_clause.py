"""Lays out MATCH_RECOGNIZE ( … ), MATCH_RULES ( … ) and the parentheses of a window with a row pattern.

    FROM ticks MATCH_RECOGNIZE (
      PARTITION BY symbol
      ORDER BY ts
      MEASURES
        FIRST(down.price) AS high,
        LAST(down.price)  AS low
      PATTERN (start down+) WITHIN INTERVAL 1 HOUR
      DEFINE down AS price < PREV(price)
    )

Each section is on a line of its own, and so is each item of a list with several items. A clause that is short enough is
on one line.
"""

from __future__ import annotations

from dataclasses import replace

from sqlext.formatting.gaps import Layout, column_of, gap_before, indent_of, is_on_one_line
from sqlext.formatting.lay_out_pattern import lay_out_pattern
from sqlext.rewriter.match.parse_match import (
    AFTER,
    DEFINE,
    MEASURES,
    ORDER_BY,
    PARTITION_BY,
    PATTERN,
    ROWS,
    SUBSET,
    BodySection,
    ClauseParser,
)
from sqlext.rewriter.match_windows.parse_window import FRAME, SEARCH
from sqlext.rewriter.text.tokens import WORD, Tokens, closing

ONE_LINE, WIDTH, ALIGNED_WIDTH = 80, 120, 100  # the most columns of a one-line clause, a line, a line with aligned AS
STEP = 2
RULES = "RULES"
_LISTS = frozenset({PARTITION_BY, ORDER_BY, SUBSET})
_ALL_LISTS = _LISTS | {MEASURES, DEFINE}
_WORDS_ONLY = frozenset({ROWS, FRAME, SEARCH})


def lay_out_body(parser: ClauseParser, line: int) -> Layout:
    """The layout of the parentheses of a clause, on one line or on several.

    `line` is a token on the line whose indentation the clause takes.
    """
    return _Body(parser).lay_out(line)


def length_of(text: str, tokens: Tokens, lo: int, hi: int, layout: Layout) -> int:
    """The number of characters of tokens `lo` to `hi` and the gaps before them on one line."""
    gaps = (layout.gaps.get(i, gap_before(text, tokens, i)) for i in range(lo, hi))
    return sum(map(len, gaps)) + sum(len(token.text) for token in tokens[lo:hi])


class _Body:
    """The parentheses of a clause, and their layout so far."""

    def __init__(self, parser: ClauseParser):
        self.parser, self.text, self.tokens = parser, parser.text, parser.tokens
        self.opening, self.closing = parser.site.opening, parser.site.closing
        self.sections = parser.sections()
        self.layout = Layout()

    def lay_out(self, line: int) -> Layout:
        layout, tokens = self.layout, self.tokens
        layout.gaps[self.opening] = " "
        for section in self.sections:
            self._words(section)
            self._lists(section)
            if section.head == PATTERN:
                close = closing(tokens, section.lo) or section.hi
                lay_out_pattern(self.text, tokens, section.lo, close, layout)
        flat = self._flat()
        if self._is_on_one_line(self.opening, self.closing + 1, flat):
            column = column_of(self.text, tokens[self.opening - 1].stop)
            if column + self._length(self.opening, self.closing + 1, flat) <= ONE_LINE:
                return flat
        start = indent_of(self.text, tokens[line].start)
        for section in self.sections:
            layout.break_before(section.start, start + STEP)
            self._lay_out_section(section, start + STEP)
        if self.sections and self.sections[0].start > self.opening + 1:
            layout.gaps[self.opening + 1] = ""  # before the name of an inherited window
        layout.break_before(self.closing, start)
        return layout

    def _flat(self) -> Layout:
        """The clause on one line."""
        flat = replace(self.layout, gaps=dict(self.layout.gaps))
        for section in self.sections:
            flat.gaps[section.start] = " "
            if section.start < section.lo < section.hi:
                flat.gaps[section.lo] = " "
            if section.head in _ALL_LISTS:
                for lo, _ in self._items(section)[1:]:
                    flat.gaps[lo] = " "
                for _, as_ in self._names(section):
                    flat.gaps[as_] = " "
        flat.gaps[self.opening + 1] = ""
        flat.gaps[self.closing] = ""
        return flat

    def _length(self, lo: int, hi: int, layout: Layout | None = None) -> int:
        return length_of(self.text, self.tokens, lo, hi, layout or self.layout)

    def _is_on_one_line(self, lo: int, hi: int, layout: Layout | None = None) -> bool:
        return is_on_one_line(self.text, self.tokens, lo, hi, (layout or self.layout).gaps)

    def _words(self, section: BodySection) -> None:
        """Put the words of the language in upper case, with one space between them."""
        stop = section.hi if section.head in _WORDS_ONLY | {AFTER} else section.lo
        keeps = self._target(section) if section.head == AFTER else None
        for i in range(section.start, stop):
            token = self.tokens[i]
            if token.kind == WORD and i != keeps and token.depth == self.tokens[section.start].depth:
                self.layout.words[i] = token.word
            if i > section.start and section.head != FRAME:
                self.layout.gaps[i] = " "

    def _target(self, section: BodySection) -> int | None:
        """The variable of AFTER MATCH SKIP TO [FIRST | LAST] variable."""
        words = [token.word for token in self.tokens[section.lo : section.hi]]
        if words[:2] != ["SKIP", "TO"] or words[2:4] == ["NEXT", "ROW"]:
            return None
        is_named = len(words) > 3 and words[2] in ("FIRST", "LAST") and words[3] != "ELSE"
        return section.lo + 2 + is_named

    def _items(self, section: BodySection) -> list[tuple[int, int]]:
        return list(self.parser.items(section, "an item"))

    def _names(self, section: BodySection) -> list[tuple[int, int]]:
        """The pairs (first token of the item, its AS) of a list of measures or conditions."""
        if section.head == DEFINE:
            return [(lo, lo + 1) for lo, _ in self._items(section)]
        if section.head == MEASURES:
            pairs = ((lo, self.parser.last_as(lo, hi)) for lo, hi in self._items(section))
            return [(lo, as_) for lo, as_ in pairs if as_ is not None]
        return []

    def _lists(self, section: BodySection) -> None:
        """Put no space before commas and one space on each side of AS, and make each expression a block."""
        if section.head not in _ALL_LISTS:
            return
        gaps, blocks = self.layout.gaps, self.layout.blocks
        for lo, hi in self._items(section):
            blocks[lo] = hi
            if hi < section.hi:
                gaps[hi] = ""
        for lo, as_ in self._names(section):
            self.layout.words[as_] = "AS"
            gaps[as_] = gaps[as_ + 1] = " "
            if section.head == DEFINE:
                blocks[as_ + 1] = blocks.pop(lo)

    def _lay_out_section(self, section: BodySection, indent: int) -> None:
        """Set the lines of a section that begins at column `indent`."""
        if section.head == PATTERN:
            self._within(section, indent)
        if section.head not in _ALL_LISTS:
            return
        items = self._items(section)
        is_short = all(self._is_on_one_line(lo, hi) for lo, hi in items)
        length = sum(self._length(lo, hi) for lo, hi in items) + 2 * len(items)
        fits = is_short and indent + length + 14 <= WIDTH
        if len(items) == 1 or (section.head in _LISTS and fits):
            for lo, _ in items:
                self.layout.gaps[lo] = " "
            if len(items) > 1 or fits:
                return
        for lo, _ in items:
            self.layout.break_before(lo, indent + STEP)
        if section.head in (MEASURES, DEFINE):
            self._align(section, indent + STEP)

    def _within(self, section: BodySection, indent: int) -> None:
        """Put WITHIN after PATTERN ( … ), or on the line below if the line would be too long."""
        close = closing(self.tokens, section.lo)
        if close is None or close + 1 >= section.hi:
            return
        self.layout.words[close + 1] = self.tokens[close + 1].word
        self.layout.gaps[close + 1] = " "
        pattern = self.text[self.tokens[section.lo].start : self.tokens[close].stop]
        if "\n" not in pattern and indent + self._length(section.start, section.hi) > WIDTH:
            self.layout.break_before(close + 1, indent + STEP)

    def _align(self, section: BodySection, indent: int) -> None:
        """Align the words AS of a list below each other, unless this makes a line too long."""
        names, stops = self._names(section), dict(self._items(section))
        widths = [self._length(lo + 1, as_) + len(self.tokens[lo].text) for lo, as_ in names]
        if section.head == MEASURES:
            tails = [self._length(as_, stops[lo]) + 1 for lo, as_ in names]
            one_line = all(self._is_on_one_line(lo, stops[lo]) for lo, _ in names)
            if not one_line or indent + max(widths, default=0) + max(tails, default=0) > ALIGNED_WIDTH:
                return
        for (_, as_), width in zip(names, widths):
            self.layout.gaps[as_] = " " * (max(widths) - width + 1)
