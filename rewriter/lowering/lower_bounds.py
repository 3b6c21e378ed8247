"""Lowers WITHIN, the conjuncts of DEFINE that have the same meaning, and the time of rows.

The conjunct `B.ts <= A.ts + INTERVAL '10' MINUTES`, where A is the first row of the match and `ts` is the ORDER BY key,
bounds the match as WITHIN does. Rows come in the order of the key. Therefore, if every variable that may take the last
row has the conjunct, it holds for all rows of the match and has no other effect: it is removed, and the match gets a
limit instead. Then each row alone can often decide the rest of DEFINE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlext.errors import BindError, SqlExtError, UnsupportedError
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, MAX_DIGITS, TIME_TYPES, in_sql, kind_of
from sqlext.operators.match.plan import Bound
from sqlext.operators.rows.columns import ROW_TIME, WITHIN_END, WITHIN_KEY
from sqlext.pattern.program.mapped_variables import FirstRows, first_rows
from sqlext.pattern.program.program import Program
from sqlext.rewriter.lowering.end_of_within import end_of_within, without_zone
from sqlext.rewriter.lowering.input_query import Context
from sqlext.rewriter.lowering.length_of_within import check_length
from sqlext.rewriter.lowering.lower_define import Defined
from sqlext.rewriter.lowering.match_plan import InputColumn
from sqlext.rewriter.lowering.total_sums import last_value, total_key
from sqlext.rewriter.match.match_clause import Within
from sqlext.rewriter.scalars.expression import Node, conjuncts, has_column, parse
from sqlext.rewriter.scalars.references import Item, Reference, place_of
from sqlext.rewriter.scalars.render import render
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.lexemes import Lexeme
from sqlext.rewriter.text.names import quoted, unquoted
from sqlext.rewriter.text.splice import Text, TextLike, join

_NULL_IF_OPERAND_IS = ("+", "-", "*", "/", "%", "negate", "CAST")
_LARGEST_BIGINT = 2**63 - 1

ConjunctPlace = tuple[int, int]  # (label, its first item)


def texts_of_within(context: Context) -> list[Text]:
    """The texts whose types `within` and `add_row_time` need."""
    if not context.clause.order_by:
        return []
    key = context.source.of(context.clause.order_by[0].expression)
    if context.clause.within is not None:
        bound = context.source.of(context.clause.within.bound)
        return [key, bound, _common_text(key, _sum(key, bound))]
    return [key] if context.needs_times else []


def _sum(key: Text, bound: Text) -> Text:
    return join("(", key, ") + ", bound)


def within(context: Context) -> list[Bound]:
    """WITHIN as a list of one bound, or an empty list without WITHIN. Raises BindError: WITHIN_TYPE."""
    within = context.clause.within
    if within is None:
        return []
    check_length(within.bound, context)
    key, length = context.source.of(context.clause.order_by[0].expression), context.source.of(within.bound)
    try:
        key_type, length_type = context.relation.resolver.types([key, length])
        end = _sum(without_zone(key, key_type, length_type), length)
        _, common = _bound_types(context, key, end)
    except (BindError, UnsupportedError) as e:
        if e.error_class.startswith(("SQLEXT_DATATYPE_MISMATCH", "SQLEXT_RULE_EXPRESSION")):
            raise _cannot_be_added(context, within, key) from None
        raise
    if not common:
        message, hint = f"WITHIN needs a time or a number as the first ORDER BY key, not {key_type}", None
        if key_type.startswith("decimal"):
            message = f"a key of type {key_type} plus the bound may have more than {MAX_DIGITS} digits"
            hint = "write ORDER BY CAST(… AS DOUBLE)."
        raise BindError("WITHIN_TYPE", message, place=within.bound.place, hint=hint)
    bound = Bound(is_inclusive=within.is_inclusive, admits_start=within.between_rows, last=last_value(common))
    _add_columns(context, bound, key, end, common)
    *others, first, last = context.columns
    total = total_key(key, key_type, common)
    whole = total or join("(", key, ")")
    computed = end_of_within(whole, length, (length_type, common), context.relation, within.bound)
    context.columns[:] = [*others, replace(first, total=total), replace(last, total=computed)]
    return [bound]


def _cannot_be_added(context: Context, within: Within, key: Text) -> BindError:
    try:
        key_type, bound_type = context.relation.resolver.types([key, context.source.of(within.bound)])
    except UnsupportedError:
        hint = "write WITHIN INTERVAL 10 MINUTES."
        return BindError("WITHIN_TYPE", "this is no duration", place=within.bound.place, hint=hint)
    is_time = key_type in TIME_TYPES
    hint = "write WITHIN INTERVAL 10 MINUTES." if is_time else "write a number in the unit of the key: WITHIN 600."
    message = f"the first ORDER BY key is {key_type}, and {bound_type} cannot be added to it"
    return BindError("WITHIN_TYPE", message, place=within.bound.place, hint=hint)


def start_bounds(
    context: Context, program: Program, labels: tuple[str, ...], defined: Defined
) -> tuple[list[Bound], set[ConjunctPlace]]:
    """The bounds that DEFINE contains, and the conjuncts that they make true."""
    bounds: list[Bound] = []
    dropped: set[ConjunctPlace] = set()
    is_allowed = context.relation.takes_start_bounds and not context.relation.is_static
    # If times are needed, conditions on later rows may still become true or false: only WITHIN ends a match.
    key = None if context.needs_times or context.needs_cep or not is_allowed else _key_column(context)
    if key is None:
        return bounds, dropped
    items = {labels.index(variable): items for variable, items in defined.items()}
    for match_bound in _match_bounds(context, program, key, items):
        start_bound = match_bound.bound
        column = join(quoted(key.column))
        try:
            _, common = _bound_types(context, column, start_bound.end)
            is_condition = context.relation.resolver.types([start_bound.whole]) == ["boolean"]
        except SqlExtError:
            continue  # lowering the conjunct reports the error
        if common and is_condition:
            number = f"_{len(bounds)}"
            bound = Bound(
                key=WITHIN_KEY + number,
                end=WITHIN_END + number,
                is_inclusive=start_bound.is_inclusive,
                admits_start=match_bound.admits_start,
                written=start_bound.written,
            )
            _add_columns(context, bound, column, start_bound.end, common)
            bounds.append(bound)
            dropped |= match_bound.dropped
    return bounds, dropped


def add_row_time(context: Context) -> None:
    """Add the time of each row, the first ORDER BY key, to the input query unless WITHIN has added it.

    Raises BindError: ROWTIME_WITHOUT_TIME.
    """
    if not context.needs_times:
        return
    order = context.clause.order_by[0] if context.clause.order_by else None
    key_type = context.relation.resolver.types([context.source.of(order.expression)])[0] if order else ""
    is_time = key_type in (*INTEGER_BITS, *FLOATS, *TIME_TYPES)
    if order is None or order.is_descending or not is_time or context.relation.is_static:
        raise BindError(
            "ROWTIME_WITHOUT_TIME",
            "MATCH_ROWTIME() is a value of the first ORDER BY key, which must be an ascending time or number",
            place=order.expression.place if order else context.clause.keyword.place,
            hint="write ORDER BY time before MEASURES.",
        )
    if context.clause.within is None:
        context.columns.append(InputColumn(ROW_TIME, context.source.of(order.expression)))


def _bound_types(context: Context, key: Text, end: Text) -> tuple[str, str]:
    """The type of the key, and the type in which key and end are compared, or "" if matchers cannot compare them."""
    key_type, common = context.relation.resolver.types([key, _common_text(key, end)])
    is_number = all(kind_of(t) in ("int", "float") for t in (key_type, common))
    return key_type, common if is_number else ""


def _common_text(key: Text, end: Text) -> Text:
    return join("coalesce(", key, ", ", end, ")")


def _add_columns(context: Context, bound: Bound, key: Text, end: Text, common: str) -> None:
    context.columns.append(InputColumn(bound.key, join("CAST(", key, f" AS {in_sql(common)})")))
    context.columns.append(InputColumn(bound.end, join("CAST(", end, f" AS {in_sql(common)})")))


# conjuncts of DEFINE


@dataclass(frozen=True)
class _Key:
    """The first ORDER BY key if it is an ascending column of the input."""

    column: str
    spark_type: str
    has_nulls_last: bool


def _key_column(context: Context) -> _Key | None:
    order = context.clause.order_by[0] if context.clause.order_by else None
    if order is None or order.is_descending:
        return None
    try:
        column = context.column_name(order.expression)
    except SqlExtError:
        return None  # Spark reports the error
    return _Key(column, dict(context.relation.columns)[column], order.nulls_first is False) if column else None


@dataclass(frozen=True, kw_only=True)
class _StartBound:
    """The conjunct `key < end` (or `<=`) on the tested row, where the row that `reference` reads determines `end`.

    `whole`: the conjunct over one row, to find its type. `written`: the conjunct as the user wrote it. `is_strict`:
    `end` is NULL where the key is NULL.
    """

    reference: Reference
    end: Text
    whole: Text
    is_inclusive: bool
    is_strict: bool
    written: str

    @property
    def meaning(self) -> tuple[str, bool]:
        """A value that is equal for conjuncts that set the same bound from the first row."""
        return in_line(self.end), self.is_inclusive


@dataclass(frozen=True)
class _MatchBound:
    """A bound of whole matches.

    `admits_start`: the first row is never tested; `dropped`: the conjuncts that the bound makes true.
    """

    bound: _StartBound
    admits_start: bool
    dropped: frozenset[ConjunctPlace]


def _match_bounds(
    context: Context, program: Program, key: _Key, definitions: Mapping[int, Sequence[Item]]
) -> list[_MatchBound]:
    """The conjuncts that bound every match of the program exactly as WITHIN does."""
    candidates: dict[tuple[str, bool], dict[int, list[tuple[int, _StartBound]]]] = {}
    rows = first_rows(program)
    for label, items in definitions.items():
        reader = _BoundReader(context=context, key=key, label=label, items=items)
        for lo, hi in conjuncts(items):
            bound = reader.bound(lo, hi)
            if bound is not None and _reads_first_row(context, bound.reference, label, rows):
                candidates.setdefault(bound.meaning, {}).setdefault(label, []).append((lo, bound))
    bounds = [_match_bound(by_label, rows, key) for by_label in candidates.values()]
    return [bound for bound in bounds if bound is not None]


def _reads_first_row(context: Context, reference: Reference, label: int, rows: FirstRows) -> bool:
    """True if the reference reads the first row of the match on every path on which the label is tested."""
    if reference.variable is None:
        return reference.from_first
    labels = frozenset(context.label_sets[reference.variable])
    return rows.before[label] <= labels and (reference.from_first or not rows.since[label] & labels)


def _match_bound(by_label: dict[int, list[tuple[int, _StartBound]]], rows: FirstRows, key: _Key) -> _MatchBound | None:
    """The bound that these conjuncts of one meaning set, or None if some match may end without them.

    Either all labels that may take the first row test it, or none does. With NULLS FIRST, a first row with a NULL key
    comes before rows whose keys are not NULL. If the end of the bound is not NULL then, only conjuncts on all rows keep
    a match from continuing past the NULLs.
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
    dropped = frozenset((label, lo) for label, bounds in by_label.items() for lo, _ in bounds)
    return _MatchBound(bound, admits_start, dropped)


@dataclass(kw_only=True)
class _BoundReader:
    """Reads the conjuncts of one label."""

    context: Context
    key: _Key
    label: int
    items: Sequence[Item]

    def bound(self, lo: int, hi: int) -> _StartBound | None:
        """The bound that items `lo` to `hi` set, or None if they set no bound."""
        node = parse(self.items, lo, hi)
        if node.kind == "BETWEEN":
            value, low, high = node.children
            bound = self._below(value, high, node, is_inclusive=True)
            starts_there = bound is not None and self._reads_key(low) and self._row_read(low) == bound.reference.source
            return bound if bound is not None and bound.is_strict and starts_there else None
        if node.kind not in ("<", "<=", ">", ">="):
            return None
        left, right = node.children if node.kind[0] == "<" else reversed(node.children)
        is_inclusive = node.kind[1:] == "="
        return self._below(left, right, node, is_inclusive=is_inclusive) or self._apart(
            left, right, node, is_inclusive=is_inclusive
        )

    def _below(self, left: Node, right: Node, whole: Node, *, is_inclusive: bool) -> _StartBound | None:
        """The bound of `key <= f(another row)`, or None."""
        if not self._is_tested_key(left) or has_column(right, self.items):
            return None
        reference = self._only_reference(right)
        if reference is None:
            return None
        return self._start_bound(
            reference, self._over_one_row(right), whole, is_inclusive=is_inclusive, is_strict=self._is_strict(right)
        )

    def _apart(self, left: Node, right: Node, whole: Node, *, is_inclusive: bool) -> _StartBound | None:
        """The bound of `key - key of another row <= constant`, or None.

        It is set only for types whose differences are ordered as the keys are.
        """
        if left.kind != "-" or right.kind != "literal" or not self._is_tested_key(left.children[0]):
            return None
        reference = self._only_reference(left.children[1])
        if reference is None or not self._reads_key(left.children[1]):
            return None
        key, constant = reference.arguments[0], str(self._text(right))
        digits = re.fullmatch(r"(\d{1,18})[LSY]?", constant, re.I)
        if self.key.spark_type == "timestamp_ntz" and constant.upper().startswith("INTERVAL"):
            return self._start_bound(
                reference, join("(", key, f") + {constant}"), whole, is_inclusive=is_inclusive, is_strict=True
            )
        if digits is None or self.key.spark_type not in INTEGER_BITS or not self.context.relation.settings.is_ansi:
            return None
        distance = int(digits[1]) - (not is_inclusive)
        if distance < 0:
            return None
        end = join(
            "IF((",
            key,
            ") IS NOT NULL, ",
            "coalesce(try_add(CAST((",
            key,
            f") AS BIGINT), {distance}L), {_LARGEST_BIGINT}L), NULL)",
        )
        return self._start_bound(reference, end, whole, is_inclusive=True, is_strict=True)

    def _start_bound(
        self, reference: Reference, end: Text, node: Node, *, is_inclusive: bool, is_strict: bool
    ) -> _StartBound:
        place = place_of(self.items[node.start : node.stop], self.context.source)
        return _StartBound(
            reference=reference,
            end=end,
            whole=self._over_one_row(node),
            is_inclusive=is_inclusive,
            is_strict=is_strict,
            written=str(self.context.source.of(place)),
        )

    def _over_one_row(self, node: Node) -> Text:
        items = self.items[node.start : node.stop]
        return render(items, self.context.source, lambda r: join("(", r.arguments[0], ")"))

    def _is_local(self, reference: Reference) -> bool:
        return self.context.is_local(reference, self.label)

    def _is_tested_key(self, node: Node) -> bool:
        """True if the node is the key of the tested row, and nothing else."""
        if node.kind not in ("reference", "column"):
            return False
        item = next(x for x in self.items[node.start : node.stop] if isinstance(x, Reference) or x.is_name)
        if isinstance(item, Lexeme):
            return self._is_key(item.raw)
        return item.kind == "navigation" and not item.step and self._is_local(item) and self._is_key(item.arguments[0])

    def _reads_key(self, node: Node) -> bool:
        """True if the node is the key of another row, and nothing else."""
        reference = self._only_reference(node)
        return node.kind == "reference" and reference is not None and self._is_key(reference.arguments[0])

    def _is_key(self, text: TextLike) -> bool:
        return unquoted(str(text).strip()).lower() == self.key.column.lower()

    def _row_read(self, node: Node) -> tuple | None:
        reference = self._only_reference(node)
        return None if reference is None else reference.source

    def _only_reference(self, node: Node) -> Reference | None:
        """The reference to the first or last row of a variable, if the node reads no other row; otherwise None."""
        references = [x for x in self.items[node.start : node.stop] if isinstance(x, Reference)]
        if len({x.source for x in references}) != 1:
            return None
        first = references[0]
        if first.kind != "navigation" or first.step or first.offset or self._is_local(first):
            return None
        return first

    def _is_strict(self, node: Node) -> bool:
        """True if the node is NULL where the key of the row that it reads is NULL."""
        if node.kind == "reference":
            return self._reads_key(node)
        return node.kind in _NULL_IF_OPERAND_IS and any(map(self._is_strict, node.children))

    def _text(self, node: Node) -> Text:
        first, last = self.items[node.start], self.items[node.stop - 1]
        assert isinstance(first, Lexeme) and isinstance(last, Lexeme)
        return self.context.source.slice(first.start, last.stop)
