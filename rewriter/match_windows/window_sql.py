"""Rewrites a query with row patterns in its windows as two queries around the windows.

    SELECT id, 2 * m OVER w AS d FROM t WHERE … WINDOW w AS (…) ORDER BY d

becomes a *base* query, which computes every value that depends on the rows alone,

    SELECT id, NULL AS __mixed0, <columns that the windows read> FROM t WHERE …

then the windows, each of which adds its values to these rows, and the *outer* query, which replaces the user's query:

    SELECT `__c0` AS `id`, 2 * `__w0_value0` AS d FROM <rows> ORDER BY d

A *mixed* item contains a call over such a window. Its largest parts without such a call are computed by the base query,
too. All other items and clauses are passed to Spark as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlext.errors import BindError
from sqlext.rewriter.lowering.match_plan import WINDOW, InputColumn, Mask, MatchPlan, ShownColumn
from sqlext.rewriter.scalars.expression import Node, parse
from sqlext.rewriter.scalars.references import Item, Reference, Scope, Words, lambda_parameter, place_of
from sqlext.rewriter.scalars.struct_fields import field_naming, free_stars
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import only_column, quoted, unquoted
from sqlext.rewriter.text.splice import Edit, Source, Text, join, sub
from sqlext.rewriter.tree.keywords import INTERVAL_UNITS, ORDER_WORDS, ends_operand
from sqlext.rewriter.tree.read_windows import CallOver, Range, WindowQuery, end_of_window, start_of_call
from sqlext.rewriter.tree.statement_tree import Tree

MIXED = "__mixed"  # the columns of the base query in the places of the mixed items
COLUMN, PART = "__c", "__h"  # columns of the select list; parts of mixed items
_OVER_WINDOW = re.compile(rf"\bOVER {WINDOW}\b")


@dataclass(kw_only=True)
class OuterQuery:
    """The two queries around the windows.

    `values` holds the column of each call, by its first token. `columns` are the columns that expressions of the query
    can read. `parts` are the parts of mixed items; they are collected while the edits are made.
    """

    tree: Tree
    site: WindowQuery
    source: Source
    values: dict[int, str]
    columns: tuple[str, ...]
    parts: list[Text] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mixed: dict[Range, str] = {}  # the mixed items, each with its name
        for lo, hi in self.site.items:
            own = {unquoted(t.text).lower() for t in self.tree.tokens[lo:hi] if t.is_name}
            if any(lo <= call.start < hi for call in self.site.calls) or own & self._new_names():
                self.mixed[lo, hi] = self._name(lo, hi)

    def _new_names(self) -> frozenset[str]:
        """The names, in lower case, of the mixed items so far, without names of columns; later items may read them."""
        return frozenset(name.lower() for name in self.mixed.values()) - {name.lower() for name in self.columns}

    # the base query

    def base_items(self) -> Text:
        """The select list of the base query, without the columns that the windows read."""
        pieces: list[Text] = []
        for i, (lo, hi) in enumerate(self.site.items):
            pieces.append(join(f"NULL AS {MIXED}{i}") if self.is_mixed(lo, hi) else self.text(lo, hi))
        return join(*pieces, separator=", ")

    def is_mixed(self, lo: int, hi: int) -> bool:
        """Whether an item of the select list reads a window, itself or by the name of another item."""
        return (lo, hi) in self.mixed

    def text(self, lo: int, hi: int) -> Text:
        return self.source.of(self.tree.fragment(lo, hi))

    # the outer query

    def edits(self, rows: str, columns: Sequence[str]) -> list[Edit]:
        """The edits that replace the user's query by the outer query. `rows` is the relation with the values.

        `columns` are the names of the columns of `base_items`; column i is `__c{i}` in `rows`.
        """
        tokens, site = self.tree.tokens, self.site
        edits = [*self.select_edits(columns)]
        edits.append(Edit(tokens[site.query.from_].start, tokens[site.after - 1].stop, f"FROM {rows}"))
        if site.late_clause is not None:
            lo, hi = site.late_clause
            edits.append(Edit(tokens[lo].start, tokens[hi - 1].stop, ""))
        return edits

    def item_edits(self) -> list[Edit]:
        """The edits inside the mixed items. Making them adds to `parts`."""
        edits: list[Edit] = []
        for lo, hi in self.site.items:
            if self.is_mixed(lo, hi):
                edits += self._edits(lo, self._alias(lo, hi), self._new_names())
        return edits

    def tail_edits(self, names: Sequence[str]) -> list[Edit]:
        """The edits of QUALIFY, ORDER BY, … `names` are the names of the columns of `base_items`."""
        edits: list[Edit] = []
        columns, outputs = {name.lower() for name in names}, self._outputs(names)
        for head, items in self.site.tail:
            is_filter = self.tree.tokens[head].word == "QUALIFY"
            if is_filter:
                edits.append(Edit(self.tree.tokens[head].start, self.tree.tokens[head].stop, "WHERE"))
            for lo, hi in items:
                while hi - 1 > lo and self.tree.tokens[hi - 1].word in ORDER_WORDS:
                    hi -= 1
                if is_filter or hi != lo + 1 or self.tree.key(lo) not in columns:
                    edits += self._edits(lo, hi, frozenset() if is_filter else outputs)
        return edits

    def _outputs(self, columns: Sequence[str]) -> frozenset[str]:
        """The names of the result, in lower case, which take precedence in ORDER BY over columns of the relations.

        A name that is not an alias means the same in both. With DISTINCT, ORDER BY can read only the result.
        """
        names = list(self.mixed.values())
        if self.tree.tokens[self.site.select + 1].word == "DISTINCT":
            names += [name for name in columns if not name.startswith(MIXED)]
        for lo, hi in self.site.items:
            names += [unquoted(self.tree.tokens[hi - 1].text)] if self._alias(lo, hi) < hi else []
        return frozenset(map(str.lower, names))

    def select_edits(self, columns: Sequence[str]) -> Iterator[Edit]:
        """The edits that replace items by columns of the base query, and that name mixed items without a name."""
        texts = [f"{COLUMN}{i} AS {quoted(name)}" for i, name in enumerate(columns)]
        at = 0
        run: list[Range] = []
        for i, (lo, hi) in enumerate([*self.site.items, (-1, -1)]):
            if lo >= 0 and not self.is_mixed(lo, hi):
                run.append((lo, hi))
                continue
            stop = columns.index(f"{MIXED}{i}") if lo >= 0 else len(columns)
            if run:
                fragment = self.tree.fragment(run[0][0], run[-1][1])
                yield Edit(fragment.start, fragment.stop, ", ".join(texts[at:stop]))
            if lo >= 0 and self._alias(lo, hi) == hi:
                end = self.tree.tokens[hi - 1].stop
                yield Edit(end, end, f" AS {quoted(self.mixed[lo, hi])}")
            at, run = stop + 1, []

    def _alias(self, lo: int, hi: int) -> int:
        """The end of an item without its alias."""
        tokens = self.tree.tokens
        if any(call.stop == hi for call in self.site.calls if call.start >= lo):
            return hi
        if hi - 2 > lo and tokens[hi - 2].word == "AS":
            return hi - 2
        last, before = tokens[hi - 1], tokens[hi - 2]
        is_unit = last.word in INTERVAL_UNITS and not before.is_name and before.text not in (")", "]")
        is_name = last.may_name and last.word != "END" and not is_unit and before.text != "."
        return hi - 1 if is_name and hi - 1 > lo and ends_operand(tokens, hi - 2) else hi

    def _name(self, lo: int, hi: int) -> str:
        """The name of a mixed item: its alias, the name of the measure if the item is one, or its text."""
        stop = self._alias(lo, hi)
        if stop < hi:
            return unquoted(self.tree.tokens[hi - 1].text)
        first = lo
        while self.tree.tokens[first].text == "(" and self.tree.tokens[stop - 1].text == ")":
            first, stop = first + 1, stop - 1
        call = next((call for call in self.site.calls if (call.start, call.stop) == (first, stop)), None)
        measure = None if call is None else self._measure(call)
        return self.tree.fragment(lo, hi).in_line if measure is None else measure

    def _edits(self, lo: int, hi: int, outputs: frozenset[str]) -> list[Edit]:
        """The edits of one expression: calls become their columns, other parts become columns of the base query."""
        fragment = self.tree.fragment(lo, hi)
        items: list[Item] = []
        replaced: list[tuple[int, int, str]] = []  # the start and the stop of a call or a part, and its column
        calls = {c.start: (c.stop, self.values[c.start]) for c in self.site.calls if lo <= c.start < hi}
        calls |= dict(self._ordinary_calls(lo, hi, outputs))
        for first, (stop, _) in calls.items():
            self._check_no_parameter(first, stop)
        places = {self.tree.tokens[start].start: start for start in calls}
        inside = 0
        for part in lexemes(fragment, self.source):
            if part.start < inside:
                continue
            start = places.get(part.start)
            if start is None:
                items.append(part)
                continue
            stop, column = calls[start]
            whole = self.tree.fragment(start, stop)
            inside = whole.stop
            items.append(Reference(kind="call", place=whole.place))
            replaced.append((whole.start, whole.stop, column))
        for start, stop in self._parts(parse(items, 0, len(items)), items, outputs):
            replaced.append((start, stop, self._part(self.source.slice(start, stop))))
        self._check_no_star(items, replaced)
        named = field_naming(items)
        return [
            Edit(start, stop, named(join(column), start, stop, self._field(start, stop)))
            for start, stop, column in replaced
        ]

    def _check_no_parameter(self, start: int, stop: int) -> None:
        """Raise BindError for a call over a window that reads the parameter of a lambda around it."""
        tokens = self.tree.tokens
        for i in range(start, stop):
            declared_at = tokens[i].declared_at
            if declared_at is not None and declared_at < tokens[start].start:
                place = self.tree.fragment(i, i + 1).place
                raise lambda_parameter(tokens[i].text, tokens[start].text, place)

    def _check_no_star(self, items: Sequence[Item], replaced: Sequence[tuple[int, int, str]]) -> None:
        """Raise BindError for a star that is not inside a part that the base query computes."""
        for star in free_stars(items):
            if not any(start <= star.start and star.stop < stop for start, stop, _ in replaced):
                raise BindError(
                    "MISPLACED_STAR",
                    "* cannot mean all columns in an expression that reads a window with a row pattern",
                    place=place_of([star], self.source),
                    hint="name the columns.",
                )

    def _field(self, start: int, stop: int) -> str | None:
        """The name that these characters have as a field of a struct: that of a column or a measure, else None."""
        tokens = self.tree.tokens
        call = next((c for c in self.site.calls if tokens[c.start].start == start), None)
        return only_column(self.source.text[start:stop]) if call is None else self._measure(call)

    def _measure(self, call: CallOver) -> str | None:
        """The name of the measure that a call is; None if it is a function."""
        return unquoted(self.tree.tokens[call.start].text) if call.over == call.start + 1 else None

    def _ordinary_calls(self, lo: int, hi: int, outputs: frozenset[str]) -> Iterator[tuple[int, tuple[int, str]]]:
        """(start, (stop, column of the base query)) of the calls over windows without patterns.

        The base query computes them because QUALIFY filters rows after them, and because it knows named windows.
        """
        tokens, patterned = self.tree.tokens, {call.over for call in self.site.calls}
        for over in self.site.overs:
            if lo <= over < hi and over not in patterned:
                start, stop = start_of_call(tokens, over, lo), end_of_window(tokens, over)
                holds_call = any(start < call.start < stop for call in self.site.calls)
                if not holds_call and not {unquoted(t.text).lower() for t in tokens[start:stop] if t.is_name} & outputs:
                    yield start, (stop, self._part(self.text(start, stop)))

    def _parts(self, node: Node, items: Sequence[Item], outputs: frozenset[str]) -> Iterator[tuple[int, int]]:
        """The characters of the largest parts of an expression that the base query computes."""
        inside = items[node.start : node.stop]
        names = {unquoted(x.raw).lower() for x in inside if isinstance(x, Lexeme) and x.is_name} & outputs
        is_free = not any(isinstance(x, Reference) for x in inside)
        if node.kind == "literal" or (node.kind == "column" and names):
            return
        if is_free and not names:
            yield inside[0].start, inside[-1].stop
        elif node.children:
            for child in node.children:
                yield from self._parts(child, items, outputs)
        else:
            yield from self._columns(inside, outputs)

    def _columns(self, items: Sequence[Item], outputs: frozenset[str]) -> Iterator[tuple[int, int]]:
        """The columns in an expression whose syntax is not known."""
        parts = [x if isinstance(x, Lexeme) else Lexeme(raw="0", start=x.start, stop=x.stop) for x in items]
        words = Words(parts, Scope(source=self.source, variables={}, columns=self.columns))
        for i, part in enumerate(parts):
            if words.is_column(i) and unquoted(part.raw).lower() not in outputs:
                last = i
                while words.raw(last + 1) == ".":
                    last += 2
                yield part.start, parts[min(last, len(parts) - 1)].stop

    def _part(self, text: Text) -> str:
        """The column of the base query that computes a part."""
        texts = [str(part) for part in self.parts]
        if str(text) not in texts:
            self.parts.append(text)
            texts.append(str(text))
        return f"{PART}{texts.index(str(text))}"


def rebased(plan: MatchPlan, number: int) -> tuple[list[InputColumn], Text, MatchPlan]:
    """The columns of the base query that window `number` reads, a window definition for them, and the plan over them.

    The definition is empty if the columns need none. The relation of the plan is still the user's. If a mask reads
    neighbours through Spark's window functions, the rows are numbered in that window, so that rows with equal keys have
    the same order there and in the match.
    """
    prefix, own_window = f"__w{number}_", f"{WINDOW}{number}"
    columns: list[InputColumn] = []

    def column(name: str, text: Text) -> Text:
        columns.append(InputColumn(prefix + name, join(sub(_OVER_WINDOW, f"OVER {own_window}", text))))
        return join(prefix + name)

    inputs = tuple(InputColumn(c.name, column(c.name.strip("_"), c.computed)) for c in plan.columns)
    by_text = {str(c.text): join(new.name) for c, new in zip(plan.columns, columns)}
    masks = tuple(_rebased_mask(mask, column, i, needs_window=plan.needs_window) for i, mask in enumerate(plan.masks))
    order = [(by_text.get(str(t)) or column(f"o{i}", t), way) for i, (t, way) in enumerate(plan.order_by)]
    reads_window = any(_OVER_WINDOW.search(str(mask.text)) for mask in plan.masks) and plan.needs_window
    if reads_window:
        order.append((column("n", join(f"row_number() OVER {WINDOW}")), ""))
    keys = tuple(by_text[str(text)] for text in plan.partition_by)
    shown = tuple(ShownColumn(prefix + c.name.strip("_"), c.text) for c in plan.shown)
    new = replace(plan, columns=inputs, masks=masks, order_by=tuple(order), partition_by=keys, shown=shown)
    definition = join(f"{own_window} AS (", plan.window, ")") if reads_window else Text()
    return columns, definition, new


def _rebased_mask(mask: Mask, column: Callable[[str, Text], Text], number: int, *, needs_window: bool) -> Mask:
    text = mask.text if needs_window else mask.rest
    if str(text) != "TRUE":
        text = column(f"b{number}", text)
    return Mask(text, text, mask.neighbours)


def through(plan: MatchPlan, relation: str, names: Sequence[str]) -> MatchPlan:
    """The plan over `relation`; it passes the columns `names` through to its result."""
    carried = tuple(InputColumn(name, join(name)) for name in names)
    return replace(
        plan,
        relation=join(relation),
        columns=(*plan.columns, *carried),
        carried=(*plan.carried, *names),
        shown=(*(ShownColumn(name, join(name)) for name in names), *plan.shown),
    )


def fragment_of_call(tree: Tree, call: CallOver) -> Fragment:
    """The text of a call before OVER."""
    return tree.fragment(call.start, call.over)
