"""Lowers calls over a window with a row pattern: a measure of the window, or a function over the rows of the match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlext.aggregates.registry import AGGREGATES
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.rewriter.lowering.input_query import Context
from sqlext.rewriter.lowering.lower_measures import Measures
from sqlext.rewriter.scalars.aggregate_syntax import read_aggregate
from sqlext.rewriter.scalars.analyse import Analyser, Argument
from sqlext.rewriter.scalars.references import FILTER_PLACE, Reference
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, lexemes
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Text, join

# These functions read the partition, not the frame.
_OF_THE_PARTITION = frozenset({
    "ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD",
})  # fmt: skip
_FIRST, _LAST, _NTH = ("FIRST_VALUE", "FIRST"), ("LAST_VALUE", "LAST"), ("NTH_VALUE",)


class Calls:
    """Lowers the calls over one window. `values` holds the text of each measure by its name."""

    def __init__(self, context: Context, measures: Measures, values: Mapping[str, Text]):
        self.context, self.measures = context, measures
        self.values = {name.lower(): text for name, text in values.items()}

    def value(self, call: Fragment) -> Text:
        """The expression over slots that Spark computes for a call. Raises BindError and UnsupportedError."""
        parts = lexemes(call, self.context.source)
        if len(parts) == 1:
            return self._measure(call, parts[0])
        if parts[1].raw != "(":
            raise BindError(
                "UNKNOWN_MEASURE",
                "a measure of a window has no qualifier",
                place=call.place,
                hint=f"write {parts[-1].raw} OVER ….",
            )
        name = parts[0].word
        if name in _OF_THE_PARTITION:
            message = f"{parts[0].raw} does not look at the rows of a match, so it is not allowed over a row pattern"
            hint = f"write {parts[0].raw} over a window without a pattern."
            raise UnsupportedError("WINDOW_FUNCTION", message, place=call.place, hint=hint)
        self._check_no_filter(parts)
        reader = CallReader(parts, replace(self.context.scope(in_define=False), variables={}))
        if name in (*_FIRST, *_LAST, *_NTH):
            return self._navigation(reader, name)
        reference, after = reader.aggregate()
        if reference is None or after != len(parts):
            message = f"{parts[0].raw} is no aggregate, so it is not allowed over a row pattern"
            raise BindError(
                "WINDOW_FUNCTION",
                message,
                place=call.place,
                hint="an aggregate, first_value, last_value and nth_value can.",
            )
        text = self.measures.slot_text(reference)
        known = AGGREGATES.get(reference.function)  # None for an aggregate of the user
        return join("coalesce(", text, ", 0L)") if known is not None and known.is_count else text

    def _check_no_filter(self, parts: Sequence[Lexeme]) -> None:
        at = next((i for i in range(1, len(parts) - 1) if parts[i].word == "FILTER" and parts[i - 1].raw == ")"), None)
        if at is not None and parts[at + 1].raw == "(":
            place = Place(self.context.source.text, parts[at].start, parts[-1].stop)
            message = "FILTER is not allowed in a call over a row pattern"
            hint = f"write {parts[0].raw}(CASE WHEN condition THEN value END) OVER …."
            raise UnsupportedError("AGGREGATE_FILTER", message, place=place, hint=hint)

    def _measure(self, call: Fragment, part: Lexeme) -> Text:
        text = self.values.get(unquoted(part.raw).lower())
        if text is None:
            names = ", ".join(m.name.text for m in self.context.clause.measures)
            hint = f"its measures are {names}." if names else "it has no MEASURES."
            raise BindError("UNKNOWN_MEASURE", f'the window has no measure "{part.raw}"', place=call.place, hint=hint)
        return text

    def _navigation(self, reader: CallReader, name: str) -> Text:
        """The text of first_value, last_value or nth_value.

        IGNORE NULLS reads an array of the values that are not NULL.
        """
        argument, number, ignores_nulls = reader.navigation(name)
        place = Place(self.context.source.text, reader.parts[0].start, reader.parts[-1].stop)
        if ignores_nulls:
            array = self.measures.slot_text(_array_of(argument, place))
            at = join("size(", array, ") - 1") if name in _LAST else f"{number - 1}"
            return join("get(", array, ", ", at, ")")
        return self.measures.slot_text(
            Reference(
                kind="navigation",
                place=place,
                arguments=(argument,),
                from_first=name not in _LAST,
                offset=number - 1,
            )
        )


def _array_of(argument: Text, place: Place) -> Reference:
    """The reference for `array_agg(argument)`."""
    call = (join("array_agg("), 0, join(")"), FILTER_PLACE)
    return Reference(
        kind="aggregate",
        place=place,
        arguments=(argument,),
        argument_items=((Reference(kind="navigation", place=place, arguments=(argument,)),),),
        function="array_agg",
        parameters=(0,),
        call=call,
    )


class CallReader(Analyser):
    """Reads a call whose arguments are ordinary expressions of the query, where no pattern variable has a meaning."""

    def aggregate(self) -> tuple[Reference | None, int]:
        """The aggregate call and the index after it; (None, 0) if the function is no aggregate."""
        if not self._is_aggregate_name(0):
            return None, 0
        return self._aggregate(0, self.closing(1))

    def navigation(self, name: str) -> tuple[Text, int, bool]:
        """(argument, number of the row from 1, IGNORE NULLS) of first_value, last_value and nth_value."""
        syntax = read_aggregate(self, 0)
        bounds = list(syntax.arguments)
        number, most = 1, 2 if name in _NTH else 1
        if name in (*_FIRST, *_LAST) and len(bounds) == 2 and str(self.slice(*bounds[1])).upper() in ("TRUE", "FALSE"):
            is_true = str(self.slice(*bounds.pop())).upper() == "TRUE"  # first_value(v, true) ignores NULLs
            return self.slice(*bounds[0]), 1, is_true
        if len(bounds) != most or syntax.stop != len(self.parts) or syntax.filter or syntax.order_by:
            example = "nth_value(v, 2)" if name in _NTH else f"{name.lower()}(v)"
            raise self._error(
                "WRONG_ARGUMENTS",
                f"{self.parts[0].raw} has the wrong arguments",
                0,
                syntax.call_stop,
                f"write {example}, with or without IGNORE NULLS after it.",
            )
        if name in _NTH:
            text = str(self.slice(*bounds[1]))
            if not text.isdigit() or int(text) < 1:
                raise self._error(
                    "WRONG_OFFSET", "the second argument of nth_value must be a number from 1", *bounds[1]
                )
            number = int(text)
        return self.slice(*bounds[0]), number, syntax.nulls == "IGNORE"

    def _argument(self, lo: int, hi: int, function: str) -> Argument:
        """The argument as in MEASURES, but it may be any expression, as in `sum(sum(v)) OVER w` of a grouping query."""
        reads = any(self.is_column(k) or (self.raw(k + 1) == "(" and self._is_aggregate_name(k)) for k in range(lo, hi))
        whole = Reference(kind="navigation", place=self.place(lo, hi), arguments=(self.slice(lo, hi),))
        return Argument(self.scope.source, (whole,) if reads else tuple(self.parts[lo:hi]))

    def _nested_classifier(self, lo: int, hi: int) -> None:
        return None
