"""Finds the clause's own calls and columns inside the scalar expressions of DEFINE and MEASURES.

An expression becomes a list of items: Lexeme (text that Spark reads as the user wrote it) and Reference (a navigation,
an aggregate, CLASSIFIER(), MATCH_NUMBER(), a column of a row of the match). No other part is interpreted: any function
and syntax of Spark is passed on unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlext.aggregates.registry import AGGREGATES
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.rewriter.scalars.aggregate_syntax import AggregateSyntax, Bounds, read_aggregate
from sqlext.rewriter.scalars.foreign_words import hint_of_method
from sqlext.rewriter.scalars.other_words import in_standard_words
from sqlext.rewriter.scalars.references import (
    FIELD_MARKS,
    FILTER_PLACE,
    Item,
    Reference,
    Scope,
    Words,
    lambda_parameter,
    unknown_column,
)
from sqlext.rewriter.scalars.render import render
from sqlext.rewriter.scalars.scalar_keys import check_no_copies
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import BEFORE_ALL_COLUMNS, lexemes, variable_key
from sqlext.rewriter.text.names import quoted_if_needed
from sqlext.rewriter.text.splice import Source, Text, join, standing_for
from sqlext.rewriter.tree.keywords import INTERVAL_UNITS

NAVIGATIONS = frozenset({"FIRST", "LAST", "PREV", "NEXT"})
CLAUSE_FUNCTIONS = frozenset({"CLASSIFIER", "MATCH_NUMBER", "MATCH_SEQUENCE_NUMBER"})
# Values of a complete match: function → (kind of reference, error in DEFINE, hint)
OUTCOMES = {
    "MATCH_ROWTIME": ("rowtime", "ROWTIME_IN_DEFINE", "use the time of a row: LAST(ts)."),
    "MATCH_TIMED_OUT": ("timed out", "TIMED_OUT_IN_DEFINE", "write it in MEASURES."),
    "MATCH_PROCTIME": ("proctime", "PROCTIME_IN_DEFINE", "write it in MEASURES, or compare with current_timestamp()."),
}
_CONSTANT_NAMES = INTERVAL_UNITS | {"AS", "CAST", "FALSE", "INTERVAL", "NULL", "TRUE"}
_FAR = 1 << 30  # an offset beyond all rows of a partition, in 32 bits
# In the text of an argument, a constant of the same type replaces each call that one input row does not decide.
_CONSTANTS = {"classifier": "CAST('' AS STRING)", "match number": "CAST(1 AS BIGINT)"}


def analyse(fragment: Fragment, scope: Scope) -> list[Item]:
    """The items of an expression, in order.

    Raises BindError (unknown columns, mixed variables, wrong nesting) and UnsupportedError.
    """
    parts = in_standard_words(lexemes(fragment, scope.source), scope)
    return Analyser(parts, scope).items(0, len(parts))


class Analyser(Words):
    """A recursive descent over lexemes; every method takes a range `lo` to `hi` (exclusive) of them."""

    def items(self, lo: int, hi: int) -> list[Item]:
        items: list[Item] = []
        i = lo
        while i < hi:
            reference, after = self._reference(i)
            if reference is not None:
                items.append(reference)
            else:
                items.extend(self.parts[i:after])
            i = after
        return items

    def _reference(self, i: int) -> tuple[Reference | None, int]:
        """The reference that begins at i and the index just past it.

        If no reference begins at i, None and the index up to which the lexemes are copied.
        """
        lexeme = self.parts[i]
        if self.is_subquery(i):
            return None, self.closing(i) + 1
        if not lexeme.is_name or self.raw(i - 1) in FIELD_MARKS:
            return None, i + 1
        if lexeme.word == "OVER" and self.raw(i - 1) == ")":
            raise self._window_function(i, i + 1)
        if self.raw(i + 1) == "(":
            return self._call(i)
        if lexeme.word in ("RUNNING", "FINAL") and self.raw(i + 2) == "(" and self._is_own_call(i + 1):
            return self._prefixed_call(i)
        self._check_no_prefixed_column(i)
        if self.raw(i + 1) == "." and variable_key(lexeme.raw) in self.scope.variables:
            return self._qualified_column(i)
        if not self.scope.in_define and self.is_column(i):
            return self._universal_column(i)
        return None, i + 1

    def _is_own_call(self, i: int) -> bool:
        word = self.word(i)
        return word in NAVIGATIONS or word in CLAUSE_FUNCTIONS or self._is_aggregate_name(i)

    def _is_aggregate_name(self, i: int) -> bool:
        name = self.parts[i].raw.lower()
        return name in AGGREGATES or self.scope.is_aggregate(name)

    def _prefixed_call(self, i: int) -> tuple[Reference, int]:
        """RUNNING or FINAL with the call that follows it: the reference, and the index just past the call."""
        word = self.parts[i].word
        if word == "FINAL" and self.scope.in_define:
            message = "FINAL has no meaning in DEFINE, where the match is not complete"
            raise self._error("FINAL_IN_DEFINE", message, i, i + 1, "leave FINAL out.")
        reference, after = self._call(i + 1)
        if reference is None or reference.kind in (
            "match number",
            "sequence number",
            "rowtime",
            "timed out",
            "proctime",
        ):
            message = f"{word} belongs before FIRST, LAST or an aggregate"
            raise self._error("MISPLACED_PREFIX", message, i, i + 1, f"leave {word} out.")
        if reference.step:
            message = f"{word} belongs inside PREV and NEXT, before FIRST or LAST"
            raise self._error("MISPLACED_PREFIX", message, i, i + 2, f"write PREV({word} LAST(...)).")
        return replace(reference, is_final=word == "FINAL", place=self.place(i, after)), after

    def _check_no_prefixed_column(self, i: int) -> None:
        """Raise BindError for `RUNNING A.price` and `FINAL price`."""
        word, after = self.word(i), i + 1
        if word not in ("RUNNING", "FINAL") or after == len(self.parts) or self.scope.column(self.parts[i]) is not None:
            return
        is_qualified = self.raw(after + 1) == "." and variable_key(self.parts[after].raw) in self.scope.variables
        if is_qualified or self.is_column(after):
            column = "".join(self.raw(k) for k in range(after, after + (3 if self.raw(after + 1) == "." else 1)))
            message = f"{word} belongs before FIRST, LAST or an aggregate"
            raise self._error("MISPLACED_PREFIX", message, i, after + 1, f"write {word} LAST({column}).")

    def _call(self, i: int) -> tuple[Reference | None, int]:
        word, close = self.parts[i].word, self.closing(i + 1)
        if word in ("PREV", "NEXT"):
            return self._physical(i, close), close + 1
        if word in ("FIRST", "LAST"):
            return self._logical(i, close), close + 1
        if word == "CLASSIFIER":
            return self._classifier(i, close), close + 1
        if word in CLAUSE_FUNCTIONS:
            return self._number(i, close), close + 1
        if word in OUTCOMES:
            return self._outcome(i, close), close + 1
        if self._is_aggregate_name(i):
            return self._aggregate(i, close)
        self._check_no_copies(i)
        return None, i + 1

    def _check_no_copies(self, i: int) -> None:
        check_no_copies(self, i, "DEFINE" if self.scope.in_define else "MEASURES")

    def _number(self, i: int, close: int) -> Reference:
        if close != i + 2:
            word = self.parts[i].word
            raise self._error("TOO_MANY_ARGUMENTS", f"{word} takes no argument", i, close + 1, f"write {word}().")
        kind = "match number" if self.parts[i].word == "MATCH_NUMBER" else "sequence number"
        return Reference(kind=kind, place=self.place(i, close + 1))

    def _outcome(self, i: int, close: int) -> Reference:
        word = self.parts[i].word
        kind, error_class, hint = OUTCOMES[word]
        if self.scope.in_define:
            message = f"{word}() has no value in DEFINE, where the match is not complete"
            raise self._error(error_class, message, i, close + 1, hint)
        return replace(self._number(i, close), kind=kind)

    def _classifier(self, i: int, close: int) -> Reference:
        variable = None
        if close > i + 2:
            self._check_no_parameter(i + 2, close, "CLASSIFIER")
            variable = variable_key(self.parts[i + 2].raw)
            if close != i + 3 or variable not in self.scope.variables:
                message = "CLASSIFIER takes a pattern variable or a SUBSET"
                raise self._error("UNKNOWN_PATTERN_VARIABLE", message, i + 2, close, self._variables_hint())
        return Reference(kind="classifier", place=self.place(i, close + 1), variable=variable)

    def _qualified_column(self, i: int) -> tuple[Reference, int]:
        """The reference of `A.column`, and the index just past it."""
        self._check_member(i)
        variable, argument = variable_key(self.parts[i].raw), self.slice(i + 2, i + 3)
        place = self.place(i, i + 3)
        return Reference(kind="navigation", place=place, variable=variable, arguments=(argument,)), i + 3

    def _universal_column(self, i: int) -> tuple[Reference, int]:
        """The reference of `column` or `alias.column`, and the index just past it.

        `alias.column` is recognized even if a column has the name of the alias.
        """
        is_qualified = self.raw(i + 1) == "." and i + 2 < len(self.parts) and self.scope.column(self.parts[i + 2])
        after = i + 3 if is_qualified else i + 1
        return Reference(kind="navigation", place=self.place(i, after), arguments=(self.slice(i, after),)), after

    # navigations

    def _logical(self, i: int, close: int) -> Reference:
        """The reference of FIRST or LAST."""
        bounds = self.arguments(i + 1, close)
        offset = self._offset(i, bounds, default=0)
        place, from_first = self.place(i, close + 1), self.parts[i].word == "FIRST"
        inner = self._nested_classifier(*bounds[0])
        if inner is None:
            inner = self._navigated(i, *bounds[0]).navigation(place)
        return replace(inner, place=place, from_first=from_first, offset=offset)

    def _physical(self, i: int, close: int) -> Reference:
        """The reference of PREV or NEXT."""
        bounds = self.arguments(i + 1, close)
        distance = self._offset(i, bounds, default=1)
        step = -distance if self.parts[i].word == "PREV" else distance
        place = self.place(i, close + 1)
        inner = self._nested_navigation(*bounds[0])
        if inner is None:
            inner = self._navigated(i, *bounds[0]).navigation(place)
        return replace(inner, place=place, step=step)

    def _navigated(self, i: int, lo: int, hi: int) -> Argument:
        """The argument of the navigation at i. Raises BindError for a constant (TR 19075-5 section 4.16)."""
        word = self.parts[i].word
        argument = self._argument(lo, hi, word)
        if not argument.reads_row and all(self._is_constant(k) for k in range(lo, hi)):
            message = f"{word} reads a row, and {self.place(lo, hi).written} is a constant"
            raise self._error("WRONG_ARGUMENTS", message, lo, hi, f"write {word}(price), or the constant alone.")
        return argument

    def _is_constant(self, k: int) -> bool:
        """True for a lexeme that names no column: a literal, an operator, a parameter, or the name of a function."""
        is_head = self.raw(k + 1)[:1] in ("(", "'")  # of a call, or of a literal such as DATE '2026-01-01'
        if self.raw(k) == "*" and self.raw(k - 1) in BEFORE_ALL_COLUMNS:
            return False
        return not self.parts[k].is_name or self.word(k) in _CONSTANT_NAMES or is_head

    def _nested_navigation(self, lo: int, hi: int) -> Reference | None:
        """The reference of `[RUNNING|FINAL] FIRST(…)`, `LAST(…)` or `CLASSIFIER(…)`; None unless it fills the range."""
        head = lo + 1 if self.word(lo) in ("RUNNING", "FINAL") else lo
        if head + 1 >= hi or self.raw(head + 1) != "(" or self.closing(head + 1) != hi - 1:
            return None
        if self.word(head) not in ("FIRST", "LAST", "CLASSIFIER"):
            return None
        reference, _ = self._prefixed_call(lo) if head > lo else self._call(head)
        return reference

    def _nested_classifier(self, lo: int, hi: int) -> Reference | None:
        if self.word(lo) == "CLASSIFIER" and self.raw(lo + 1) == "(" and self.closing(lo + 1) == hi - 1:
            return self._classifier(lo, hi - 1)
        return None

    def _offset(self, i: int, bounds: list[tuple[int, int]], default: int) -> int:
        word = self.parts[i].word
        if not bounds or len(bounds) > 2:
            message = f"{word} takes an expression and an optional offset"
            raise self._error("WRONG_ARGUMENTS", message, i, i + 1, f"write {word}(price) or {word}(price, 2).")
        if len(bounds) == 1:
            return default
        text = str(self.slice(*bounds[1])).strip().rstrip("Ll")
        if not text.isdigit():
            raise self._error(
                "WRONG_OFFSET", f"the offset of {word} must be a non-negative integer literal", *bounds[1]
            )
        return int(text) if len(text) < len(str(_FAR)) else _FAR

    # aggregates

    def _aggregate(self, i: int, close: int) -> tuple[Reference, int]:
        syntax = read_aggregate(self, i)
        self._check_aggregate(i, syntax)
        base = Reference(
            kind="aggregate",
            place=self.place(i, syntax.stop),
            function=self.parts[i].raw.lower(),
            is_distinct=syntax.is_distinct,
            nulls=syntax.nulls,
        )
        star = self._counted_rows(i, syntax.first, close)
        if star is not None:
            base = replace(base, variable=star[0], call=(self.slice(i, close + 1), FILTER_PLACE))
            return (base if syntax.filter is None else self._filtered_count(base, i, syntax.filter)), syntax.stop
        is_alone = len(syntax.arguments) == 1 and not syntax.order_by and syntax.filter is None
        reference = self._aggregate_of(base, i, syntax)
        if is_alone and self._nested_classifier(*syntax.arguments[0]):
            reference = replace(reference, arguments=(), argument_kind="classifier")
        return reference, syntax.stop

    def _filtered_count(self, base: Reference, i: int, condition: tuple[int, int]) -> Reference:
        """The reference of `COUNT(*) FILTER (WHERE condition)`; with `COUNT(A.*)` the condition reads A as well."""
        argument = self._argument(*condition, self.parts[i].raw)
        if argument.variables - {base.variable}:
            mixed = self._mixed(i, condition[1], argument.variables | {base.variable})
            (variable,) = argument.variables
            if base.variable is None and variable is not None:
                call = f"{self.parts[i].raw}({quoted_if_needed(variable)}.*) FILTER (WHERE …)"
                raise mixed.with_(hint=f"write {call} for the rows of {variable}.")
            raise mixed
        return replace(base, arguments=(argument.text,), argument_items=(argument.items,), filter=0)

    def _check_aggregate(self, i: int, syntax: AggregateSyntax) -> None:
        if self.word(syntax.stop) == "OVER":
            raise self._window_function(i, syntax.stop + 1)
        name = self.parts[i].raw
        if name.lower() in AGGREGATES and not (syntax.arguments or syntax.order_by):
            is_count = self.word(i) == "COUNT"
            hint = "write COUNT(*), or COUNT(A.*) for the rows of A." if is_count else f"write {name}(price)."
            raise self._error("WRONG_ARGUMENTS", f"{name}() lacks its argument", i, self.closing(i + 1) + 1, hint)

    def _aggregate_of(self, base: Reference, i: int, syntax: AggregateSyntax) -> Reference:
        """The reference of an aggregate. Arguments that read the row become `arguments`, and constants (`0.5`, `','`)
        remain in the call."""
        name = self.parts[i].raw
        written = [(bounds, self._argument(*bounds, name)) for bounds in syntax.arguments]
        keys = [(part.key, self._argument(*part.key, name)) for part in syntax.order_by]
        conditions = [(syntax.filter, self._argument(*syntax.filter, name))] if syntax.filter else []
        reading = [pair for pair in written if pair[1].reads_row]
        if not reading and not keys:  # SUM(1): a constant for every row
            reading = written[:1]
        taken = [*reading, *keys, *conditions]
        variables = {v for _, argument in taken for v in argument.variables}
        if len(variables) > 1:
            raise self._mixed(taken[0][0][0], taken[-1][0][1], variables)
        return replace(
            base,
            variable=variables.pop() if variables else None,
            arguments=tuple(argument.text for _, argument in taken),
            argument_items=tuple(argument.items for _, argument in taken),
            parameters=tuple(reading.index(p) if p in reading else p[1].text for p in written),
            order_by=tuple(
                (len(reading) + n, key.is_descending, key.nulls_last) for n, key in enumerate(syntax.order_by)
            ),
            filter=len(taken) - 1 if conditions else None,
            is_within_group=syntax.is_within_group,
            call=self._call_parts(i, syntax, [b for b, _ in (*reading, *(keys if syntax.is_within_group else []))]),
        )

    def _call_parts(self, i: int, syntax: AggregateSyntax, arguments: list[Bounds]) -> tuple[Text | int, ...]:
        """Reference.call: the text between the arguments, and their numbers."""
        call: list[Text | int] = []
        slice, at = self.scope.source.slice, self.parts[i].start
        for n, (lo, hi) in enumerate(arguments):
            call += [slice(at, self.parts[lo].start), n]
            at = self.parts[hi - 1].stop  # blanks stay: `ORDER BY x DESC`
        has_own_order = syntax.order_by and not syntax.is_within_group  # Spark has no ORDER BY between the parentheses
        call += [join(")") if has_own_order else slice(at, self.parts[syntax.call_stop - 1].stop), FILTER_PLACE]
        if self.word(syntax.call_stop) in ("IGNORE", "RESPECT"):
            call.append(join(f" {syntax.nulls} NULLS"))
        return tuple(call)

    def _counted_rows(self, i: int, first: int, close: int) -> tuple[str | None] | None:
        """The tuple (variable,) of `COUNT(*)` and `COUNT(A.*)`; None for other calls."""
        if self.raw(close - 1) != "*" or (close - 1 != first and self.raw(close - 2) != "."):
            return None
        if self.word(i) != "COUNT":
            raise self._error("WRONG_ARGUMENTS", f"{self.parts[i].raw}(*): only COUNT takes rows", i, close + 1)
        if close - 1 == first:
            return (None,)
        self._check_no_parameter(first, close, self.parts[i].raw)
        variable = variable_key(self.parts[first].raw)
        if variable not in self.scope.variables:
            message = f'PATTERN does not use "{self.parts[first].raw}"'
            raise self._error("UNKNOWN_PATTERN_VARIABLE", message, first, first + 1, self._variables_hint())
        return (variable,)

    def _window_function(self, lo: int, hi: int) -> BindError:
        message = "a window function is not allowed in MATCH_RECOGNIZE"
        return self._error("WINDOW_FUNCTION", message, lo, hi, "compute it in a subquery that is the input.")

    # arguments

    def _argument(self, lo: int, hi: int, function: str) -> Argument:
        """One argument, whose columns may be qualified by one variable."""
        if lo >= hi:
            raise self._error("WRONG_ARGUMENTS", f"{function} has a comma without an argument", lo - 1, lo)
        if self.raw(lo) == "*":
            raise self._error("MISPLACED_STAR", "* is allowed only in COUNT", lo, lo + 1, f"write {function}(price).")
        self._check_no_parameter(lo, hi, function)
        items: list[Item] = []
        i = lo
        while i < hi:
            reference, after = self._row_reference(i, function)
            items.extend(self.parts[i:after] if reference is None else [reference])
            i = after
        argument = Argument(self.scope.source, tuple(items))
        if len(argument.variables) > 1:
            raise self._mixed(lo, hi, argument.variables)
        return argument

    def _check_no_parameter(self, lo: int, hi: int, function: str) -> None:
        """Raise BindError for an argument that reads the parameter of a lambda around the call."""
        parameter = self.outer_parameter(lo, hi)
        if parameter is not None:
            raise lambda_parameter(self.parts[parameter].raw, function, self.place(parameter, parameter + 1))

    def _row_reference(self, i: int, function: str) -> tuple[Reference | None, int]:
        """The column or the clause's own call that begins at i in an argument, or None, and the index just past it."""
        if self.is_subquery(i):
            return None, self.closing(i) + 1
        if not self.parts[i].is_name or self.raw(i - 1) in FIELD_MARKS:
            return None, i + 1
        if self.raw(i + 1) == "(":
            return self._row_call(i, function)
        self._check_no_prefixed_column(i)
        if self.raw(i + 1) == "." and variable_key(self.parts[i].raw) in self.scope.variables:
            return self._qualified_column(i)
        return self._universal_column(i) if self.is_column(i) else (None, i + 1)

    def _row_call(self, i: int, function: str) -> tuple[Reference | None, int]:
        if self.word(i) in ("CLASSIFIER", "MATCH_NUMBER"):
            return self._call(i)
        self._check_not_nested(i, function)
        self._check_no_copies(i)
        return None, i + 1

    def _check_not_nested(self, i: int, function: str) -> None:
        if self.raw(i + 1) != "(" or not (self._is_own_call(i) or self.word(i) in OUTCOMES):
            return
        close = self.closing(i + 1)
        if self.word(i) in CLAUSE_FUNCTIONS:
            raise UnsupportedError(
                "NESTED_CALL",
                f"{self.word(i)}() is not supported inside an expression that {function} reads",
                place=self.place(i, close + 1),
                hint=f"{function} takes an expression over one row, which may hold CLASSIFIER() and MATCH_NUMBER().",
            )
        inner, hint = self.parts[i].raw, "only PREV and NEXT can contain FIRST and LAST: PREV(LAST(A.price), 2)."
        if self.word(i) not in NAVIGATIONS and self._is_aggregate_name(i):
            hint = f"{function} takes an expression over one row: compute {inner} in a subquery that is the input."
        raise self._error("NESTED_CALL", f"{inner} is not allowed inside {function}", i, close + 1, hint)

    def _check_member(self, i: int) -> None:
        """Raise BindError unless `A.column` names a column of the input."""
        variable = self.parts[i].raw
        if i + 2 >= len(self.parts) or self.parts[i + 2].raw == "*":
            hint = f"name each column, LAST({variable}.price), or count the rows, COUNT({variable}.*)."
            raise self._error("MISPLACED_STAR", f"{variable}.* is allowed only in COUNT", i, i + 2, hint)
        if self.raw(i + 3) == "(":
            method = self.parts[i + 2].raw
            message = f"a pattern variable has columns, and no function {method}"
            raise self._error("UNKNOWN_COLUMN", message, i, i + 3, hint_of_method(variable, method))
        if self.scope.column(self.parts[i + 2]) is None:
            raise unknown_column(self.parts[i + 2], self.scope)

    # errors

    def _error(self, error_class: str, message: str, lo: int, hi: int, hint: str | None = None) -> BindError:
        return BindError(error_class, message, place=self.place(lo, hi), hint=hint)

    def _mixed(self, lo: int, hi: int, variables: set[str | None]) -> BindError:
        names = " and ".join(sorted("the universal variable" if v is None else v for v in variables))
        hint = "qualify all columns of an argument with the same variable, or none."
        return self._error("MIXED_VARIABLES", f"one argument reads rows of {names}", lo, hi, hint)

    def _variables_hint(self) -> str:
        return f"the pattern variables are {', '.join(self.scope.variables)}."


@dataclass(frozen=True)
class Argument:
    """An argument of a navigation or an aggregate: an expression over one row of the match."""

    source: Source
    items: tuple[Item, ...]

    @property
    def references(self) -> list[Reference]:
        return [item for item in self.items if isinstance(item, Reference)]

    @property
    def variables(self) -> set[str | None]:
        """The variables whose rows the argument reads; None is the universal variable."""
        return {r.variable for r in self.references if r.kind != "match number"}

    @property
    def reads_row(self) -> bool:
        return bool(self.references)

    @property
    def text(self) -> Text:
        """The expression over an input row, with columns without their variables."""
        return render(self.items, self.source, _over_input)

    def navigation(self, place: Place) -> Reference:
        """The reference that reads the argument on one row."""
        variable = next(iter(self.variables), None)
        return Reference(
            kind="navigation", place=place, variable=variable, arguments=(self.text,), argument_items=(self.items,)
        )


def _over_input(reference: Reference) -> Text:
    if reference.kind in _CONSTANTS:
        return standing_for(_CONSTANTS[reference.kind], reference.place.start)
    return reference.arguments[0]
