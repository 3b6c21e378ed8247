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

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.formatting.gaps import Layout, gap_before, indent_of, is_on_one_line
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
_WORDS_ONLY = frozenset({ROWS, FRAME, SEARCH})


@dataclass(frozen=True, kw_only=True)
class Body:
    """The parentheses of a clause at tokens `opening` and `closing`.

    `line` is a token on the line whose indentation the clause takes.
    """

    sections: Sequence[BodySection]
    parser: ClauseParser
    opening: int
    closing: int
    line: int


def lay_out_body(text: str, tokens: Tokens, body: Body) -> Layout:
    """The layout of a clause, on one line or on several."""
    layout = Layout()
    layout.gaps[body.opening] = " "
    for section in body.sections:
        _words(tokens, section, layout)
        _lists(tokens, body, section, layout)
        if section.head == PATTERN:
            lay_out_pattern(text, tokens, section.lo, closing(tokens, section.lo) or section.hi, layout)
    flat = _flat(tokens, body, layout)
    start = indent_of(text, tokens[body.line].start)
    if is_on_one_line(text, tokens, body.opening, body.closing + 1, flat.gaps):
        column = tokens[body.opening - 1].stop - text.rfind("\n", 0, tokens[body.opening].start) - 1
        if column + _length(text, tokens, body.opening, body.closing + 1, flat) <= ONE_LINE:
            return flat
    for section in body.sections:
        layout.break_before(section.start, start + STEP)
        _lay_out_section(text, tokens, body, section, layout, start + STEP)
    if body.sections:
        _first_words(tokens, body, layout)
    layout.break_before(body.closing, start)
    return layout


def _first_words(tokens: Tokens, body: Body, layout: Layout) -> None:
    """Keep the name of an inherited window, which comes before the first section, directly after the parenthesis."""
    first = body.sections[0].start
    if first > body.opening + 1:
        layout.gaps[body.opening + 1] = ""


def _flat(tokens: Tokens, body: Body, layout: Layout) -> Layout:
    """The clause on one line."""
    flat = Layout(gaps=dict(layout.gaps), words=layout.words, blocks=layout.blocks)
    for section in body.sections:
        flat.gaps[section.start] = " "
        if section.lo > section.start and section.lo < section.hi:
            flat.gaps[section.lo] = " "
        if section.head in _LISTS | {MEASURES, DEFINE}:
            for lo, _ in _items(body, section)[1:]:
                flat.gaps[lo] = " "
            for _, as_ in _names(body, section):
                flat.gaps[as_] = " "
    flat.gaps[body.opening + 1] = ""
    flat.gaps[body.closing] = ""
    return flat


def _length(text: str, tokens: Tokens, lo: int, hi: int, layout: Layout) -> int:
    gaps = (layout.gaps.get(i, gap_before(text, tokens, i)) for i in range(lo, hi))
    return sum(map(len, gaps)) + sum(len(token.text) for token in tokens[lo:hi])


def _words(tokens: Tokens, section: BodySection, layout: Layout) -> None:
    """Put the words of the language in upper case, with one space between them."""
    stop = section.hi if section.head in _WORDS_ONLY | {AFTER} else section.lo
    keeps = _target(tokens, section) if section.head == AFTER else None
    for i in range(section.start, stop):
        if tokens[i].kind == WORD and i != keeps and tokens[i].depth == tokens[section.start].depth:
            layout.words[i] = tokens[i].word
        if i > section.start and section.head != FRAME:
            layout.gaps[i] = " "


def _target(tokens: Tokens, section: BodySection) -> int | None:
    """The variable of AFTER MATCH SKIP TO [FIRST | LAST] variable."""
    words = [token.word for token in tokens[section.lo : section.hi]]
    if words[:2] != ["SKIP", "TO"] or words[2:4] == ["NEXT", "ROW"]:
        return None
    is_named = len(words) > 3 and words[2] in ("FIRST", "LAST") and words[3] != "ELSE"
    return section.lo + 2 + is_named


def _items(body: Body, section: BodySection) -> list[tuple[int, int]]:
    return list(body.parser.items(section, "an item"))


def _names(body: Body, section: BodySection) -> list[tuple[int, int]]:
    """The pairs (first token of the item, its AS) of a list of measures or conditions."""
    if section.head == DEFINE:
        return [(lo, lo + 1) for lo, hi in _items(body, section)]
    if section.head == MEASURES:
        pairs = ((lo, body.parser.last_as(lo, hi)) for lo, hi in _items(body, section))
        return [(lo, as_) for lo, as_ in pairs if as_ is not None]
    return []


def _lists(tokens: Tokens, body: Body, section: BodySection, layout: Layout) -> None:
    """Put no space before commas and one space on each side of AS, and make each expression a block."""
    if section.head not in _LISTS | {MEASURES, DEFINE}:
        return
    for lo, hi in _items(body, section):
        layout.blocks[lo] = hi
        if hi < section.hi:
            layout.gaps[hi] = ""
    for lo, as_ in _names(body, section):
        layout.words[as_] = "AS"
        layout.gaps[as_] = " "
        layout.gaps[as_ + 1] = " "
        if section.head == DEFINE:
            layout.blocks[as_ + 1] = layout.blocks.pop(lo)


def _lay_out_section(text: str, tokens: Tokens, body: Body, section: BodySection, layout: Layout, indent: int) -> None:
    """Set the lines of a section that begins at column `indent`."""
    if section.head == PATTERN:
        _within(text, tokens, section, layout, indent)
    if section.head not in _LISTS | {MEASURES, DEFINE}:
        return
    items = _items(body, section)
    is_short = all(is_on_one_line(text, tokens, lo, hi, layout.gaps) for lo, hi in items)
    length = sum(_length(text, tokens, lo, hi, layout) for lo, hi in items) + 2 * len(items)
    fits = is_short and indent + length + 14 <= WIDTH
    if len(items) == 1 or (section.head in _LISTS and fits):
        for lo, _ in items:
            layout.gaps[lo] = " "
        if len(items) > 1 or fits:
            return
    for lo, _ in items:
        layout.break_before(lo, indent + STEP)
    if section.head in (MEASURES, DEFINE):
        _align(text, tokens, body, section, layout, indent + STEP)


def _within(text: str, tokens: Tokens, section: BodySection, layout: Layout, indent: int) -> None:
    """Put WITHIN after PATTERN ( … ), or on the line below if the line would be too long."""
    close = closing(tokens, section.lo)
    if close is None or close + 1 >= section.hi:
        return
    layout.words[close + 1] = tokens[close + 1].word
    layout.gaps[close + 1] = " "
    pattern = text[tokens[section.lo].start : tokens[close].stop]
    if "\n" not in pattern and indent + _length(text, tokens, section.start, section.hi, layout) > WIDTH:
        layout.break_before(close + 1, indent + STEP)


def _align(text: str, tokens: Tokens, body: Body, section: BodySection, layout: Layout, indent: int) -> None:
    """Align the words AS of a list below each other, unless this makes a line too long."""
    names = _names(body, section)
    widths = [_length(text, tokens, lo + 1, as_, layout) + len(tokens[lo].text) for lo, as_ in names]
    stops = dict(_items(body, section))
    if section.head == MEASURES:
        tails = [_length(text, tokens, as_, stops[lo], layout) + 1 for lo, as_ in names]
        one_line = all(is_on_one_line(text, tokens, lo, stops[lo], layout.gaps) for lo, _ in names)
        if not one_line or indent + max(widths, default=0) + max(tails, default=0) > ALIGNED_WIDTH:
            return
    for (_, as_), width in zip(names, widths):
        layout.gaps[as_] = " " * (max(widths) - width + 1)
