"""Parses the text inside MATCH_RECOGNIZE ( … ) into a MatchClause.

The body is first cut into sections at the words that begin one. Each section is then parsed by itself, so that all
syntax errors of a clause are reported at once. A word like PATTERN or MEASURES begins a section only where an operand
is not possible, so columns of these names keep working.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from sqlext.errors import ParseError, Place, SqlExtError, raise_all
from sqlext.pattern.task.skip_mode import MODES, SkipMode
from sqlext.rewriter.match.match_clause import (
    AfterMatch,
    Definition,
    MatchClause,
    Measure,
    OrderKey,
    PartitionKey,
    RowsPerMatch,
    SubsetItem,
    Within,
)
from sqlext.rewriter.match.mistaken_heads import NOTHING, mistaken_head
from sqlext.rewriter.match.parse_pattern import parse_pattern
from sqlext.rewriter.scalars.other_words import ends_in_name
from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.names import name_of
from sqlext.rewriter.text.tokens import SYMBOL, WORD, Token, Tokens, closing
from sqlext.rewriter.tree.statement_tree import Site

PARTITION_BY, ORDER_BY, MEASURES, ROWS, AFTER, PATTERN, SUBSET, DEFINE = (
    "PARTITION BY", "ORDER BY", "MEASURES", "ONE ROW or ALL ROWS PER MATCH", "AFTER MATCH", "PATTERN", "SUBSET",
    "DEFINE",
)  # fmt: skip
ORDER_OF_SECTIONS = (PARTITION_BY, ORDER_BY, MEASURES, ROWS, AFTER, PATTERN, SUBSET, DEFINE)

# An operand follows these words, so the word after them is a column and does not begin a section.
_BEFORE_OPERAND = frozenset([
    "ALL", "AND", "ANY", "AS", "BETWEEN", "BY", "CASE", "COLLATE", "DEFINE", "DISTINCT", "DIV", "ELSE", "ESCAPE",
    "FINAL", "FROM", "ILIKE", "IN", "INTERVAL", "IS", "LIKE", "MEASURES", "NOT", "OR", "REGEXP", "RLIKE", "RUNNING",
    "SOME", "THEN", "WHEN",
])  # fmt: skip
_OR_TERMINATED = re.compile(r"\s+OR\s+TERMINATED\s*$", re.IGNORECASE)  # Esper
_CLOSERS = frozenset({")", "]", "}", "?"})
_OPENERS = frozenset({"(", "-", "+", "~", "!", ":", "?", "{"})
_HEADS_OF_TWO = {
    ("PARTITION", "BY"): PARTITION_BY,
    ("ORDER", "BY"): ORDER_BY,
    ("ONE", "ROW"): ROWS,
    ("ALL", "ROWS"): ROWS,
    ("AFTER", "MATCH"): AFTER,
}


@dataclass(frozen=True, kw_only=True)
class BodySection:
    """A section of the body: its `head`, whose tokens begin at `start`, and after it tokens `lo` to `hi` (exclusive).

    `is_mistaken`: an error has been reported for its head.
    """

    head: str
    start: int
    lo: int
    hi: int
    is_mistaken: bool = False


def parse_match(text: str, tokens: Tokens, site: Site) -> MatchClause:
    """The clause at a site of a statement.

    Raises ParseError and UnsupportedError (limits of patterns); all errors of the clause are raised together.

    >>> from sqlext.rewriter.statements.scan import scan
    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts DESC MEASURES A.x + 1 AS y PATTERN (A) DEFINE A AS x > 0)"
    >>> clause = parse_match(text, tokenize(text), scan(text)[0])
    >>> clause.order_by[0].is_descending, clause.measures[0].expression.text, clause.definitions[0].condition.text
    (True, 'A.x + 1', 'x > 0')
    """
    return ClauseParser(text, tokens, site).clause()


class ClauseParser:
    """Parses the sections of one clause. `what` is its name in messages, and `order` is the order of its sections."""

    what = "MATCH_RECOGNIZE"
    order: tuple[str, ...] = ORDER_OF_SECTIONS

    def __init__(self, text: str, tokens: Tokens, site: Site):
        self.text, self.tokens, self.site = text, tokens, site
        self.depth = site.depth + 1
        self.errors: list[SqlExtError] = []
        self.parts: dict[str, Any] = {}  # fields of MatchClause

    def clause(self) -> MatchClause:
        sections = self.sections()
        self._check_order(sections)
        for section in sections:
            try:
                if not section.is_mistaken or section.head not in (ROWS, AFTER, NOTHING):
                    self.parse(section)
            except SqlExtError as e:
                self.errors.append(e)
        if not any(section.head == NOTHING for section in sections):  # a missing part may be what could not be read
            self._check_complete({section.head for section in sections})
        raise_all(self.errors)
        site = self.site
        return MatchClause(whole=site.whole, relation=site.relation, keyword=site.keyword, **self.parts)

    def parse(self, section: BodySection) -> None:
        """Parse one section into `parts`."""
        _PARSERS[section.head](self, section)

    @property
    def order_hint(self) -> str:
        return f"the order is {', '.join(self.order)}."

    # sections

    def sections(self) -> list[BodySection]:
        """The sections of the body; words before the first section are an error."""
        first, end = self.site.opening + 1, self.site.closing
        exact = {i: head for i in range(first, end) if (head := self.head(i))}
        mistaken = {i: head for i in range(first, end) if i not in exact and (head := self._mistaken(i, exact))}
        heads = sorted((exact | mistaken).items())
        stops = [i for i, _ in heads[1:]] + [end]
        before = heads[0][0] if heads else end
        if before > first:
            self.before_sections(first, before)
        return [
            BodySection(head=head, start=i, lo=i + length, hi=stop, is_mistaken=i in mistaken)
            for (i, (head, length)), stop in zip(heads, stops)
        ]

    def before_sections(self, lo: int, hi: int) -> None:
        """Add an error for the words before the first section, where no words are allowed."""
        self.add("UNEXPECTED_WORD", f"no clause of {self.what} begins like this", lo, lo + 1, self.order_hint)

    def _mistaken(self, i: int, exact: Mapping[int, tuple[str, int]]) -> tuple[str, int] | None:
        """The section that the writer may have intended to begin at i, and the number of wrong words there, or None."""
        token = self.tokens[i]
        if token.depth != self.depth or token.kind != WORD or not self.is_free(i) or i - 1 in exact:
            return None
        wrong = mistaken_head([self.word(k) for k in range(i, i + 4)], is_head_next=i + 1 in exact)
        if wrong is None:
            return None
        self.add(wrong.error_class, wrong.message, i, i + wrong.length, wrong.hint)
        return wrong.meant, wrong.length

    def head(self, i: int) -> tuple[str, int] | None:
        """The section that begins with token i, and the number of tokens of its head; None if none begins there."""
        token = self.tokens[i]
        if token.depth != self.depth or token.kind != WORD:
            return None
        two = self.words(i, 2)
        if two in _HEADS_OF_TWO:  # no expression holds these words side by side
            return _HEADS_OF_TWO[two], 2
        is_free = self.is_free(i)
        if two == (PATTERN, "("):
            return (PATTERN, 1) if is_free or self._ends_before_section(i + 1) else None
        if token.word == SUBSET and (self.word(i + 2) == "=" or self.words(i + 2, 2) == ("AS", "(")):
            return (SUBSET, 1) if is_free else None
        if token.word == DEFINE:
            is_list = self.word(i - 1) == "," and self.word(i + 2) == "AS" and self.tokens[i + 1].may_name
            return (DEFINE, 1) if is_list or (is_free and self._begins_operand(i + 1)) else None
        begins_measure = self._begins_operand(i + 1) or self.tokens[i + 1].text == "*"
        return (MEASURES, 1) if token.word == MEASURES and is_free and begins_measure else None

    def is_free(self, i: int) -> bool:
        """True if no operand is possible at i, because one ends just before i or because the body begins at i."""
        before = self.tokens[i - 1]
        if i == self.site.opening + 1:
            return True
        if before.kind == SYMBOL:
            return before.text in _CLOSERS
        is_key = before.word == "ALL" and self.word(i - 2) == "BY"
        return is_key or before.kind != WORD or before.word not in _BEFORE_OPERAND or self.word(i - 2) in (".", "AS")

    def _ends_before_section(self, opening: int) -> bool:
        """True if a section, or the end of the clause, follows the parentheses.

        In `A.x AS x, PATTERN (A) DEFINE …` there is one comma too many, and no function called pattern.
        """
        close = closing(self.tokens, opening)
        return close is not None and self.word(close + 1) in ("", "WITHIN", SUBSET, DEFINE)

    def _begins_operand(self, i: int) -> bool:
        """True if an operand can begin at i, or if i is the end of the clause, where an operand is missing."""
        return i >= self.site.closing or self.tokens[i].kind != SYMBOL or self.tokens[i].text in _OPENERS

    def _check_order(self, sections: list[BodySection]) -> None:
        rank, seen = -1, set()
        for section in sections:
            if section.head not in self.order:
                continue
            this = self.order.index(section.head)
            if section.head in seen:
                self.add("DUPLICATE_CLAUSE", f"{self._title(section)} is written twice", section.start, section.lo)
            elif this < rank:
                message = f"{self._title(section)} must be written before {self.order[rank]}"
                self.add("CLAUSE_ORDER", message, section.start, section.lo, self.order_hint)
            rank = max(rank, this)
            seen.add(section.head)

    def _title(self, section: BodySection) -> str:
        return " ".join(self.words(section.start, section.lo - section.start))

    def _check_complete(self, heads: set[str]) -> None:
        keyword = self.site.opening - 1
        if PATTERN not in heads:
            message = f"{self.what} needs a PATTERN"
            self.add("MISSING_PATTERN", message, keyword, keyword + 1, "write PATTERN (A+ B).")
        if self._is_closed_too_early():
            message = f"this parenthesis closes {self.what}, but another of its clauses follows"
            self.add("UNEXPECTED_BRACKET", message, self.site.closing, self.site.closing + 1)
        elif DEFINE not in heads:
            variables = self.parts.get("pattern_variables")
            name = variables[0].text if variables else "A"
            hint = f"write DEFINE {name} AS true if every row can be mapped to {name}."
            self.add("MISSING_DEFINE", f"{self.what} needs a DEFINE", keyword, keyword + 1, hint)

    def _is_closed_too_early(self) -> bool:
        """True if a section follows the closing parenthesis, as in `PATTERN (A)) DEFINE A AS …`."""
        after = [t.word for t in self.tokens[self.site.closing + 1 : self.site.closing + 4]]
        return (after[:1] == [DEFINE] and after[2:] == ["AS"]) or (after[:1] == [SUBSET] and after[2:] == ["="])

    # lists of expressions

    def _partition_by(self, section: BodySection) -> None:
        keys = []
        for lo, hi in self.items(section, "an expression"):
            as_ = self.last_as(lo, hi)
            name = self._name_after(as_, hi) if as_ else None
            keys.append(PartitionKey(self.expression(lo, as_ or hi), name))
        self.parts["partition_by"] = tuple(keys)

    def _order_by(self, section: BodySection) -> None:
        self.parts["order_by"] = tuple(self._order_key(lo, hi) for lo, hi in self.items(section, "an expression"))

    def _order_key(self, lo: int, hi: int) -> OrderKey:
        nulls_first, is_descending = None, False
        if hi - lo > 2 and self.words(hi - 2, 2) in (("NULLS", "FIRST"), ("NULLS", "LAST")):
            nulls_first, hi = self.word(hi - 1) == "FIRST", hi - 2
        if hi - lo > 1 and self.word(hi - 1) in ("ASC", "DESC") and self.word(hi - 2) != ".":
            is_descending, hi = self.word(hi - 1) == "DESC", hi - 1
        return OrderKey(self.expression(lo, hi), is_descending, nulls_first)

    def _measures(self, section: BodySection) -> None:
        measures = []
        for lo, hi in self.items(section, "a measure"):
            as_ = self.last_as(lo, hi)
            if as_ is None and ends_in_name(self.tokens, lo, hi):
                measures.append(Measure(self.expression(lo, hi - 1), name_of(self.text, self.tokens[hi - 1])))
                continue
            if as_ is None:
                text = self.fragment(lo, hi).text
                hint = f"write {text if len(text) < 40 else 'expression'} AS name."
                if text.endswith("*"):
                    hint = "name each column, LAST(A.price) AS price, or write ALL ROWS PER MATCH for the rows."
                self.add("MEASURE_WITHOUT_NAME", "a measure needs a name", lo, hi, hint)
                continue
            name = self._name_after(as_, hi)
            self._check_no_second_as(lo, as_)
            measures.append(Measure(self.expression(lo, as_), name))
        self.parts["measures"] = tuple(measures)

    def _define(self, section: BodySection) -> None:
        definitions = []
        for lo, hi in self.items(section, "variable AS condition"):
            if not self.tokens[lo].may_name or self.word(lo + 1) != "AS":
                hint = "write DEFINE A AS x > 0."
                if self.word(lo + 1) in ("-", ".") and self.tokens[lo].may_name:
                    hint = "a name with other characters is quoted: `a-b` AS x > 0."
                self.add("MISSING_AS", "each item of DEFINE is variable AS condition", lo, min(lo + 2, hi), hint)
                continue
            if lo + 2 == hi:
                self.add("MISSING_EXPRESSION", "a condition is missing after AS", lo + 1, hi)
                continue
            self._check_no_second_as(lo + 2, hi)
            definitions.append(Definition(name_of(self.text, self.tokens[lo]), self.expression(lo + 2, hi)))
        self.parts["definitions"] = tuple(definitions)

    def _check_no_second_as(self, lo: int, hi: int) -> None:
        """Add an error for `A AS x > 1 B AS x > 2`, which has no comma before B."""
        at = next((i for i in range(lo, hi) if self._is_as(i)), None)
        if at is not None and at > lo:
            message = f"AS is written twice: is a comma missing before {self.tokens[at - 1].text}?"
            self.add("MISSING_COMMA", message, at - 1, at + 1)

    # sections with a syntax of their own

    def _rows_per_match(self, section: BodySection) -> None:
        words, head = self.words(section.lo, section.hi - section.lo), self._title(section)
        options = _ALL_ROWS if head == "ALL ROWS" else _ONE_ROW
        if words[:2] != ("PER", "MATCH") or words[2:] not in options:
            *others, last = [" ".join(option) for option in options if option]
            listed = f"{', '.join(others)} or {last}" if others else last
            message = f"this is not a known form of {head} PER MATCH"
            hint = f"write {head} PER MATCH, alone or followed by {listed}."
            raise self.error("ROWS_PER_MATCH", message, section.start, section.hi, hint)
        empty, shows_timeouts = options[words[2:]]
        fragment = self.fragment(section.start, section.hi)
        self.parts["rows_per_match"] = RowsPerMatch(
            is_all_rows=head == "ALL ROWS", empty=empty, shows_timeouts=shows_timeouts, fragment=fragment
        )

    def _after_match(self, section: BodySection) -> None:
        lo, hi, else_next_row = section.lo, section.hi, False
        if hi - lo > 3 and self.words(hi - 3, 3) == ("ELSE", "NEXT", "ROW"):
            else_next_row, hi = True, hi - 3
        mode, target = _FIXED_SKIPS.get(self.words(lo, hi - lo)), None
        if mode is None:
            mode, target = self._skip_to(section, lo, hi)
        elif else_next_row:
            raise self.error("SKIP_ELSE", "ELSE NEXT ROW can follow only SKIP TO a variable", hi, section.hi)
        self.parts["after_match"] = AfterMatch(
            mode=mode, target=target, else_next_row=else_next_row, fragment=self.fragment(section.start, section.hi)
        )

    def _skip_to(self, section: BodySection, lo: int, hi: int) -> tuple[SkipMode, Name]:
        side = self.word(lo + 2) if hi - lo == 4 else "LAST"
        is_skip_to = self.words(lo, 2) == ("SKIP", "TO") and hi - lo in (3, 4) and side in ("FIRST", "LAST")
        if not is_skip_to or not self.tokens[hi - 1].may_name:
            hint = "write SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO [FIRST | LAST] variable or NO SKIP."
            message = "this is not a known form of AFTER MATCH"
            raise self.error("AFTER_MATCH_SKIP", message, section.start, section.hi, hint)
        return MODES[f"TO {side}"], name_of(self.text, self.tokens[hi - 1])

    def _pattern(self, section: BodySection) -> None:
        close = closing(self.tokens, section.lo)
        assert close is not None and close < section.hi  # the clause's own parentheses enclose it
        start, stop = self.tokens[section.lo].stop, self.tokens[close].start
        self.parts["pattern_text"] = Fragment(self.text, start, stop)
        if close + 1 < section.hi:
            self._within(close + 1, section.hi)
        self.parts["pattern"], self.parts["pattern_variables"] = parse_pattern(self.text, start, stop)

    def _within(self, lo: int, hi: int) -> None:
        start = lo
        if self.word(lo) != "WITHIN":
            message = "only WITHIN, SUBSET and DEFINE can follow PATTERN ( … )"
            close = get_close_matches(self.word(lo), ["WITHIN"])
            hint = "did you mean WITHIN?" if close else self.order_hint
            if self.word(lo) == "INTERVAL":
                interval = _OR_TERMINATED.sub("", self.fragment(lo, hi).text)
                hint = f"write WITHIN {interval} for a bound; Esper's is none: leave it out for the same matches."
            self.add("UNEXPECTED_WORD", message, lo, lo + 1, hint)
            return
        lo += 1
        is_inclusive = self.word(lo) == "INCLUSIVE"
        lo += is_inclusive
        between_rows = hi - lo > 1 and self.words(hi - 2, 2) == ("BETWEEN", "ROWS")
        hi -= 2 * between_rows
        if lo >= hi:
            hint = "write WITHIN INTERVAL '1' HOUR."
            self.add("MISSING_EXPRESSION", "WITHIN needs an interval", start, start + 1, hint)
            return
        self.parts["within"] = Within(self.expression(lo, hi), is_inclusive, between_rows)

    def _subset(self, section: BodySection) -> None:
        items = []
        for lo, hi in self.items(section, "union = (variable, …)"):
            names = self.tokens[lo], *self.tokens[lo + 3 : hi - 1 : 2]
            frame = *self.words(lo + 1, 2), *(t.word for t in self.tokens[lo + 4 : hi : 2])
            if not all(name.may_name for name in names) or frame != ("=", "(", *"," * (len(names) - 2), ")"):
                self.add(
                    "SUBSET_SYNTAX", "each item of SUBSET is union = (variable, …)", lo, hi, "write SUBSET U = (A, B)."
                )
                continue
            union, *members = (name_of(self.text, t) for t in names)
            items.append(SubsetItem(union, tuple(members)))
        self.parts["subsets"] = tuple(items)

    # pieces

    def items(self, section: BodySection, wanted: str) -> Iterator[tuple[int, int]]:
        """The ranges of tokens between the commas; an empty range is an error and is left out."""
        commas = [i for i in range(section.lo, section.hi) if self._is_comma(i)]
        for lo, hi in zip([section.lo, *(c + 1 for c in commas)], [*commas, section.hi]):
            if lo < hi:
                yield lo, hi
            else:
                at = hi if hi in commas else lo - 1
                hint = "leave the comma out." if commas else None
                self.add("MISSING_EXPRESSION", f"{wanted} is missing in {self._title(section)}", at, at + 1, hint)

    def _is_comma(self, i: int) -> bool:
        return self.tokens[i].text == "," and self.tokens[i].depth == self.depth

    def _is_as(self, i: int) -> bool:
        token = self.tokens[i]
        return token.word == "AS" and token.depth == self.depth and self.word(i - 1) != "."

    def last_as(self, lo: int, hi: int) -> int | None:
        return next((i for i in range(hi - 1, lo - 1, -1) if self._is_as(i)), None)

    def _name_after(self, as_: int, hi: int) -> Name:
        if as_ + 2 != hi or not self.tokens[as_ + 1].may_name:
            raise self.error(
                "EXPECTED_NAME",
                "AS must be followed by one name",
                as_,
                max(hi, as_ + 1),
                "write a name with other characters in backticks: `a b`.",
            )
        return name_of(self.text, self.tokens[as_ + 1])

    def expression(self, lo: int, hi: int) -> Fragment:
        if lo >= hi:
            raise self.error("MISSING_EXPRESSION", "an expression is missing before this", lo, lo + 1)
        return self.fragment(lo, hi)

    def fragment(self, lo: int, hi: int) -> Fragment:
        return Fragment(self.text, self.tokens[lo].start, self.tokens[hi - 1].stop)

    def word(self, i: int) -> str:
        """The word or symbol at i, or "" outside of the clause."""
        return self.tokens[i].word if 0 <= i < self.site.closing else ""

    def words(self, i: int, number: int) -> tuple[str, ...]:
        return tuple(self.word(k) for k in range(i, i + number))

    def error(self, error_class: str, message: str, lo: int, hi: int, hint: str | None = None) -> ParseError:
        """The error for tokens lo to hi."""
        first: Token = self.tokens[lo]
        place = Place(self.text, first.start, self.tokens[max(hi - 1, lo)].stop)
        return ParseError(error_class, message, place=place, hint=hint)

    def add(self, error_class: str, message: str, lo: int, hi: int, hint: str | None = None) -> None:
        self.errors.append(self.error(error_class, message, lo, hi, hint))


# words after PER MATCH → (RowsPerMatch.empty, RowsPerMatch.shows_timeouts)
_Options = dict[tuple[str, ...], tuple[str, bool]]
_ONE_ROW: _Options = {
    (): ("SHOW", False),
    ("SHOW", "TIMEOUT", "MATCHES"): ("SHOW", True),
}
_ALL_ROWS: _Options = {
    (): ("SHOW", False),
    ("SHOW", "EMPTY", "MATCHES"): ("SHOW", False),
    ("OMIT", "EMPTY", "MATCHES"): ("OMIT", False),
    ("WITH", "UNMATCHED", "ROWS"): ("UNMATCHED", False),
}
_FIXED_SKIPS = {tuple(mode.text.split()): mode for mode in MODES.values() if not mode.has_target}
_PARSERS: dict[str, Callable[[ClauseParser, BodySection], None]] = {
    PARTITION_BY: ClauseParser._partition_by,
    ORDER_BY: ClauseParser._order_by,
    MEASURES: ClauseParser._measures,
    ROWS: ClauseParser._rows_per_match,
    AFTER: ClauseParser._after_match,
    PATTERN: ClauseParser._pattern,
    SUBSET: ClauseParser._subset,
    DEFINE: ClauseParser._define,
}
