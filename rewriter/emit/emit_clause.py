"""EMIT behind a grouping query over a window function: what the user wrote, with places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.errors import ParseError
from sqlext.rewriter.emit.emit_parts import (
    AFTER_DELAY,
    AFTER_WATERMARK,
    EARLY_EVERY,
    EVERY_ROWS,
    KEEP_DELTA,
    KEEP_ROWS,
    KEEP_TIME,
    ON_CLOCK,
    ON_DELTA,
)
from sqlext.rewriter.emit.select_items import SelectItem, comma_list, is_key_of_all, select_items
from sqlext.rewriter.emit.window_call import WindowCall
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import NUMBER, Tokens
from sqlext.rewriter.tree.keywords import ends_operand, is_at
from sqlext.rewriter.tree.read_clauses import read_clauses
from sqlext.rewriter.tree.statement_tree import Query, Tree

_TRIGGERS = frozenset({"AFTER", "EARLY", "EVERY", "ON"})
_BEGINS = _TRIGGERS | {"ACCUMULATING", "DISCARDING", "ALLOW", "EVICT"}
_MOST_ROWS = 10**18
_FOLLOWS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS", "LIMIT", "OFFSET"})
_BEHIND = _FOLLOWS | {"ORDER", "HAVING", "WHERE", "GROUP"}  # some of them rightly
_FOREIGN = {  # what ksqlDB and Flink's experimental options call it
    "CHANGES": "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) … EMIT EVERY 1 ROW.",
    "FINAL": "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) … EMIT AFTER WATERMARK, or leave EMIT out.",
    "WITHOUT": "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) … EMIT EVERY 1 ROW.",
}
_SYNTAX = (
    "write EMIT [AFTER WATERMARK | EARLY EVERY interval [PROCESSING TIME] | EVERY n ROWS | ON DELTA(e) > x "
    "| AFTER DELAY interval, …] [ACCUMULATING | DISCARDING] [ALLOW LATENESS interval] [EVICT KEEP LAST n ROWS "
    "| EVICT KEEP LAST interval | EVICT KEEP DELTA(e) < x]."
)


@dataclass(frozen=True, kw_only=True)
class EmitPart:
    """A trigger or an evictor: its kind, its duration, number of rows or threshold, and the expression of DELTA."""

    kind: str
    whole: Fragment
    amount: Fragment | None = None
    expression: Fragment | None = None


@dataclass(frozen=True, kw_only=True)
class EmitClause:
    """`SELECT items FROM call [alias] [WHERE …] GROUP BY keys [HAVING …] EMIT …`, all of it `whole`; `keyword` is
    EMIT, `alias` as written or empty, `order` the words ORDER BY, LIMIT or OFFSET where they follow."""

    whole: Fragment
    keyword: Fragment
    call: WindowCall
    alias: str
    items: tuple[SelectItem, ...]
    where: Fragment | None
    keys: tuple[Fragment, ...]
    having: Fragment | None
    triggers: tuple[EmitPart, ...]
    is_discarding: bool
    lateness: Fragment | None
    evictor: EmitPart | None
    order: Fragment | None = None


def is_emit(tokens: Tokens, i: int) -> bool:
    """Does EMIT with a trigger, a mode, a lateness, an evictor, or a word of another system stand at token i?

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [is_emit(tokenize(text), 1) for text in ("k EMIT EVERY 3 ROWS", "k EMIT CHANGES", "SELECT emit changes")]
    [True, True, False]
    """
    is_followed = tokens[i].word == "EMIT" and i + 1 < len(tokens) and i > 0
    return is_followed and (tokens[i + 1].word in _BEGINS or _is_foreign(tokens, i))


def _is_bare(tree: Tree, i: int, calls: Sequence[WindowCall]) -> bool:
    """Does EMIT alone stand at token i, at the end of a grouping query over a window function?"""
    tokens = tree.tokens
    ends = i + 1 == len(tokens) or tokens[i + 1].text in (")", ";", "|>") or tokens[i + 1].word in _BEHIND
    if tokens[i].word != "EMIT" or not ends or not ends_operand(tokens, i - 1):
        return False
    queries = (call.relation.query for call in calls)
    return any(
        query is not None and tokens[i].depth == tokens[query.from_].depth
        and any(is_at(tokens, j, "GROUP", "BY") for j in range(query.from_, i) if tokens[j].depth == tokens[i].depth)
        for query in queries
    )  # fmt: skip


def _is_foreign(tokens: Tokens, i: int) -> bool:
    """Does EMIT with a word of another system stand at token i, at the end of a query?"""
    if tokens[i].word != "EMIT" or not i or i + 1 == len(tokens) or not ends_operand(tokens, i - 1):
        return False
    behind = tokens[i + 2].text if i + 2 < len(tokens) else ";"
    return tokens[i + 1].word in _FOREIGN and (behind in (")", ";") or tokens[i + 2].word in _BEHIND | {"DELAY"})


def parse_emits(tree: Tree, calls: Sequence[WindowCall]) -> tuple[EmitClause, ...]:
    """The EMIT clauses of a statement, inner ones first. Raises ParseError.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> from sqlext.rewriter.emit.window_call import parse_window_calls
    >>> text = '''SELECT k, count(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR)
    ...           GROUP BY k, window_start EMIT EVERY 10 ROWS, ON DELTA(v) > 2 DISCARDING EVICT KEEP LAST 3 ROWS'''
    >>> (clause,) = parse_emits(read_tree(text), parse_window_calls(read_tree(text)))
    >>> [(t.kind, t.amount.text) for t in (*clause.triggers, clause.evictor)], clause.is_discarding
    ([('EVERY … ROWS', '10'), ('ON DELTA', '2'), ('KEEP LAST … ROWS', '3')], True)
    """

    def is_keyword(i: int) -> bool:
        return is_emit(tree.tokens, i) or _is_bare(tree, i, calls)

    keywords = (i for i in range(len(tree.tokens)) if is_keyword(i))
    return read_clauses(keywords, lambda emit: _Reader(tree, emit, calls).clause())


class _Reader:
    def __init__(self, tree: Tree, emit: int, calls: Sequence[WindowCall]):
        self.tree, self.tokens, self.emit, self.calls = tree, tree.tokens, emit, calls
        self.depth = tree.tokens[emit].depth
        self.stop = next(
            (
                i
                for i in range(emit, len(self.tokens))
                if self.tokens[i].depth < self.depth or self.tokens[i].text == ";" or self._follows(i)
            ),
            len(self.tokens),
        )
        self.i = emit + 1

    def _follows(self, i: int) -> bool:
        """Does a word stand at token i with which the query ends?"""
        if self.tokens[i].depth != self.depth:
            return False
        return self.tokens[i].word in _FOLLOWS or self.tokens[i].text == "|>" or is_at(self.tokens, i, "ORDER", "BY")

    def clause(self) -> EmitClause:
        if _is_foreign(self.tokens, self.emit):
            word = self.tokens[self.emit + 1].word
            raise self._error("EMIT_SYNTAX", f"there is no EMIT {word}", self.emit, self.emit + 2, _FOREIGN[word])
        call, query = self._call()
        assert query.select is not None
        select, from_ = query.select, query.from_
        if self.tokens[select + 1].word == "DISTINCT":
            raise self._error(
                "EMIT_QUERY", "SELECT DISTINCT cannot EMIT", select + 1, select + 2, "leave DISTINCT out."
            )
        heads = self._heads(from_)
        if "GROUP" not in heads:
            hint = "write GROUP BY window_start, window_end, with further keys if you like."
            raise self._error("EMIT_QUERY", "EMIT needs GROUP BY", self.emit, self.emit + 1, hint)
        items = select_items(self.tree, select + 1, from_)
        triggers = self._triggers()
        is_discarding = self._mode()
        lateness = self._duration() if self._takes("ALLOW", "LATENESS") else None
        evictor = self._evictor()
        if self.i < self.stop:
            raise self._unexpected()
        return EmitClause(
            whole=self.tree.fragment(select, self.stop),
            keyword=self.tree.fragment(self.emit, self.emit + 1), call=call, alias=self._alias(call),
            items=items,
            where=self._part(heads, "WHERE", 1),
            keys=self._keys(heads, items),
            having=self._part(heads, "HAVING", 1), triggers=triggers, is_discarding=is_discarding, lateness=lateness,
            evictor=evictor, order=self._order(),
        )  # fmt: skip

    def _keys(self, heads: dict[str, tuple[int, int]], items: tuple[SelectItem, ...]) -> tuple[Fragment, ...]:
        lo, hi = self._range(heads, "GROUP", 2)
        if hi == lo + 1 and self.tokens[lo].word == "ALL":
            keys = tuple(item.expression for item in items if is_key_of_all(self.tree, item))
            return keys or (self.tree.fragment(lo, hi),)
        return tuple(self.tree.fragment(*bounds) for bounds in comma_list(self.tree, lo, hi))

    def _order(self) -> Fragment | None:
        if self.stop >= len(self.tokens) or self.tokens[self.stop].word not in ("ORDER", "LIMIT", "OFFSET"):
            return None
        return self.tree.fragment(self.stop, self.stop + (2 if self.tokens[self.stop].word == "ORDER" else 1))

    def _error(self, error_class: str, message: str, lo: int, hi: int, hint: str = _SYNTAX) -> ParseError:
        return ParseError(error_class, message, place=self.tree.fragment(lo, hi).place, hint=hint)

    def _unexpected(self) -> ParseError:
        at = min(self.i, self.stop - 1)
        word = self.tokens[at].text
        if self.tokens[at].word in _BEHIND:
            return self._error("EMIT_SYNTAX", f"{word} stands behind EMIT", at, at + 1, f"write {word} … EMIT ….")
        return self._error("EMIT_SYNTAX", f"{word} is not expected in EMIT here", at, at + 1)

    # the query around EMIT

    def _call(self) -> tuple[WindowCall, Query]:
        """The window function that the query reads."""
        inside = []
        for call in self.calls:
            query = call.relation.query
            if query is None or query.select is None or self.tokens[query.from_].depth != self.depth:
                continue
            if query.select < self.emit < max(query.end, query.stop):
                inside.append((call, query))
        if not inside:
            hint = (
                "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES) … GROUP BY window_start, window_end."
            )
            message = "EMIT belongs to a grouping query over TUMBLE, HOP, CUMULATE, SESSION or GLOBAL_WINDOW"
            raise self._error("EMIT_WITHOUT_WINDOW", message, self.emit, self.emit + 1, hint)
        begins = max(query.from_ for _, query in inside)  # before it stand queries of the same UNION
        inside = [(call, query) for call, query in inside if query.from_ == begins]
        call, query = inside[-1]
        last = max(call.relation.stop, call.relation.start)
        behind = self.tokens[last].word if last < len(self.tokens) else ""
        if len(inside) > 1 or behind in (",", "JOIN") or self.tokens[query.from_ + 1].start != call.whole.start:
            hint = "join inside TABLE (SELECT … FROM a JOIN b …), or join the result of the whole query."
            place = query.from_
            raise self._error(
                "EMIT_QUERY", "a query that EMITs reads one window function alone", place, place + 1, hint
            )
        return call, query

    def _alias(self, call: WindowCall) -> str:
        alias = call.relation.aliases[-1]
        if alias is None:
            return ""
        if alias.columns:
            hint = "name the columns inside TABLE (SELECT …)."
            message = "a query that EMITs cannot rename the columns of its window function"
            raise self._error("EMIT_QUERY", message, alias.name, alias.columns[-1] + 1, hint)
        return self.tokens[alias.name].text

    def _heads(self, from_: int) -> dict[str, tuple[int, int]]:
        """Where WHERE, GROUP BY and HAVING of the query begin and end."""
        at = [
            i
            for i in range(from_ + 1, self.emit)
            if self.tokens[i].depth == self.depth
            and (self.tokens[i].word in ("WHERE", "HAVING") or is_at(self.tokens, i, "GROUP", "BY"))
            and ends_operand(self.tokens, i - 1)
        ]
        for i in range(at[-1] if at else from_, self.emit):
            if self.tokens[i].depth != self.depth:
                continue
            if self.tokens[i].word in ("QUALIFY", "WINDOW") and ends_operand(self.tokens, i - 1):
                hint = "write it in a query around this one."
                raise self._error("EMIT_QUERY", f"a query that EMITs has no {self.tokens[i].word}", i, i + 1, hint)
            if is_at(self.tokens, i, "ORDER", "BY"):
                hint = "write ORDER BY behind EMIT; it sorts the firings."
                raise self._error("EMIT_QUERY", "ORDER BY stands before EMIT", i, i + 2, hint)
        return {self.tokens[i].word: (i, stop) for i, stop in zip(at, [*at[1:], self.emit])}

    def _range(self, heads: dict[str, tuple[int, int]], word: str, length: int) -> tuple[int, int]:
        lo, hi = heads[word]
        if lo + length >= hi:
            raise self._error("EMIT_QUERY", f"nothing follows {word}", lo, lo + length, _SYNTAX)
        return lo + length, hi

    def _part(self, heads: dict[str, tuple[int, int]], word: str, length: int) -> Fragment | None:
        return self.tree.fragment(*self._range(heads, word, length)) if word in heads else None

    # EMIT

    def _at(self, *words: str) -> bool:
        return self.i + len(words) <= self.stop and is_at(self.tokens, self.i, *words)

    def _takes(self, *words: str) -> bool:
        if not self._at(*words):
            return False
        self.i += len(words)
        return True

    def _triggers(self) -> tuple[EmitPart, ...]:
        triggers: list[EmitPart] = []
        while self.i < self.stop and self.tokens[self.i].word in _TRIGGERS:
            trigger = self._trigger()
            if any(t.kind == trigger.kind for t in triggers):
                place = trigger.whole.place
                raise ParseError("DUPLICATE_TRIGGER", f"{trigger.kind} is there twice", place=place, hint=_SYNTAX)
            triggers.append(trigger)
            if not self._takes(","):
                break
            if self.i == self.stop or self.tokens[self.i].word not in _TRIGGERS:
                at = min(self.i, self.stop - 1)
                raise self._error("EMIT_SYNTAX", "a trigger is expected behind the comma", at, at + 1)
        return tuple(triggers)

    def _trigger(self) -> EmitPart:
        start = self.i
        amount = expression = None
        if self._takes("AFTER", "WATERMARK"):
            kind = AFTER_WATERMARK
        elif self._takes("AFTER", "DELAY"):
            kind, amount = AFTER_DELAY, self._duration()
        elif self._takes("EARLY", "EVERY"):
            amount = self._duration()
            kind = ON_CLOCK if self._takes("PROCESSING", "TIME") else EARLY_EVERY
        elif self._takes("EVERY"):
            kind, amount = EVERY_ROWS, self._rows()
            if int(amount.text) == 0:
                raise ParseError("EMIT_SYNTAX", "EVERY needs at least one row", place=amount.place, hint=_SYNTAX)
        elif self._takes("ON", "DELTA"):
            kind, (expression, amount) = ON_DELTA, self._delta(">")
        else:
            self.i += 1
            raise self._unexpected()
        return EmitPart(kind=kind, whole=self.tree.fragment(start, self.i), amount=amount, expression=expression)

    def _mode(self) -> bool:
        if self._takes("DISCARDING"):
            return True
        self._takes("ACCUMULATING")
        return False

    def _evictor(self) -> EmitPart | None:
        start = self.i
        if not self._takes("EVICT"):
            return None
        if not self._takes("KEEP"):
            raise self._unexpected()
        amount = expression = None
        if self._takes("DELTA"):
            kind, (expression, amount) = KEEP_DELTA, self._delta("<")
        elif not self._takes("LAST"):
            raise self._unexpected()
        elif self.i + 1 < self.stop and is_at(self.tokens, self.i + 1, "ROWS"):
            kind, amount = KEEP_ROWS, self._rows()
        else:
            kind, amount = KEEP_TIME, self._duration()
        return EmitPart(kind=kind, whole=self.tree.fragment(start, self.i), amount=amount, expression=expression)

    def _rows(self) -> Fragment:
        at = self.i
        if not (at < self.stop and self.tokens[at].kind == NUMBER and self.tokens[at].text.isdigit()):
            raise self._error(
                "EMIT_SYNTAX", "a number of rows is expected here", min(at, self.stop - 1), min(at, self.stop - 1) + 1
            )
        if int(self.tokens[at].text) > _MOST_ROWS:
            raise self._error("EMIT_SYNTAX", "no window has so many rows", at, at + 1)
        self.i += 1
        if not self._takes("ROWS") and not self._takes("ROW"):
            raise self._unexpected()
        return self.tree.fragment(at, at + 1)

    def _duration(self) -> Fragment:
        """An interval: everything up to the next comma or word of EMIT."""
        at = self.i
        ends = ("PROCESSING", "ACCUMULATING", "DISCARDING", "ALLOW", "EVICT")
        while self.i < self.stop and not (
            self.tokens[self.i].depth == self.depth
            and (self.tokens[self.i].text == "," or self.tokens[self.i].word in ends)
        ):
            self.i += 1
        if at == self.i:
            raise self._unexpected()
        return self.tree.fragment(at, self.i)

    def _delta(self, comparison: str) -> tuple[Fragment, Fragment]:
        """`(expression) > x`"""
        if not self._at("("):
            raise self._unexpected()
        close = next((i for i in range(self.i + 1, self.stop) if self.tokens[i].depth <= self.depth), self.stop)
        expression = self.tree.fragment(self.i + 1, close)
        self.i = close + 1
        if not self._takes(comparison):
            raise self._unexpected()
        return expression, self._duration()
