"""Parses the text inside the parentheses of a window with a row pattern to a MatchClause.

WINDOW w AS ( [window] [PARTITION BY …] [ORDER BY …] [MEASURES …] ROWS BETWEEN CURRENT ROW AND …
              [AFTER MATCH …] [INITIAL | SEEK] PATTERN ( … ) [SUBSET …] DEFINE … )
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlext.errors import BindError, ParseError, Place, UnsupportedError
from sqlext.rewriter.match.match_clause import FrameClause, MatchClause
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
from sqlext.rewriter.match_windows.check_query import check_query
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import WORD, is_at
from sqlext.rewriter.tree.read_windows import PatternWindow, WindowQuery
from sqlext.rewriter.tree.statement_tree import Site, Tree

FRAME, SEARCH = "ROWS BETWEEN CURRENT ROW AND … FOLLOWING", "INITIAL or SEEK"
_FRAME_WORDS = frozenset({"ROWS", "RANGE", "GROUPS"})
_AFTER_FRAME_WORD = frozenset({"BETWEEN", "UNBOUNDED", "CURRENT"})
_FRAME_HINT = "write ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING, or AND 5 FOLLOWING."


@dataclass(frozen=True)
class WindowClause:
    """A query with windows that have row patterns, and the parsed clause of each of these windows."""

    site: WindowQuery
    clauses: tuple[MatchClause, ...]
    whole: Fragment


def parse_windows(tree: Tree, site: WindowQuery) -> WindowClause:
    """The parsed windows of a query.

    Raises ParseError, BindError and UnsupportedError, all errors of a window together.
    """
    check_query(tree, site)
    clauses = tuple(_parse(tree, site, window) for window in site.windows)
    return WindowClause(site, clauses, tree.fragment(site.select, site.query.stop))


def _parse(tree: Tree, query: WindowQuery, window: PatternWindow) -> MatchClause:
    site = Site(
        keyword=tree.fragment(window.keyword, window.keyword + 1),
        relation=tree.fragment(*query.relation),
        body=tree.fragment(window.opening + 1, window.closing),
        whole=tree.fragment(window.keyword, window.closing + 1),
        depth=tree.tokens[window.opening].depth,
        opening=window.opening,
        closing=window.closing,
    )
    return WindowParser(tree, site, query).clause()


class WindowParser(ClauseParser):
    """Parses one window. A window that it names is inherited: its PARTITION BY and ORDER BY are put before its own."""

    what = "a window with a row pattern"
    order = (PARTITION_BY, ORDER_BY, MEASURES, FRAME, AFTER, SEARCH, PATTERN, SUBSET, DEFINE)

    def __init__(self, tree: Tree, site: Site, query: WindowQuery):
        super().__init__(tree.text, tree.tokens, site)
        self.tree, self.query = tree, query
        self.seeks = False
        self.inherited: list[str] = []  # the sections that come from another window

    def clause(self) -> MatchClause:
        clause = super().clause()
        frame = clause.frame
        if frame is None:
            message = "a window with a row pattern needs a frame"
            raise ParseError("MISSING_FRAME", message, place=clause.keyword.place, hint=_FRAME_HINT)
        return replace(clause, frame=replace(frame, seeks=self.seeks))

    def head(self, i: int) -> tuple[str, int] | None:
        token = self.tokens[i]
        if token.depth != self.depth or token.kind != WORD:
            return None
        if token.word in ("INITIAL", "SEEK") and is_at(self.tokens, i + 1, "PATTERN", "("):
            return SEARCH, 0
        after = self.tokens[i + 1]
        is_frame = after.word in _AFTER_FRAME_WORD or is_at(self.tokens, i + 2, "PRECEDING")
        if token.word in _FRAME_WORDS and is_frame and self.is_free(i):
            return FRAME, 0
        return super().head(i)

    def parse(self, section: BodySection) -> None:
        if section.head in self.inherited:
            message = f"the window on which this one is based has {section.head} already"
            raise self.error("INHERITED_WINDOW", message, section.start, section.hi, "leave one of them out.")
        if section.head == ROWS:
            message = "a window has one result for each row, so it has no ONE ROW or ALL ROWS PER MATCH"
            raise self.error("ROWS_PER_MATCH", message, section.start, section.hi, "leave it out.")
        if section.head == FRAME:
            self.parts["frame"] = self._frame(section.start, section.hi)
        elif section.head == SEARCH:
            self.seeks = self.word(section.lo) == "SEEK"
        else:
            super().parse(section)

    def _frame(self, lo: int, hi: int) -> FrameClause:
        fragment = self.fragment(lo, hi)
        if hi - lo > 3 and self.words(hi - 3, 3) == ("EXCLUDE", "NO", "OTHERS"):  # the default: no row is excluded
            hi -= 3
        words = self.words(lo, hi - lo)
        if words[:5] != ("ROWS", "BETWEEN", "CURRENT", "ROW", "AND") or words[5:] == ():
            raise self._other_frame(lo, hi)
        if words[5:] == ("UNBOUNDED", "FOLLOWING"):
            return FrameClause(is_unbounded=True, fragment=fragment)
        if words[5:] == ("CURRENT", "ROW"):
            return FrameClause(fragment=fragment)
        if words[-1] != "FOLLOWING" or hi - lo < 7:
            raise self._other_frame(lo, hi)
        return FrameClause(rows=self.fragment(lo + 5, hi - 1), fragment=fragment)

    def _other_frame(self, lo: int, hi: int) -> BindError:
        message = "the frame of a window with a row pattern begins at the current row and counts rows"
        place = Place(self.text, self.tokens[lo].start, self.tokens[hi - 1].stop)
        return BindError("PATTERN_FRAME", message, place=place, hint=_FRAME_HINT)

    def before_sections(self, lo: int, hi: int) -> None:
        """Read the name of the window from which this one inherits, and inherit from it."""
        if hi != lo + 1 or not self.tokens[lo].is_name:
            super().before_sections(lo, hi)
            return
        name = self.tree.key(lo)
        if name not in self.query.plain:
            self.errors.append(self._unknown_window(lo))
            return
        first, stop = self.query.plain[name]
        self._inherit(first, stop)

    def _unknown_window(self, i: int) -> BindError | UnsupportedError:
        name, place = self.tokens[i].text, self.tree.fragment(i, i + 1).place
        if any(self.tree.key(w.keyword) == self.tree.key(i) for w in self.query.windows):
            message = f'the window "{name}" has a frame of its own, so no other window can be based on it'
            return BindError("INHERITED_WINDOW", message, place=place, hint="repeat its PARTITION BY and ORDER BY.")
        names = ", ".join(self.query.plain) or "none"
        message = f'the WINDOW clause has no window "{name}"'
        return BindError("UNKNOWN_WINDOW", message, place=place, hint=f"the windows without a pattern are: {names}.")

    def _inherit(self, first: int, stop: int) -> None:
        """Inherit PARTITION BY and ORDER BY of the window in the parentheses at tokens `first` - 1 and `stop`."""
        if first == stop:
            return
        site = replace(self.site, opening=first - 1, closing=stop, depth=self.tokens[first - 1].depth)
        base = WindowParser(self.tree, site, self.query)
        for section in base.sections():
            if section.head in (PARTITION_BY, ORDER_BY):
                base.parse(section)
                self.inherited.append(section.head)
            else:
                message = "a window with a frame of its own cannot be inherited"
                hint = "leave the frame out there, or repeat the PARTITION BY and ORDER BY of that window."
                self.errors.append(base.error("INHERITED_WINDOW", message, section.start, section.hi, hint))
        self.errors += base.errors
        self.parts |= base.parts
