"""Parses EMIT after a grouping query over a window function, and keeps the place of each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.errors import ParseError
from sqlext.operators.emit.parts import EVICTOR_FORMS, INTERVAL, N_ROWS, TRIGGER_FORMS, Form
from sqlext.rewriter.emit.select_items import SelectItem, comma_list, is_key_of_all, select_items
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import NUMBER, Tokens, is_at
from sqlext.rewriter.tree.keywords import SET_OPERATIONS, ends_operand
from sqlext.rewriter.tree.read_clauses import read_clauses
from sqlext.rewriter.tree.statement_tree import Query, Tree

_MOST_DIGITS = 18  # of a number of rows
_ROW_WORDS = ("ROWS", "ROW")
_FOLLOWS = SET_OPERATIONS | {"LIMIT", "OFFSET"}
_AFTER_EMIT = _FOLLOWS | {"ORDER", "HAVING", "WHERE", "GROUP"}  # words after EMIT, of which only some are right there
_FOREIGN = {  # words after EMIT in ksqlDB, Beam, Calcite, and in Flink's experimental options
    "CHANGES": "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) … EMIT EVERY 1 ROW.",
    "FINAL": "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) … EMIT AFTER WATERMARK, or leave EMIT out.",
    "WITHOUT": "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) … EMIT EVERY 1 ROW.",
    "WITH": "write EMIT AFTER DELAY INTERVAL 10 SECONDS, and ALLOW LATENESS INTERVAL 10 SECONDS for late rows.",
    "STREAM": "write EMIT AFTER WATERMARK, or leave EMIT out; TUMBLE(TABLE STREAM t WATERMARK …, …) reads a stream.",
}
_SYNTAX = (
    f"write EMIT [{' | '.join(form.text for form in TRIGGER_FORMS)}, …] [ACCUMULATING | DISCARDING] "
    f"[ALLOW LATENESS interval] [{' | '.join(f'EVICT {form.text}' for form in EVICTOR_FORMS)}]."
)
_STARTS = frozenset(form.words[0] for form in TRIGGER_FORMS)
_AFTER_TRIGGERS = frozenset({"ACCUMULATING", "DISCARDING", "ALLOW", "EVICT"})
_BEGINS = _STARTS | _AFTER_TRIGGERS
_ENDS_INTERVAL = _AFTER_TRIGGERS.union(*(form.option[:1] for form in TRIGGER_FORMS))


@dataclass(frozen=True, kw_only=True)
class EmitPart:
    """A trigger or an evictor.

    `amount` is its duration, its number of rows (`is_of_rows`) or its threshold; `expression` is the expression of
    DELTA.
    """

    kind: str
    whole: Fragment
    amount: Fragment | None = None
    is_of_rows: bool = False
    expression: Fragment | None = None


@dataclass(frozen=True, kw_only=True)
class EmitClause:
    """`SELECT items FROM call [alias] [WHERE …] GROUP BY keys [HAVING …] EMIT …`; `whole` is all of it.

    `keyword` is the word EMIT. `alias` is the alias as written, or empty. `order` is the word ORDER BY, LIMIT or OFFSET
    if one follows.
    """

    whole: Fragment
    keyword: Fragment
    call: WindowTvf
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

    @property
    def stop(self) -> int:
        """The end of the EMIT itself, which ORDER BY may follow."""
        if self.order is not None and self.order.start > self.keyword.start:
            return self.order.start
        return self.whole.stop


def is_emit(tokens: Tokens, i: int) -> bool:
    """Whether token i is an EMIT that a trigger, a mode, a lateness, an evictor or a word of another system follows.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [is_emit(tokenize(text), 1) for text in ("k EMIT EVERY 3 ROWS", "k EMIT CHANGES", "SELECT emit changes")]
    [True, True, False]
    """
    is_followed = tokens[i].word == "EMIT" and i + 1 < len(tokens) and i > 0
    return is_followed and (tokens[i + 1].word in _BEGINS or _is_foreign(tokens, i))


def _is_bare(tree: Tree, i: int, calls: Sequence[WindowTvf]) -> bool:
    """Whether token i is EMIT alone, at the end of a grouping query over a window function."""
    tokens = tree.tokens
    ends = i + 1 == len(tokens) or tokens[i + 1].text in (")", ";", "|>") or tokens[i + 1].word in _AFTER_EMIT
    if tokens[i].word != "EMIT" or not ends or not ends_operand(tokens, i - 1):
        return False
    queries = (call.relation.query for call in calls)
    return any(
        query is not None
        and tokens[i].depth == tokens[query.from_].depth
        and any(is_at(tokens, j, "GROUP", "BY") for j in range(query.from_, i) if tokens[j].depth == tokens[i].depth)
        for query in queries
    )


def _is_foreign(tokens: Tokens, i: int) -> bool:
    """Whether token i is EMIT with a word of another system, at the end of a query."""
    if tokens[i].word != "EMIT" or not i or i + 1 == len(tokens) or not ends_operand(tokens, i - 1):
        return False
    after = tokens[i + 2].word if i + 2 < len(tokens) else ";"
    return tokens[i + 1].word in _FOREIGN and after in _AFTER_EMIT | {")", ";", "DELAY", "AFTER"}


def parse_emits(tree: Tree, calls: Sequence[WindowTvf]) -> tuple[EmitClause, ...]:
    """The EMIT clauses of a statement, inner ones first. Raises ParseError.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> from sqlext.rewriter.emit.window_tvf import parse_window_tvfs
    >>> text = '''SELECT k, count(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR)
    ...           GROUP BY k, window_start EMIT EVERY 10 ROWS, ON DELTA(v) > 2 DISCARDING EVICT KEEP LAST 3 ROWS'''
    >>> (clause,) = parse_emits(read_tree(text), parse_window_tvfs(read_tree(text)))
    >>> [(t.kind, t.amount.text) for t in (*clause.triggers, clause.evictor)], clause.is_discarding
    ([('EVERY … ROWS', '10'), ('ON DELTA', '2'), ('KEEP LAST … ROWS', '3')], True)
    """

    def is_keyword(i: int) -> bool:
        return is_emit(tree.tokens, i) or _is_bare(tree, i, calls)

    keywords = (i for i in range(len(tree.tokens)) if is_keyword(i))
    return read_clauses(keywords, lambda emit: _EmitReader(tree, emit, calls).clause())


class _EmitReader:
    def __init__(self, tree: Tree, emit: int, calls: Sequence[WindowTvf]):
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
        self.cursor = Cursor(
            self.tokens[: self.stop], emit + 1, text=tree.text, error_class="EMIT_SYNTAX", hint=_SYNTAX
        )

    def _follows(self, i: int) -> bool:
        """Whether token i is a word that ends the query, such as UNION or LIMIT."""
        if self.tokens[i].depth != self.depth:
            return False
        return self.tokens[i].word in _FOLLOWS or self.tokens[i].text == "|>" or is_at(self.tokens, i, "ORDER", "BY")

    def clause(self) -> EmitClause:
        if _is_foreign(self.tokens, self.emit):
            word = self.tokens[self.emit + 1].word
            raise self.cursor.error(f"there is no EMIT {word}", self.emit, self.emit + 2, hint=_FOREIGN[word])
        call, query = self._call()
        assert query.select is not None
        select, from_ = query.select, query.from_
        if self.tokens[select + 1].word == "DISTINCT":
            raise self._wrong_query("SELECT DISTINCT cannot EMIT", select + 1, select + 2, "leave DISTINCT out.")
        heads = self._heads(from_)
        if "GROUP" not in heads:
            hint = "write GROUP BY window_start, window_end, with further keys if you like."
            raise self._wrong_query("EMIT needs GROUP BY", self.emit, self.emit + 1, hint)
        items = select_items(self.tree, select + 1, from_)
        cursor = self.cursor
        triggers = self._triggers()
        is_discarding = cursor.take("DISCARDING")
        if not is_discarding:
            cursor.take("ACCUMULATING")
        lateness = self._duration() if cursor.take("ALLOW", "LATENESS") else None
        evictor = self._evictor()
        if not cursor.is_at_end:
            raise self._unexpected()
        return EmitClause(
            whole=self.tree.fragment(select, self.stop),
            keyword=self.tree.fragment(self.emit, self.emit + 1),
            call=call,
            alias=self._alias(call),
            items=items,
            where=self._part(heads, "WHERE", 1),
            keys=self._keys(heads, items),
            having=self._part(heads, "HAVING", 1),
            triggers=triggers,
            is_discarding=is_discarding,
            lateness=lateness,
            evictor=evictor,
            order=self._order(),
        )

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

    def _wrong_query(self, message: str, lo: int, hi: int, hint: str) -> ParseError:
        return self.cursor.error(message, lo, hi, hint=hint, error_class="EMIT_QUERY")

    def _unexpected(self) -> ParseError:
        at = min(self.cursor.index, self.stop - 1)
        word = self.tokens[at].text
        if self.tokens[at].word in _AFTER_EMIT:
            return self.cursor.error(f"{word} is written after EMIT", at, at + 1, hint=f"write {word} … EMIT ….")
        return self.cursor.error(f"{word} is not expected in EMIT here", at, at + 1)

    # the query around EMIT

    def _call(self) -> tuple[WindowTvf, Query]:
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
            raise self.cursor.error(message, self.emit, self.emit + 1, hint=hint, error_class="EMIT_WITHOUT_WINDOW")
        begins = max(query.from_ for _, query in inside)  # Earlier queries belong to the same UNION.
        inside = [(call, query) for call, query in inside if query.from_ == begins]
        call, query = inside[-1]
        last = max(call.relation.stop, call.relation.start)
        after = self.tokens[last].word if last < len(self.tokens) else ""
        if len(inside) > 1 or after in (",", "JOIN") or self.tokens[query.from_ + 1].start != call.whole.start:
            hint = "join inside TABLE (SELECT … FROM a JOIN b …), or join the result of the whole query."
            place = query.from_
            raise self._wrong_query("a query that EMITs reads one window function alone", place, place + 1, hint)
        return call, query

    def _alias(self, call: WindowTvf) -> str:
        alias = call.relation.aliases[-1]
        if alias is None:
            return ""
        if alias.columns:
            hint = "name the columns inside TABLE (SELECT …)."
            message = "a query that EMITs cannot rename the columns of its window function"
            raise self._wrong_query(message, alias.name, alias.columns[-1] + 1, hint)
        return self.tokens[alias.name].text

    def _heads(self, from_: int) -> dict[str, tuple[int, int]]:
        """The ranges of tokens of WHERE, GROUP BY and HAVING of the query, by their first words."""
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
                raise self._wrong_query(f"a query that EMITs has no {self.tokens[i].word}", i, i + 1, hint)
            if is_at(self.tokens, i, "ORDER", "BY"):
                hint = "write ORDER BY after EMIT; it sorts the firings."
                raise self._wrong_query("ORDER BY is written before EMIT", i, i + 2, hint)
        return {self.tokens[i].word: (i, stop) for i, stop in zip(at, [*at[1:], self.emit])}

    def _range(self, heads: dict[str, tuple[int, int]], word: str, length: int) -> tuple[int, int]:
        lo, hi = heads[word]
        if lo + length >= hi:
            raise self._wrong_query(f"nothing follows {word}", lo, lo + length, _SYNTAX)
        return lo + length, hi

    def _part(self, heads: dict[str, tuple[int, int]], word: str, length: int) -> Fragment | None:
        return self.tree.fragment(*self._range(heads, word, length)) if word in heads else None

    # EMIT

    def _triggers(self) -> tuple[EmitPart, ...]:
        triggers: list[EmitPart] = []
        while self.cursor.word in _STARTS:
            trigger = self._trigger()
            if any(t.kind == trigger.kind for t in triggers):
                place = trigger.whole.place
                raise ParseError("DUPLICATE_TRIGGER", f"{trigger.kind} is there twice", place=place, hint=_SYNTAX)
            triggers.append(trigger)
            if not self.cursor.take(","):
                break
            if self.cursor.word not in _STARTS:
                at = min(self.cursor.index, self.stop - 1)
                raise self.cursor.error("a trigger is expected after the comma", at, at + 1)
        return tuple(triggers)

    def _trigger(self) -> EmitPart:
        trigger = self._emit_part(self.cursor.index, TRIGGER_FORMS)
        if trigger.is_of_rows and trigger.amount is not None and int(trigger.amount.text) == 0:
            raise ParseError("EMIT_SYNTAX", "EVERY needs at least one row", place=trigger.amount.place, hint=_SYNTAX)
        return trigger

    def _evictor(self) -> EmitPart | None:
        start = self.cursor.index
        return self._emit_part(start, EVICTOR_FORMS) if self.cursor.take("EVICT") else None

    def _emit_part(self, start: int, forms: Sequence[Form]) -> EmitPart:
        """The part that begins at token `start`; the cursor is at the words of its form."""
        form, amount, expression = self._form(forms), None, None
        if form.operand == INTERVAL:
            amount = self._duration()
        elif form.operand == N_ROWS:
            amount = self._rows()
        elif form.operand:
            expression, amount = self._delta(form.operand.split()[1])
        kind = form.with_option if form.option and self.cursor.take(*form.option) else form.kind
        return EmitPart(
            kind=kind,
            whole=self.cursor.fragment(start, self.cursor.index),
            amount=amount,
            expression=expression,
            is_of_rows=form.operand == N_ROWS,
        )

    def _form(self, forms: Sequence[Form]) -> Form:
        """The form whose words come next. Raises ParseError at the first token that continues no form."""
        taken = 0
        while any(len(form.words) > taken for form in forms):
            forms = [form for form in forms if form.words[taken : taken + 1] == (self.cursor.word,)]
            if not forms:
                raise self._unexpected()
            self.cursor.index, taken = self.cursor.index + 1, taken + 1
        are_rows = any(is_at(self.cursor.tokens, self.cursor.index + 1, word) for word in _ROW_WORDS)
        return next((form for form in forms if are_rows == (form.operand == N_ROWS)), forms[0])

    def _rows(self) -> Fragment:
        cursor, at = self.cursor, self.cursor.index
        if cursor.is_at_end or cursor.tokens[at].kind != NUMBER or not cursor.tokens[at].text.isdigit():
            last = min(at, self.stop - 1)
            raise cursor.error("a number of rows is expected here", last, last + 1)
        if len(cursor.tokens[at].text) > _MOST_DIGITS:
            raise cursor.error("no window has so many rows", at, at + 1)
        cursor.index += 1
        if not cursor.take_one_of(_ROW_WORDS):
            raise self._unexpected()
        return cursor.fragment(at, at + 1)

    def _duration(self) -> Fragment:
        """An interval: everything up to the next comma or word of EMIT."""
        cursor, at = self.cursor, self.cursor.index
        while not cursor.is_at_end:
            token = cursor.tokens[cursor.index]
            if token.depth == self.depth and (token.text == "," or token.word in _ENDS_INTERVAL):
                break
            cursor.index += 1
        if at == cursor.index:
            raise self._unexpected()
        return cursor.fragment(at, cursor.index)

    def _delta(self, comparison: str) -> tuple[Fragment, Fragment]:
        """The expression and the threshold of `(expression) > x`, or of `(expression) < x`."""
        cursor = self.cursor
        if not cursor.is_at("("):
            raise self._unexpected()
        at = cursor.index
        close = next((i for i in range(at + 1, self.stop) if self.tokens[i].depth <= self.depth), self.stop)
        cursor.index = close + 1
        if not cursor.take(comparison):
            raise self._unexpected()
        return cursor.fragment(at + 1, close), self._duration()
