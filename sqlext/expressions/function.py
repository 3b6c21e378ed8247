"""The type of a function of the table, how its Python functions are called, and the settings that change values."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlext.errors import DataError, SqlExtError
from sqlext.expressions.effort import make, spend
from sqlext.expressions.faults import function_failed

Types = tuple[str, ...]
Evaluate = Callable[..., Any]
ResultType = Callable[["Signature"], "str | None"]
Thunk = Callable[[], Any]  # evaluates an argument


# Settings that give expressions another meaning.
ESCAPED_STRINGS = "spark.sql.parser.escapedStringLiterals"
CONSECUTIVE_STRINGS = "spark.sql.legacy.consecutiveStringLiterals.enabled"
EXPONENT_IS_DECIMAL = "spark.sql.legacy.exponentLiteralAsDecimal.enabled"
FEWEST_DIGITS = "spark.sql.legacy.literal.pickMinimumPrecision"
FEWER_FRACTIONAL_DIGITS = "spark.sql.decimalOperations.allowPrecisionLoss"
SIZE_OF_NULL = "spark.sql.legacy.sizeOfNull"
BINARY_AS_STRING = "spark.sql.function.concatBinaryAsString"
PADDED_IS_STRING = "spark.sql.legacy.lpadRpadAlwaysReturnString"
COMPLEX_TO_STRING = "spark.sql.legacy.castComplexTypesToString.enabled"
TIMES_AS_TEXTS = "spark.sql.legacy.typeCoercion.datetimeToString.enabled"
ALL_FRACTIONAL_DIGITS = "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate"
CALENDAR_INTERVALS = "spark.sql.legacy.interval.enabled"
QUOTED_NAMES = "spark.sql.ansi.doubleQuotedIdentifiers"
CASE_OF_ICU = "spark.sql.icu.caseMappings.enabled"
NAN_OF_ZERO_DIVISORS = "spark.sql.legacy.statisticalAggregate"
LOWER_PERCENTILES = "spark.sql.legacy.percentileDiscCalculation"
STRINGS_FOR_CHARS = "spark.sql.legacy.charVarcharAsString"
PADDED_READS = "spark.sql.readSideCharPadding"
UNPADDED_PREDICATES = "spark.sql.legacy.noCharPaddingInPredicate"
MAP_KEYS = "spark.sql.mapKeyDedupPolicy"
TIME_PARSER = "spark.sql.legacy.timeParserPolicy"
LAST_KEY_WINS = f"{MAP_KEYS} = LAST_WIN"
LEGACY_TIMES = f"{TIME_PARSER} = LEGACY"
COMPARED_TIMES = f"{TIME_PARSER} = EXCEPTION"
# The functions that always read or write times by a pattern, and those that do so with a second argument.
ALWAYS_BY_PATTERN = frozenset({"date_format", "from_unixtime", "unix_timestamp", "to_unix_timestamp"})
PATTERN_FUNCTIONS = ALWAYS_BY_PATTERN | {"to_date", "try_to_date", "to_timestamp", "try_to_timestamp"}
BOOLEAN_SETTINGS = (
    ESCAPED_STRINGS,
    CONSECUTIVE_STRINGS,
    EXPONENT_IS_DECIMAL,
    FEWEST_DIGITS,
    FEWER_FRACTIONAL_DIGITS,
    SIZE_OF_NULL,
    BINARY_AS_STRING,
    PADDED_IS_STRING,
    COMPLEX_TO_STRING,
    TIMES_AS_TEXTS,
    ALL_FRACTIONAL_DIGITS,
    CALENDAR_INTERVALS,
    QUOTED_NAMES,
    CASE_OF_ICU,
    NAN_OF_ZERO_DIVISORS,
    LOWER_PERCENTILES,
    STRINGS_FOR_CHARS,
    PADDED_READS,
    UNPADDED_PREDICATES,
)
# The settings that are named with a value, and their values by default.
VALUES_OF_SETTINGS = {LAST_KEY_WINS: "EXCEPTION", LEGACY_TIMES: "CORRECTED", COMPARED_TIMES: "CORRECTED"}
ON_BY_DEFAULT = frozenset({FEWEST_DIGITS, FEWER_FRACTIONAL_DIGITS, SIZE_OF_NULL, CASE_OF_ICU, PADDED_READS})


@dataclass(frozen=True)
class ExecutionSettings:
    """The settings of a session that change values: `spark.sql.ansi.enabled`, `spark.sql.session.timeZone` and, as the
    type that the word TIMESTAMP names, `spark.sql.timestampType`.

    `is_on`: the settings above that are on. A function reads them when it is bound, before it is sent to workers.
    """

    is_ansi: bool
    time_zone: str
    timestamp_type: str = "timestamp"
    is_on: Container[str] = ON_BY_DEFAULT


SPARK_DEFAULTS = ExecutionSettings(is_ansi=True, time_zone="UTC")


@dataclass(frozen=True, kw_only=True)
class Signature:
    """One use of a function: its name, the types of its arguments, the type of its result, and the values of those
    arguments (by position) that are constants.

    `bind` receives the types after the casts of `parameter_types`, `parameters` and `result` those before them.
    """

    name: str
    types: Types
    result: str
    settings: ExecutionSettings
    constants: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function or an operator of Spark.

    `parameters(signature)` returns the types to which Spark casts arguments of the types in `signature`, or None if the
    function does not take them. `result` is the type of the result, or a function that returns it or None in the same
    way; it is None where the text of the call decides, as in CAST and struct. `bind(signature)` returns the Python
    function. It receives one value for each argument; if `is_lazy`, one function without parameters for each argument,
    which evaluates it. The result of a function that is neither lazy nor `takes_nulls` is NULL if an argument is; then
    `bind` returns a function that sees no NULL.
    `size` returns an upper bound of the size of the result (`effort.size_of`) from the arguments of the Python
    function. It is set where the result may be far larger than the arguments, or consists of several of them.
    `is_right_first`: Spark evaluates the right argument before the left one, a divisor for example.
    """

    parameters: Callable[[Signature], Types | None]
    result: str | ResultType | None
    bind: Callable[[Signature], Evaluate]
    is_lazy: bool = False
    takes_nulls: bool = False
    is_right_first: bool = False
    size: Callable[..., int] | None = None

    def result_of(self, signature: Signature) -> str | None:
        """The type of the result, of which `signature` holds nothing yet."""
        return self.result(signature) if callable(self.result) else self.result


def limited(function: Function, evaluate: Evaluate, result: str) -> Evaluate:
    """The Python function of `function`, which spends the cost of its result, a value of type `result` (see `effort`).

    >>> from sqlext.errors import DataError
    >>> spaces = Function(
    ...     parameters=lambda _: ("int",), result="string", bind=lambda _: lambda n: " " * n, size=lambda n: n
    ... )
    >>> try:
    ...     limited(spaces, spaces.bind, "string")(10**12)
    ... except DataError as error:
    ...     print(error.error_class)
    SQLEXT_TEXT_TOO_LONG
    """
    size = function.size
    if size is not None:

        def checked(*values: Any) -> Any:
            make(size(*values))
            return evaluate(*values)

        return checked
    if function.is_lazy or result not in ("string", "binary"):
        return evaluate

    def counted(*values: Any) -> Any:
        value = evaluate(*values)
        if isinstance(value, (str, bytes)):
            spend(len(value))
        return value

    return counted


def null_propagating(evaluate: Evaluate) -> Evaluate:
    """The function that returns None if an argument is None.

    >>> null_propagating(max)(1, None) is None
    True
    """

    def strict(*values: Any) -> Any:
        for value in values:
            if value is None:
                return None
        return evaluate(*values)

    return strict


def of_one_row(name: str, evaluate: Evaluate) -> Evaluate:
    """The function `name`, which raises nothing but DataError: the values of one row can make only this row fail.

    A pattern or a format in a column that is not supported is a DataError of the same class. Any other exception,
    running out of memory included, becomes an error of class FUNCTION_FAILED that names the function.

    >>> try:
    ...     of_one_row("shift", lambda value, bits: value << bits)(1, -1)
    ... except DataError as error:
    ...     print(error.error_class, error.message)
    SQLEXT_FUNCTION_FAILED shift failed: ValueError: negative shift count
    """

    def bounded(*values: Any) -> Any:
        try:
            return evaluate(*values)
        except DataError:
            raise
        except SqlExtError as error:
            raise error.as_data_error() from None
        except Exception as error:
            raise function_failed(name, error) from error

    return bounded


def null_on_error(name: str, evaluate: Evaluate) -> Evaluate:
    """The function `name`, which returns None where `of_one_row` raises DataError, as the try_ forms do."""
    bounded = of_one_row(name, evaluate)

    def evaluate_or_null(*values: Any) -> Any:
        try:
            return bounded(*values)
        except DataError:
            return None

    return evaluate_or_null
