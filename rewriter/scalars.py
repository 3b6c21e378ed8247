"""Finds the clause's own calls and columns inside the scalar expressions of DEFINE and MEASURES.

An expression becomes a list of items: Lexeme (text that Spark will read as the user wrote it) and Reference
(a navigation, an aggregate, CLASSIFIER(), MATCH_NUMBER(), a column that belongs to a row of the match).
Nothing else is interpreted: any function and syntax of Spark passes through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.rewriter.clauses import Fragment
from sqlext.rewriter.lexemes import Lexeme, lexemes, unquoted, variable_key
from sqlext.rewriter.references import FILTER_PLACE, Item, Reference, Scope, unknown_column
from sqlext.rewriter.splice import Text, join

NAVIGATIONS = frozenset({"FIRST", "LAST", "PREV", "NEXT"})
CLAUSE_FUNCTIONS = frozenset({"CLASSIFIER", "MATCH_NUMBER", "MATCH_SEQUENCE_NUMBER"})
STREAM_FUNCTIONS = frozenset({"MATCH_ROWTIME", "MATCH_TIMED_OUT"})
# https://spark.apache.org/docs/4.2.0/api/sql/ "Aggregate functions"; FIRST and LAST are navigations here
_AGGREGATE_NAMES = """
    any any_value approx_count_distinct approx_percentile approx_top_k array_agg avg bit_and bit_or bit_xor
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count
    count_if count_min_sketch covar_pop covar_samp every first_value grouping hll_sketch_agg hll_union_agg
    histogram_numeric kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last_value
    listagg max max_by mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum theta_sketch_agg
    try_avg try_sum var_pop var_samp variance vector_avg vector_sum
"""
AGGREGATES = frozenset(_AGGREGATE_NAMES.split())
_KEYWORDS = """
    ALL AND ANTI ANY AS ASC AT BETWEEN BOTH CASE CAST COLLATE CROSS CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER
    DESC DISTINCT DIV ELSE END ESCAPE EXISTS FALSE FILTER FOR FROM GROUP ILIKE IN INTERVAL IS LEADING LIKE NOT
    NULL NULLS OR ORDER OVER REGEXP RESPECT RLIKE SELECT SOME THEN TO TRAILING TRUE USING WHEN
"""
_NOT_COLUMNS = frozenset(_KEYWORDS.split())


def analyse(fragment: Fragment, scope: Scope) -> list[Item]:
    """The items of an expression, in order.

    Raises BindError (unknown columns, mixed variables, wrong nesting) and UnsupportedError.
    """
    parts = lexemes(fragment, scope.source)
    return _Analyser(parts, scope).items(0, len(parts))


class _Analyser:
    """Recursive descent over lexemes; every method takes a range `lo` to `hi` (exclusive) of them."""

    def __init__(self, parts: Sequence[Lexeme], scope: Scope):
        self.parts, self.scope = parts, scope
        self.lambda_names = self._lambda_names()

    # items of a whole expression

    def items(self, lo: int, hi: int) -> list[Item]:
        found: list[Item] = []
        i = lo
        while i < hi:
            reference, after = self._reference(i, hi)
            if reference is not None:
                found.append(reference)
            else:
                found.extend(self.parts[i:after])
            i = after
        return found

    def _reference(self, i: int, hi: int) -> tuple[Reference | None, int]:
        """The reference that begins at i and the index behind it; without one, the lexemes to copy."""
        lexeme = self.parts[i]
        if self._is_subquery(i):
            return None, self._closing(i) + 1
        if not lexeme.is_name or self._raw(i - 1) == ".":
            return None, i + 1
        if lexeme.word == "OVER" and self._raw(i - 1) == ")":
            raise self._window_function(i, i + 1)
        if self._raw(i + 1) == "(":
            return self._call(i, hi)
        if lexeme.word in ("RUNNING", "FINAL") and self._raw(i + 2) == "(" and self._is_own_call(i + 1):
            return self._prefixed_call(i, hi)
        if self._raw(i + 1) == "." and variable_key(lexeme.raw) in self.scope.variables:
            return self._qualified_column(i)
        if not self.scope.in_define and self._is_column(i):
            return self._universal_column(i)
        return None, i + 1

    def _is_own_call(self, i: int) -> bool:
        word = self._word(i)
        return word in NAVIGATIONS or word in CLAUSE_FUNCTIONS or self._is_aggregate_name(i)

    def _is_aggregate_name(self, i: int) -> bool:
        name = self.parts[i].raw.lower()
        return name in AGGREGATES or self.scope.is_aggregate(name)

    def _prefixed_call(self, i: int, hi: int) -> tuple[Reference, int]:
        word = self.parts[i].word
        if word == "FINAL" and self.scope.in_define:
            raise BindError(
                "FINAL_IN_DEFINE",
                "FINAL has no meaning in DEFINE, where the match is not finished",
                place=self._place(i, i + 1),
                hint="leave FINAL out.",
            )
        reference, after = self._call(i + 1, hi)
        if reference is None or reference.kind in ("match number", "sequence number", "rowtime", "timed out"):
            raise BindError(
                "MISPLACED_PREFIX",
                f"{word} belongs before FIRST, LAST or an aggregate",
                place=self._place(i, i + 1),
                hint=f"leave {word} out.",
            )
        if reference.step:
            raise BindError(
                "MISPLACED_PREFIX",
                f"{word} belongs inside PREV and NEXT, before FIRST or LAST",
                place=self._place(i, i + 2),
                hint=f"write PREV({word} LAST(...)).",
            )
        place = self._place(i, after)
        return replace(reference, is_final=word == "FINAL", is_running=word == "RUNNING", place=place), after

    def _call(self, i: int, hi: int) -> tuple[Reference | None, int]:
        word, close = self.parts[i].word, self._closing(i + 1)
        if word in ("PREV", "NEXT"):
            return self._physical(i, close), close + 1
        if word in ("FIRST", "LAST"):
            return self._logical(i, close), close + 1
        if word == "CLASSIFIER":
            return self._classifier(i, close), close + 1
        if word in CLAUSE_FUNCTIONS:
            return self._number(i, close), close + 1
        if word == "MATCH_ROWTIME":
            return self._rowtime(i, close), close + 1
        if word == "MATCH_TIMED_OUT" and not self.scope.in_define:
            return replace(self._number(i, close), kind="timed out"), close + 1
        if word in STREAM_FUNCTIONS:
            raise UnsupportedError("STREAM_FUNCTION", f"{word}() is not built yet", place=self._place(i, close + 1))
        if self._is_aggregate_name(i):
            return self._aggregate(i, close)
        return None, i + 1

    def _number(self, i: int, close: int) -> Reference:
        if close != i + 2:
            raise BindError(
                "TOO_MANY_ARGUMENTS", f"{self.parts[i].word} takes no argument", place=self._place(i, close + 1)
            )
        kind = "match number" if self.parts[i].word == "MATCH_NUMBER" else "sequence number"
        return Reference(kind, self._place(i, close + 1))

    def _rowtime(self, i: int, close: int) -> Reference:
        if self.scope.in_define:
            raise BindError(
                "ROWTIME_IN_DEFINE",
                "MATCH_ROWTIME() is known when the match is, not in DEFINE",
                place=self._place(i, close + 1),
                hint="use the time of a row: LAST(ts).",
            )
        return replace(self._number(i, close), kind="rowtime")

    def _classifier(self, i: int, close: int) -> Reference:
        variable = None
        if close > i + 2:
            variable = variable_key(self.parts[i + 2].raw)
            if close != i + 3 or variable not in self.scope.variables:
                raise BindError(
                    "UNKNOWN_PATTERN_VARIABLE",
                    "CLASSIFIER takes a pattern variable or a SUBSET",
                    place=self._place(i + 2, close),
                    hint=self._variables_hint(),
                )
        return Reference("classifier", self._place(i, close + 1), variable)

    def _qualified_column(self, i: int) -> tuple[Reference, int]:
        self._check_member(i)
        place, argument = self._place(i, i + 3), self._slice(i + 2, i + 3)
        return Reference("navigation", place, variable_key(self.parts[i].raw), (argument,)), i + 3

    def _universal_column(self, i: int) -> tuple[Reference, int]:
        is_qualified = self._raw(i + 1) == "." and i + 2 < len(self.parts) and self.scope.column(self.parts[i + 2])
        after = i + 3 if is_qualified else i + 1  # alias . name, also where a column is called like the alias; name
        return Reference("navigation", self._place(i, after), None, (self._slice(i, after),)), after

    # navigations

    def _logical(self, i: int, close: int) -> Reference:
        bounds = self._arguments(i + 1, close)
        offset = self._offset(i, bounds, default=0)
        place, from_first = self._place(i, close + 1), self.parts[i].word == "FIRST"
        inner = self._nested_classifier(*bounds[0])
        if inner is not None:
            return replace(inner, place=place, from_first=from_first, offset=offset)
        argument, variable, _ = self._argument(*bounds[0], f"{self.parts[i].word}")
        return Reference("navigation", place, variable, (argument,), from_first=from_first, offset=offset)

    def _physical(self, i: int, close: int) -> Reference:
        bounds = self._arguments(i + 1, close)
        distance = self._offset(i, bounds, default=1)
        step = -distance if self.parts[i].word == "PREV" else distance
        lo, hi = bounds[0]
        place = self._place(i, close + 1)
        inner = self._nested_navigation(lo, hi)
        if inner is None:
            argument, variable, _ = self._argument(lo, hi, self.parts[i].word)
            inner = Reference("navigation", place, variable, (argument,))
        return replace(inner, place=place, step=step)

    def _nested_navigation(self, lo: int, hi: int) -> Reference | None:
        """`[RUNNING|FINAL] FIRST(…)`, `LAST(…)` or `CLASSIFIER(…)` filling the whole range."""
        head = lo + 1 if self._word(lo) in ("RUNNING", "FINAL") else lo
        if head + 1 >= hi or self._raw(head + 1) != "(" or self._closing(head + 1) != hi - 1:
            return None
        if self._word(head) not in ("FIRST", "LAST", "CLASSIFIER"):
            return None
        reference, _ = self._prefixed_call(lo, hi) if head > lo else self._call(head, hi)
        return reference

    def _nested_classifier(self, lo: int, hi: int) -> Reference | None:
        if self._word(lo) == "CLASSIFIER" and self._raw(lo + 1) == "(" and self._closing(lo + 1) == hi - 1:
            return self._classifier(lo, hi - 1)
        return None

    def _offset(self, i: int, bounds: list[tuple[int, int]], default: int) -> int:
        word = self.parts[i].word
        if not bounds or len(bounds) > 2:
            raise BindError(
                "WRONG_ARGUMENTS",
                f"{word} takes an expression and an optional offset",
                place=self._place(i, i + 1),
                hint=f"write {word}(price) or {word}(price, 2).",
            )
        if len(bounds) == 1:
            return default
        text = str(self._slice(*bounds[1])).strip().rstrip("Ll")
        if not text.isdigit():
            raise BindError(
                "WRONG_OFFSET",
                f"the offset of {word} must be a non-negative integer literal",
                place=self._place(*bounds[1]),
            )
        return int(text)

    # aggregates

    def _aggregate(self, i: int, close: int) -> tuple[Reference, int]:
        after = self._aggregate_tail(i, close)
        first = i + 2 + (self._word(i + 2) in ("DISTINCT", "ALL") and first_is_keyword(self.parts, i + 2))
        base = Reference(
            "aggregate",
            self._place(i, after),
            function=self.parts[i].raw.lower(),
            is_distinct=first > i + 2 and self._word(i + 2) == "DISTINCT",
        )
        star = self._counted_rows(i, first, close)
        if star is not None:
            return replace(base, variable=star[0], call=(self._slice(i, after),)), after
        bounds = self._arguments(first - 1, close) + self._sort_keys(close, after)
        if len(bounds) == 1 and (inner := self._nested_classifier(*bounds[0])):
            return replace(base, variable=inner.variable, argument_kind="classifier"), after
        return self._aggregate_of(base, i, after, bounds), after

    def _aggregate_of(self, base: Reference, i: int, after: int, bounds: list[tuple[int, int]]) -> Reference:
        """Arguments that read the row are taken out of the call, constants (`0.5`, `','`) stay in it."""
        found = [(b, *self._argument(*b, self.parts[i].raw)) for b in bounds]
        reading = [(b, text, variable) for b, text, variable, reads in found if reads]
        variables = {v for _, _, v in reading}
        if len(variables) > 1:
            raise self._mixed(bounds[0][0], bounds[-1][1], variables)
        if not reading:  # SUM(1): a constant for every row
            reading = [(b, text, variable) for b, text, variable, _ in found[:1]]
        call: list[Text | int] = []
        slice, at = self.scope.source.slice, self.parts[i].start
        for n, ((lo, hi), _, _) in enumerate(reading):
            call += [slice(at, self.parts[lo].start), n]
            at = self.parts[hi - 1].stop  # blanks stay: `ORDER BY x DESC`
        before_nulls = after - 2 if self._word(after - 2) in ("IGNORE", "RESPECT") else after
        call += [slice(at, self.parts[before_nulls - 1].stop), FILTER_PLACE]
        if before_nulls < after:
            call.append(join(" ", self._slice(before_nulls, after)))
        return replace(
            base,
            variable=variables.pop() if variables else None,
            arguments=tuple(text for _, text, _ in reading),
            call=tuple(call),
        )

    def _counted_rows(self, i: int, first: int, close: int) -> tuple[str | None] | None:
        """(variable,) of `COUNT(*)` and `COUNT(A.*)`."""
        if self._raw(close - 1) != "*" or (close - 1 != first and self._raw(close - 2) != "."):
            return None
        if self._word(i) != "COUNT":
            raise BindError(
                "WRONG_ARGUMENTS", f"{self.parts[i].raw}(*): only COUNT takes rows", place=self._place(i, close + 1)
            )
        if close - 1 == first:
            return (None,)
        variable = variable_key(self.parts[first].raw)
        if variable not in self.scope.variables:
            raise self._unknown_variable(first)
        return (variable,)

    def _aggregate_tail(self, i: int, close: int) -> int:
        """The index behind `WITHIN GROUP (…)` or `IGNORE NULLS`; FILTER and OVER are refused."""
        after = close + 1
        if self._word(after) in ("IGNORE", "RESPECT") and self._word(after + 1) == "NULLS":
            after += 2
        if self._word(after) == "WITHIN" and self._word(after + 1) == "GROUP":
            after = self._closing(after + 2) + 1
        if self._word(after) == "FILTER" and self._raw(after + 1) == "(":
            name = self.parts[i].raw
            raise UnsupportedError(
                "AGGREGATE_FILTER",
                "FILTER is not built for aggregates of a match",
                place=self._place(after, self._closing(after + 1) + 1),
                hint=f"write {name}(CASE WHEN condition THEN value END).",
            )
        if self._word(after) == "OVER":
            raise self._window_function(i, after + 1)
        return after

    def _window_function(self, lo: int, hi: int) -> BindError:
        return BindError(
            "WINDOW_FUNCTION",
            "a window function cannot stand in MATCH_RECOGNIZE",
            place=self._place(lo, hi),
            hint="compute it in a subquery that is the input.",
        )

    def _sort_keys(self, close: int, after: int) -> list[tuple[int, int]]:
        """The expressions of `WITHIN GROUP (ORDER BY e [ASC|DESC])`."""
        if after <= close + 1 or self._word(close + 1) != "WITHIN":
            return []
        lo = close + 4  # behind WITHIN GROUP (
        lo += 2 if self._word(lo) == "ORDER" else 1  # the tokenizer may give ORDER BY as one token
        hi = after - 1
        while self._word(hi - 1) in ("ASC", "DESC", "NULLS", "FIRST", "LAST"):
            hi -= 1
        return [(lo, hi)]

    # arguments

    def _argument(self, lo: int, hi: int, function: str) -> tuple[Text, str | None, bool]:
        """(text without qualifiers, variable, whether it reads the row) of one argument."""
        pieces: list[Text] = []
        variables: set[str | None] = set()
        at = i = lo
        while i < hi:
            if self._is_subquery(i):
                i = self._closing(i) + 1
                continue
            if self.parts[i].is_name and self._raw(i - 1) != ".":
                self._check_not_nested(i, function)
                if self._raw(i + 1) == "." and variable_key(self.parts[i].raw) in self.scope.variables:
                    self._check_member(i)
                    variables.add(variable_key(self.parts[i].raw))
                    pieces.append(self._slice(at, i, trailing=True))
                    at = i = i + 2
                elif self._raw(i + 1) != "(" and self._is_column(i):
                    variables.add(None)
            i += 1
        if len(variables) > 1:
            raise self._mixed(lo, hi, variables)
        pieces.append(self._slice(at, hi))
        return join(*pieces), next(iter(variables), None), bool(variables)

    def _check_not_nested(self, i: int, function: str) -> None:
        if self._raw(i + 1) != "(" or not (self._is_own_call(i) or self._word(i) in STREAM_FUNCTIONS):
            return
        close = self._closing(i + 1)
        if self._word(i) in CLAUSE_FUNCTIONS:
            raise UnsupportedError(
                "NESTED_CALL",
                f"{self._word(i)}() inside an expression that {function} reads is not built",
                place=self._place(i, close + 1),
                hint=f"{function} takes an expression over the input's columns, or CLASSIFIER() alone.",
            )
        raise BindError(
            "NESTED_CALL",
            f"{self.parts[i].raw} cannot stand inside {function}",
            place=self._place(i, close + 1),
            hint="only PREV and NEXT go around FIRST and LAST: PREV(LAST(A.price), 2).",
        )

    def _arguments(self, opening: int, close: int) -> list[tuple[int, int]]:
        """The ranges between the commas of `( … )`; `opening` is the index before the first argument."""
        bounds: list[tuple[int, int]] = []
        start = i = opening + 1
        while i < close:
            if self.parts[i].raw in ("(", "[", "{"):
                i = self._closing(i)
            elif self.parts[i].raw == ",":
                bounds.append((start, i))
                start = i + 1
            i += 1
        return [*bounds, (start, close)] if close > opening + 1 else []

    # names

    def _is_column(self, i: int) -> bool:
        """Does the name at i say an input column, alone or behind the input's alias?"""
        lexeme, before, behind = self.parts[i], self._raw(i - 1), self._raw(i + 1)
        if not lexeme.is_name or before == "." or behind == "(":
            return False
        if not lexeme.raw.startswith("`") and (lexeme.word in _NOT_COLUMNS or self._is_syntax(i, before, behind)):
            return False
        if unquoted(lexeme.raw).lower() in self.lambda_names:
            return False
        if self.scope.column(lexeme):
            return True
        return behind == "." and i + 2 < len(self.parts) and self.scope.column(self.parts[i + 2]) is not None

    def _is_syntax(self, i: int, before: str, behind: str) -> bool:
        """A type (`CAST(x AS date)`), unit (`INTERVAL 5 day`), field (`EXTRACT(year FROM t)`), `date '…'`, `n => 1`."""
        return (
            before.upper() == "AS"
            or before == "::"
            or behind == "=>"
            or behind.upper() == "FROM"
            or (
                before != ""
                and (before[0].isdigit() or before[0] in "'\"")
                and self._word(i - 2) in ("INTERVAL", "+", "-")
            )
            or (
                behind[:1] in ("'", '"')
                and self._word(i) in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X", "TIME")
            )
        )

    def _lambda_names(self) -> frozenset[str]:
        names: set[str] = set()
        for i, lexeme in enumerate(self.parts):
            if lexeme.raw == "->" and i:
                j = i - 1
                if self.parts[j].raw == ")":
                    while self.parts[j].raw != "(":
                        j -= 1
                names |= {unquoted(x.raw).lower() for x in self.parts[j:i] if x.is_name}
        return frozenset(names)

    def _check_member(self, i: int) -> None:
        """`A.column` needs a column of the input."""
        if i + 2 >= len(self.parts) or self.parts[i + 2].raw == "*":
            raise BindError(
                "MISPLACED_STAR", f"{self.parts[i].raw}.* can stand in COUNT only", place=self._place(i, i + 2)
            )
        if self.scope.column(self.parts[i + 2]) is None:
            raise unknown_column(self.parts[i + 2], self.scope)

    def _mixed(self, lo: int, hi: int, variables: set[str | None]) -> BindError:
        names = " and ".join(sorted("the universal variable" if v is None else v for v in variables))
        return BindError(
            "MIXED_VARIABLES",
            f"one argument reads rows of {names}",
            place=self._place(lo, hi),
            hint="qualify all columns of an argument with the same variable, or none.",
        )

    def _unknown_variable(self, i: int) -> BindError:
        return BindError(
            "UNKNOWN_PATTERN_VARIABLE",
            f'PATTERN does not use "{self.parts[i].raw}"',
            place=self._place(i, i + 1),
            hint=self._variables_hint(),
        )

    def _variables_hint(self) -> str:
        return f"pattern variables are {', '.join(self.scope.variables)}."

    # lexemes

    def _raw(self, i: int) -> str:
        return self.parts[i].raw if 0 <= i < len(self.parts) else ""

    def _word(self, i: int) -> str:
        return self._raw(i).upper()

    def _is_subquery(self, i: int) -> bool:
        return self._raw(i) == "(" and self._word(i + 1) in ("SELECT", "WITH", "FROM", "VALUES", "TABLE")

    def _closing(self, i: int) -> int:
        """The index of the parenthesis that closes the one at i."""
        depth = 0
        for j in range(i, len(self.parts)):
            depth += (self.parts[j].raw in ("(", "[", "{")) - (self.parts[j].raw in (")", "]", "}"))
            if depth == 0:
                return j
        return len(self.parts) - 1

    def _slice(self, lo: int, hi: int, trailing: bool = False) -> Text:
        """The text of lexemes lo to hi; `trailing` keeps what stands between the last of them and the next."""
        if lo >= hi:
            return Text()
        stop = self.parts[hi].start if trailing and hi < len(self.parts) else self.parts[hi - 1].stop
        return self.scope.source.slice(self.parts[lo].start, stop)

    def _place(self, lo: int, hi: int) -> Place:
        return self.scope.place(self.parts[lo].start, self.parts[min(hi, len(self.parts)) - 1].stop)


def first_is_keyword(parts: Sequence[Lexeme], i: int) -> bool:
    """DISTINCT or ALL at i is the keyword, not a column: something other than `)` `,` `.` follows."""
    return i + 1 < len(parts) and parts[i + 1].raw not in (")", ",", ".")
