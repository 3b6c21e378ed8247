"""Conjuncts of DEFINE that bound a match like WITHIN: `B.ts <= A.ts + INTERVAL '10' MINUTES`, A being the first row.

Rows are in the order of the key. So if every variable that may take the last row has the conjunct, it holds for all
rows of the match, and "no later than that" is all it says: it goes, and the match gets a limit instead. What remains
of DEFINE is then often decided by each row alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlext.pattern.mapped_variables import FirstRows, first_rows
from sqlext.pattern.program import Program
from sqlext.rewriter.match.expression import Node, conjuncts, has_column, parse
from sqlext.rewriter.match.references import Item, Reference, place_of, render
from sqlext.rewriter.spark_types import INTEGER_BITS
from sqlext.rewriter.text.lexemes import Lexeme
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Source, Text, TextLike, join

_STRICT = ("+", "-", "*", "/", "%", "negate", "CAST")  # NULL if an operand is
_MOST = 2**63 - 1


@dataclass(frozen=True)
class Key:
    """The first ORDER BY key, ascending, if it is a column of the input."""

    column: str
    spark_type: str
    has_nulls_last: bool


@dataclass(frozen=True, kw_only=True)
class StartBound:
    """`key < end`, or `<=`, of the tested row, where `end` is computed on the row that `reference` reads.

    `whole`: the conjunct over one row, for its type; `written`: in the user's words. `is_strict`: where the key is
    NULL, `end` is.
    """

    reference: Reference
    end: Text
    whole: Text
    is_inclusive: bool
    is_strict: bool
    written: str

    @property
    def meaning(self) -> tuple[str, bool]:
        """The same for conjuncts that say the same of the first row."""
        return " ".join(str(self.end).split()), self.is_inclusive


@dataclass(frozen=True)
class MatchBound:
    """A bound of whole matches. `admits_start`: the first row is never tested; `dropped`: (label, first item) of the
    conjuncts that it makes true."""

    bound: StartBound
    admits_start: bool
    dropped: frozenset[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Definitions:
    """What DEFINE says: the items of each label's condition, and which references the tested row itself decides."""

    items: Mapping[int, Sequence[Item]]
    label_sets: Mapping[str, tuple[int, ...]]
    is_local: Callable[..., bool]  # (reference, label)
    source: Source


def match_bounds(program: Program, key: Key, definitions: Definitions, is_ansi: bool) -> list[MatchBound]:
    """The conjuncts that bound every match of the program exactly like WITHIN."""
    candidates: dict[tuple[str, bool], dict[int, list[tuple[int, StartBound]]]] = {}
    rows = first_rows(program)
    for label, items in definitions.items.items():
        reader = _Reader(
            items=items,
            source=definitions.source,
            key=key,
            is_local=partial(definitions.is_local, label=label),
            is_ansi=is_ansi,
        )
        for lo, hi in conjuncts(items):
            bound = reader.bound(lo, hi)
            if bound is not None and _reads_first_row(bound.reference, label, rows, definitions.label_sets):
                candidates.setdefault(bound.meaning, {}).setdefault(label, []).append((lo, bound))
    found = [_match_bound(by_label, rows, key) for by_label in candidates.values()]
    return [bound for bound in found if bound is not None]


def _reads_first_row(
    reference: Reference, label: int, rows: FirstRows, label_sets: Mapping[str, tuple[int, ...]]
) -> bool:
    """Is the row read the first one of the match, on every path on which the label is tested?"""
    if reference.variable is None:
        return reference.from_first
    labels = frozenset(label_sets[reference.variable])
    return rows.before[label] <= labels and (reference.from_first or not rows.since[label] & labels)


def _match_bound(by_label: dict[int, list[tuple[int, StartBound]]], rows: FirstRows, key: Key) -> MatchBound | None:
    """The bound that these conjuncts of one meaning are, None if some match may end without them.

    The first row is tested by all labels that may take it, or by none. A first row with a NULL key lies, with NULLS
    FIRST, before rows whose keys are not: if it has an end all the same, only conjuncts on all rows keep a match from
    passing over NULLs.
    """
    tested = frozenset(by_label)
    bound = next(iter(by_label.values()))[0][1]
    if not rows.ending <= tested:
        return None
    if tested & rows.opening and not rows.opening <= tested:
        return None
    admits_start = not tested & rows.opening
    if admits_start and not (bound.is_strict or key.has_nulls_last or rows.following <= tested):
        return None
    dropped = frozenset((label, lo) for label, found in by_label.items() for lo, _ in found)
    return MatchBound(bound, admits_start, dropped)


@dataclass(kw_only=True)
class _Reader:
    """Reads the conjuncts of one label."""

    items: Sequence[Item]
    source: Source
    key: Key
    is_local: Callable[[Reference], bool]
    is_ansi: bool

    def bound(self, lo: int, hi: int) -> StartBound | None:
        """What items `lo` to `hi` say, if that is a bound."""
        node = parse(self.items, lo, hi)
        if node.kind == "BETWEEN":
            value, low, high = node.children
            found = self._below(value, high, True, node)
            starts_there = found is not None and self._reads_key(low) and self._reference(low) == found.reference.source
            return found if found is not None and found.is_strict and starts_there else None
        if node.kind not in ("<", "<=", ">", ">="):
            return None
        left, right = node.children if node.kind[0] == "<" else reversed(node.children)
        is_inclusive = node.kind[1:] == "="
        return self._below(left, right, is_inclusive, node) or self._apart(left, right, is_inclusive, node)

    def _below(self, left: Node, right: Node, is_inclusive: bool, whole: Node) -> StartBound | None:
        """`key <= f(another row)`."""
        if not self._is_tested_key(left) or has_column(right, self.items):
            return None
        reference = self._only_reference(right)
        if reference is None:
            return None
        return self._made(reference, self._over_one_row(right), is_inclusive, self._is_strict(right), whole)

    def _apart(self, left: Node, right: Node, is_inclusive: bool, whole: Node) -> StartBound | None:
        """`key - key of another row <= constant`, of types whose difference says the same as their order."""
        if left.kind != "-" or right.kind != "literal" or not self._is_tested_key(left.children[0]):
            return None
        reference = self._only_reference(left.children[1])
        if reference is None or not self._reads_key(left.children[1]):
            return None
        key, constant = reference.arguments[0], str(self._text(right))
        digits = re.fullmatch(r"(\d{1,18})[LSY]?", constant, re.I)
        if self.key.spark_type == "timestamp_ntz" and constant.upper().startswith("INTERVAL"):
            return self._made(reference, join("(", key, f") + {constant}"), is_inclusive, True, whole)
        if digits is None or self.key.spark_type not in INTEGER_BITS or not self.is_ansi:
            return None
        distance = int(digits[1]) - (not is_inclusive)
        if distance < 0:
            return None
        end = join(
            "IF((", key, ") IS NOT NULL, ",
            "coalesce(try_add(CAST((", key, f") AS BIGINT), {distance}L), {_MOST}L), NULL)",
        )  # fmt: skip
        return self._made(reference, end, True, True, whole)

    def _made(self, reference: Reference, end: Text, is_inclusive: bool, is_strict: bool, node: Node) -> StartBound:
        place = place_of(self.items[node.start : node.stop], self.source)
        written = str(self.source.slice(place.start, place.stop))
        return StartBound(
            reference=reference,
            end=end,
            whole=self._over_one_row(node),
            is_inclusive=is_inclusive,
            is_strict=is_strict,
            written=written,
        )

    def _over_one_row(self, node: Node) -> Text:
        return render(self.items[node.start : node.stop], self.source, lambda r: join("(", r.arguments[0], ")"))

    def _is_tested_key(self, node: Node) -> bool:
        """The key of the tested row, and nothing else."""
        if node.kind not in ("reference", "column"):
            return False
        item = next(x for x in self.items[node.start : node.stop] if isinstance(x, Reference) or x.is_name)
        if isinstance(item, Lexeme):
            return self._is_key(item.raw)
        return item.kind == "navigation" and not item.step and self.is_local(item) and self._is_key(item.arguments[0])

    def _reads_key(self, node: Node) -> bool:
        """The key of another row, and nothing else."""
        reference = self._only_reference(node)
        return node.kind == "reference" and reference is not None and self._is_key(reference.arguments[0])

    def _is_key(self, text: TextLike) -> bool:
        return unquoted(str(text).strip()).lower() == self.key.column.lower()

    def _reference(self, node: Node) -> tuple | None:
        reference = self._only_reference(node)
        return None if reference is None else reference.source

    def _only_reference(self, node: Node) -> Reference | None:
        """The reference to one row of the match, the first or last of a variable; None if there are others."""
        found = [x for x in self.items[node.start : node.stop] if isinstance(x, Reference)]
        sources = {x.source for x in found}
        if len(sources) != 1 or found[0].kind != "navigation" or found[0].step or found[0].offset:
            return None
        return None if self.is_local(found[0]) else found[0]

    def _is_strict(self, node: Node) -> bool:
        """Is the node NULL where the key of the row it reads is?"""
        if node.kind == "reference":
            return self._reads_key(node)
        return node.kind in _STRICT and any(map(self._is_strict, node.children))

    def _text(self, node: Node) -> Text:
        first, last = self.items[node.start], self.items[node.stop - 1]
        assert isinstance(first, Lexeme) and isinstance(last, Lexeme)
        return self.source.slice(first.start, last.stop)
