"""Expressions of a clause that Spark computes on a stream, guarded so that no row of data ends the query.

Under ANSI a division by zero, an overflow or a failing cast is an error, and the query would meet the same row again at
every restart. So an expression that cannot be computed on a row is NULL there, as Spark's own `try_` functions are: its
condition does not hold, its measure is NULL. A further column, FAILURE, names the expressions that failed.

Spark has no `try` for every expression, but `try_to_binary` evaluates its argument in one. The argument is a lambda,
because Spark computes a common subexpression before both of its uses, even before a `try_` function, but never takes
one out of a lambda. The lambda returns a hash, which keeps the optimizer from dropping the expression. It is evaluated
once for all expressions of a row; only where it fails are they tested one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlext.operators.match.plan import AGGREGATE_SLOTS
from sqlext.operators.rows.columns import FAILURE, LATE_ROW, NOT_COMPUTED, ROW_TIME, WITHIN_END, WITHIN_KEY
from sqlext.pattern.conditions.condition_reads import all_columns_read, operands
from sqlext.pattern.task.task import Aggregate, SparkAggregate
from sqlext.rewriter.lowering.match_plan import InputColumn, MatchPlan, ShownColumn
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Piece, Text, join
from sqlext.rewriter.text.tokens import NUMBER, STRING, Token, Tokens, tokenize

ON_DATA_ERROR = "sqlext.stream.on_data_error"
SKIP, FAIL = "skip", "fail"  # the first is the default
_NEVER_FAIL = (WITHIN_KEY, WITHIN_END, ROW_TIME, LATE_ROW)  # the watermark column, and that plus a constant
_BARE = re.compile(r"\s*(\w+|`[^`]*`)(\.(\w+|`[^`]*`))*\s*")


def guarded(plan: MatchPlan, is_accepted: Callable[[Text], bool]) -> MatchPlan:
    """The plan with guarded expressions and the column FAILURE; the same plan if none of them can fail.

    `is_accepted`: can Spark analyse this expression over the rows of the plan's input? An expression that it does not
    take inside of a lambda, one with a Python UDF or a subquery, stays without a guard.
    """
    tests = {} if plan.needs_window else _tests(_risky(plan), is_accepted)
    if not tests:
        return plan
    guard, aggregated = _guard(tests), aggregated_columns(plan)
    return replace(
        plan,
        columns=(
            InputColumn(FAILURE, _failure(tests)),
            *(replace(column, text=guard(column.text)) for column in plan.columns),
            *marks(((c.name, c.text) for c in plan.columns if c.name in aggregated), tests),
        ),
        masks=tuple(replace(mask, rest=guard(mask.rest)) for mask in plan.masks),
        order_by=tuple((guard(text), direction) for text, direction in plan.order_by),
    )


def marks(columns: Iterable[tuple[str, Text]], tests: Mapping[str, Text]) -> list[InputColumn]:
    """The columns NOT_COMPUTED of those columns (name, expression) that may fail; they read the column FAILURE.

    An aggregate reads them: a sum of the rows that could be computed would look whole.
    """
    return [
        InputColumn(NOT_COMPUTED + name, join(f"{FAILURE} IS NOT NULL AND NOT ", is_computable([tests[str(text)]])))
        for name, text in columns
        if str(text) in tests
    ]


def aggregated_columns(plan: MatchPlan) -> set[str]:
    """The names of the columns that aggregates of MEASURES and DEFINE read."""
    names = {name for slot in plan.slots if slot.kind in AGGREGATE_SLOTS for name in slot.columns}
    conditions = (*plan.task.conditions, *(mask.neighbours for mask in plan.masks))
    sources = [o.source for condition in conditions if condition is not None for o in operands(condition)]
    for source in sources:
        if isinstance(source, Aggregate) and source.argument is not None and source.argument >= 0:
            names.add(plan.operands[source.argument].name)
        elif isinstance(source, SparkAggregate):
            names |= {plan.operands[column].name for column in all_columns_read(source) if column >= 0}
    return names


def guarded_measures(plan: MatchPlan, is_accepted: Callable[[Text], bool]) -> MatchPlan:
    """The plan with guarded measures and the column FAILURE of the result; the same plan if none of them can fail.

    `is_accepted`: can Spark analyse this expression over the rows that the measures are computed from?
    """
    texts, failure = guarded_texts([column.text for column in plan.shown], {}, is_accepted)
    if failure is None:
        return plan
    measures = (replace(column, text=text) for column, text in zip(plan.shown, texts))
    return replace(plan, shown=(ShownColumn(FAILURE, failure), *measures))


def guarded_columns(
    columns: Sequence[tuple[str, Text]],
    aggregated: Container[str],
    types: Mapping[str, str],
    is_accepted: Callable[[Text], bool],
) -> list[tuple[str, Text]]:
    """The columns (name, expression) with guards, with FAILURE and the columns NOT_COMPUTED of those that aggregates
    read; the same columns if none of them can fail."""
    tests = _tests({str(text): text for _, text in columns if not cannot_fail(str(text), types)}, is_accepted)
    if not tests:
        return list(columns)
    guard = _guard(tests)
    read = marks(((name, text) for name, text in columns if name in aggregated), tests)
    return [
        (FAILURE, _failure(tests)),
        *((name, guard(text)) for name, text in columns),
        *((mark.name, mark.text) for mark in read),
    ]


def guarded_texts(
    texts: Sequence[Text], types: Mapping[str, str], is_accepted: Callable[[Text], bool]
) -> tuple[list[Text], Text | None]:
    """The expressions with guards, which read the column FAILURE, and its expression; None if none of them can fail.

    `types`: those of columns by their names in lower case; `is_accepted`: can Spark analyse this expression here?
    """
    tests = _tests({str(text): text for text in texts if not cannot_fail(str(text), types)}, is_accepted)
    if not tests:
        return list(texts), None
    return list(map(_guard(tests), texts)), _failure(tests)


def _tests(risky: Mapping[str, Text], is_accepted: Callable[[Text], bool]) -> dict[str, Text]:
    """The value that is to be computed as a test, for each of the expressions that can be guarded."""
    if not risky or is_accepted(is_computable(list(risky.values()))):
        return dict(risky)
    forms = {key: (text, join("CAST(", text, " AS STRING)")) for key, text in risky.items()}  # maps have no hash
    accepted = {key: [test for test in texts if is_accepted(is_computable([test]))] for key, texts in forms.items()}
    return {key: tests[0] for key, tests in accepted.items() if tests}


def _guard(tests: Mapping[str, Text]) -> Callable[[Text], Text]:
    """The function that guards the texts that have a test, and returns all others as they are."""

    def guard(text: Text) -> Text:
        test = tests.get(str(text))
        if test is None:
            return text
        return join(f"CASE WHEN {FAILURE} IS NULL OR ", is_computable([test]), " THEN ", text, " END")

    return guard


def is_computable(texts: Sequence[Text]) -> Text:
    """A condition: can Spark compute all the expressions on this row?"""
    value = join("hash(", join(*texts, separator=", "), ")")
    tested = join("array_join(transform(array(0), __x -> CAST(", value, " AS STRING)), '')")
    return join("try_to_binary(", tested, ", 'utf-8') IS NOT NULL")


def _risky(plan: MatchPlan) -> dict[str, Text]:
    """The expressions that may fail on some row."""
    texts = [column.text for column in plan.columns if column.name not in _NEVER_FAIL]
    texts += [mask.rest for mask in plan.masks]
    texts += [text for text, _ in plan.order_by[1:]]
    types = {name.lower(): spark_type for name, spark_type in plan.input_types}
    return {str(text): text for text in texts if not cannot_fail(str(text), types)}


def _failure(tests: Mapping[str, Text]) -> Text:
    """NULL, or the expressions that failed."""
    named = (join("IF(", is_computable([test]), ", NULL, ", _literal(text), ")") for text, test in tests.items())
    failed = join("'cannot be computed: ' || concat_ws('; ', ", join(*named, separator=", "), ")")
    return join("CASE WHEN NOT ", is_computable(list(tests.values())), " THEN ", failed, " END")


def _literal(value: str) -> Text:
    escaped = " ".join(value.split()).replace("\\", "\\\\").replace("'", "\\'")
    return Text((Piece(f"'{escaped}'", is_verbatim=False),))


# which expressions need no guard

_LOGIC = frozenset({"AND", "OR", "NOT", "(", ")"})
_COMPARISON = frozenset({"=", "==", "<", ">", "<=", ">=", "<=>", "!=", "<>", "IS", "NULL", "TRUE", "FALSE"})
_FIXED = re.compile("tinyint|smallint|int|bigint|float|double|boolean|date|timestamp|timestamp_ntz")


def cannot_fail(text: str, types: Mapping[str, str]) -> bool:
    """Is the text a column, or comparisons of columns and literals without a cast that may fail?

    `types`: those of the columns, by their names in lower case.

    >>> types = {"v": "int", "s": "string"}
    >>> [cannot_fail(text, types) for text in ("s", "v > 3 AND t.s = 'a'", "s > 3", "s = v", "v / 2 > 1", "f(v)")]
    [True, True, False, False, False, False]
    """
    if _BARE.fullmatch(text):
        return True
    groups: list[list[Token]] = [[]]
    for token in tokenize(text):
        if token.word in _LOGIC:
            groups.append([])
        else:
            groups[-1].append(token)
    return all(_is_plain(tuple(group), types) for group in groups)


def _is_plain(tokens: Tokens, types: Mapping[str, str]) -> bool:
    """Are the tokens one comparison of texts, or one of numbers and times?"""
    kinds, has_number, at = set(), False, 0
    while at < len(tokens):
        token = tokens[at]
        if token.word in _COMPARISON or token.kind == STRING:
            at += 1
        elif token.kind == NUMBER:
            has_number, at = True, at + 1
        else:
            while at + 2 < len(tokens) and tokens[at].is_name and tokens[at + 1].word == ".":
                at += 2
            kinds.add(_kind(types.get(unquoted(tokens[at].text).lower(), "") if tokens[at].is_name else ""))
            at += 1
    return kinds <= {"fixed"} or (kinds == {"string"} and not has_number)


def _kind(spark_type: str) -> str:
    return "string" if spark_type == "string" else "fixed" if _FIXED.fullmatch(spark_type) else "other"
