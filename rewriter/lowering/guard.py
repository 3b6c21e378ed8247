"""Guards the expressions of a clause that Spark computes on a stream, so that no row of data ends the query.

Under ANSI a division by zero, an overflow or a failing cast is an error, and the query would read the same row again at
every restart. So an expression that cannot be computed on a row is NULL there, as with Spark's own `try_` functions:
its condition does not hold, or its measure is NULL. A further column, FAILURE, names the expressions that failed.

Spark has no `try` that takes any expression, but `try_to_binary` evaluates its argument with such a `try`. The argument
is a lambda, because Spark computes a common subexpression before both of its uses, even before a `try_` function, but
never moves a subexpression out of a lambda. The lambda returns a hash, which keeps the optimizer from dropping the
expression. It is evaluated once for all expressions of a row. Only if it fails are the expressions tested one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlext.operators.match.plan import AGGREGATE_SLOTS
from sqlext.operators.rows.columns import FAILURE, LATE_ROW, NOT_COMPUTED, ROW_TIME, WITHIN_END, WITHIN_KEY
from sqlext.pattern.conditions.condition_reads import all_columns_read, operands
from sqlext.pattern.task.task import Aggregate, InterpretedAggregate
from sqlext.rewriter.lowering.match_plan import InputColumn, MatchPlan, ShownColumn
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Piece, Text, join
from sqlext.rewriter.text.tokens import NUMBER, STRING, Token, Tokens, tokenize

ON_DATA_ERROR = "sqlext.stream.on_data_error"
SKIP, FAIL = "skip", "fail"  # SKIP is the default
_NEVER_FAIL = (WITHIN_KEY, WITHIN_END, ROW_TIME, LATE_ROW)  # the watermark column, or that column plus a constant
_BARE = re.compile(r"\s*(\w+|`[^`]*`)(\.(\w+|`[^`]*`))*\s*")


def guarded(plan: MatchPlan, is_accepted: Callable[[Text], bool]) -> MatchPlan:
    """The plan with guarded expressions and the column FAILURE; the same plan if none of them can fail.

    `is_accepted`: whether Spark can analyse an expression over the rows of the plan's input. An expression that Spark
    does not accept inside a lambda, such as one with a Python UDF or a subquery, gets no guard.
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
    """A column NOT_COMPUTED for each of the columns (name, expression) that may fail; it reads the column FAILURE.

    Aggregates read these columns, because a sum over only the rows that could be computed would look complete.
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
        elif isinstance(source, InterpretedAggregate):
            names |= {plan.operands[column].name for column in all_columns_read(source) if column >= 0}
    return names


def guarded_measures(plan: MatchPlan, is_accepted: Callable[[Text], bool]) -> MatchPlan:
    """The plan with guarded measures and the column FAILURE of the result; the same plan if none of them can fail.

    `is_accepted`: whether Spark can analyse an expression over the rows from which the measures are computed.
    """
    texts, failure = guarded_texts([column.text for column in plan.shown], is_accepted)
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
    """The columns (name, expression) with guards; the same columns if none of them can fail.

    The guarded columns come with FAILURE and, for the columns that aggregates read, with NOT_COMPUTED.
    """
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


def guarded_texts(texts: Sequence[Text], is_accepted: Callable[[Text], bool]) -> tuple[list[Text], Text | None]:
    """The expressions with guards, which read the column FAILURE, and the expression of FAILURE.

    If none of the expressions can fail, they are returned as they are, with None.

    `is_accepted`: whether Spark can analyse an expression here.
    """
    tests = _tests({str(text): text for text in texts if not cannot_fail(str(text), {})}, is_accepted)
    if not tests:
        return list(texts), None
    return list(map(_guard(tests), texts)), _failure(tests)


def _tests(risky: Mapping[str, Text], is_accepted: Callable[[Text], bool]) -> dict[str, Text]:
    """For each expression with a guard, the SQL that fails exactly if the expression fails."""
    if not risky or is_accepted(is_computable(list(risky.values()))):
        return dict(risky)
    forms = {key: (text, join("CAST(", text, " AS STRING)")) for key, text in risky.items()}  # maps have no hash
    accepted = {key: [test for test in texts if is_accepted(is_computable([test]))] for key, texts in forms.items()}
    return {key: tests[0] for key, tests in accepted.items() if tests}


def _guard(tests: Mapping[str, Text]) -> Callable[[Text], Text]:
    """A function that guards a text that has a test, and returns any other text as it is."""

    def guard(text: Text) -> Text:
        test = tests.get(str(text))
        if test is None:
            return text
        return join(f"CASE WHEN {FAILURE} IS NULL OR ", is_computable([test]), " THEN ", text, " END")

    return guard


def is_computable(texts: Sequence[Text]) -> Text:
    """A condition that is true if Spark can compute all the expressions on the row."""
    value = join("hash(", join(*texts, separator=", "), ")")
    tested = join("array_join(transform(array(0), __x -> CAST(", value, " AS STRING)), '')")
    return join("try_to_binary(", tested, ", 'utf-8') IS NOT NULL")


def _risky(plan: MatchPlan) -> dict[str, Text]:
    """The expressions that may fail on a row."""
    texts = [column.text for column in plan.columns if column.name not in _NEVER_FAIL]
    texts += [mask.rest for mask in plan.masks]
    texts += [text for text, _ in plan.order_by[1:]]
    types = {name.lower(): spark_type for name, spark_type in plan.input_types}
    return {str(text): text for text in texts if not cannot_fail(str(text), types)}


def _failure(tests: Mapping[str, Text]) -> Text:
    """An expression that is NULL, or names the expressions that failed."""
    named = (join("IF(", is_computable([test]), ", NULL, ", _literal(text), ")") for text, test in tests.items())
    failed = join("'cannot be computed: ' || concat_ws('; ', ", join(*named, separator=", "), ")")
    return join("CASE WHEN NOT ", is_computable(list(tests.values())), " THEN ", failed, " END")


def _literal(value: str) -> Text:
    return Text((Piece(string_literal(in_line(value)), is_verbatim=False),))


# which expressions need no guard

_LOGIC = frozenset({"AND", "OR", "NOT", "(", ")"})
_COMPARISON = frozenset({"=", "==", "<", ">", "<=", ">=", "<=>", "!=", "<>", "IS", "NULL", "TRUE", "FALSE"})
_FIXED = re.compile("tinyint|smallint|int|bigint|float|double|boolean|date|timestamp|timestamp_ntz")


def cannot_fail(text: str, types: Mapping[str, str]) -> bool:
    """True if the text is a column, or consists of comparisons of columns and literals without a cast that may fail.

    `types`: the types of the columns, by their names in lower case.

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
    """True if the tokens are one comparison, either of texts, or of numbers and times."""
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
