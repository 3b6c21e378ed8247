"""The result type of each function of the table, where no Spark is available to name it (see `rewriter.rules`).

The rules are the rules of Spark's analyzer. `tests/expressions` compares them with Spark on random expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.expressions.coercion import common_type, decimal_type, digits_of, string_among_others, tightest_type
from sqlext.expressions.function import (
    BINARY_AS_STRING,
    FEWER_FRACTIONAL_DIGITS,
    FEWEST_DIGITS,
    PADDED_IS_STRING,
    ExecutionSettings,
    Types,
)
from sqlext.expressions.function_table import FUNCTIONS, not_in_table
from sqlext.expressions.spark_types import (
    FLOATS,
    INTEGER_BITS,
    TIME_TYPES,
    TIMESTAMPS,
    ArrayOf,
    MapOf,
    StructOf,
    decimal_of,
    is_day_time,
    is_interval,
    is_numeric,
    is_year_month,
    nested,
)

_DAY_TIME, _YEAR_MONTH = "interval day to second", "interval year to month"
_PARTS_OF_INTERVALS = frozenset(
    {"month", "mon", "mons", "months", "hour", "h", "hours", "hr", "hrs", "minute", "m", "min", "mins", "minutes"}
)
_ROUNDED = {"float": (14, 7), "void": (20, 0)}  # the decimals in which floor and ceil with places round other types
Constants = Mapping[int, Any]


def result_type(name: str, types: Types, settings: ExecutionSettings, constants: Constants | None = None) -> str:
    """The type that Spark gives to the call of a function with arguments of these types.

    `constants`: the values of arguments, by position, that are literals; digits of decimals depend on them. The second
    argument of `.` is the name of the field. Raises UnsupportedError: FUNCTION_OVER_SEVERAL_ROWS.

    >>> ansi = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> result_type("*", ("decimal(10,2)", "int"), ansi, {1: 3}), result_type("-", ("timestamp", "timestamp"), ansi)
    ('decimal(12,2)', 'interval day to second')
    """
    if name not in FUNCTIONS:
        raise not_in_table(name)
    if name in _COMPUTED:
        result = _COMPUTED[name](types, settings, constants or {})
    else:
        result = _OF_TYPES[name](types) if name in _OF_TYPES else _FIXED.get(name)
    if result is None:
        raise UnsupportedError(
            "FUNCTION_OVER_SEVERAL_ROWS",
            f"{name} of {', '.join(types) or 'nothing'} cannot be computed here",
            hint="cast its arguments to the types that it takes.",
        )
    return result


def _common(types: Types, settings: ExecutionSettings) -> str | None:
    common = common_type(types, settings=settings, with_string=string_among_others)
    return "double" if common == "float" and _loses_digits(types, settings) else common


def _loses_digits(types: Types, settings: ExecutionSettings) -> bool:
    """True if one of the types is an integer under ANSI: then the common type with a float is double."""
    return settings.is_ansi and any(t in INTEGER_BITS for t in types)


# arithmetic


def _arithmetic(symbol: str) -> Callable[[Types, ExecutionSettings, Constants], str | None]:
    def of(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
        if len(types) != 2:
            return None
        left, right = (_number(t, other, settings) for t, other in zip(types, reversed(types)))
        if not (is_numeric(left) and is_numeric(right)):
            return _time_arithmetic(symbol, left, right)
        if (decimal_of(left) or decimal_of(right)) and left not in FLOATS and right not in FLOATS:
            given = constants if FEWEST_DIGITS in settings.is_on else {}
            digits = (_digits(t, given.get(i), left, right) for i, t in enumerate((left, right)))
            return _decimal_result(symbol, *digits, is_adjusted=FEWER_FRACTIONAL_DIGITS in settings.is_on)
        is_double = symbol == "/" or ("float" in (left, right) and _loses_digits((left, right), settings))
        return "double" if is_double else tightest_type(left, right)

    return of


def _number(spark_type: str, other: str, settings: ExecutionSettings) -> str:
    """The type of an operand of arithmetic, which reads a string or an untyped NULL as a number."""
    if spark_type == "void":
        return other if other != "void" else "double"
    if spark_type != "string" or not (is_numeric(other) or other in ("string", "void")):
        return spark_type
    return "bigint" if settings.is_ansi and other in INTEGER_BITS else "double"


def _digits(spark_type: str, constant: Any, left: str, right: str) -> tuple[int, int]:
    """(precision, scale) of an operand of decimal arithmetic; a literal has no more digits than it shows."""
    if isinstance(constant, int) and spark_type in ("smallint", "int", "bigint"):  # not tinyint, in Spark
        return len(str(abs(constant))), 0
    return digits_of(spark_type) or (38, 18)


def _decimal_result(symbol: str, left: tuple[int, int], right: tuple[int, int], *, is_adjusted: bool) -> str:
    """The result type of decimal arithmetic. `is_adjusted`: it may have fewer fractional digits, to keep all others.

    Source: https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html, arithmetic operations on decimals.
    """
    limited = _adjusted if is_adjusted else decimal_type
    (p, s), (q, t) = left, right
    if symbol in ("+", "-"):
        scale = max(s, t)
        return limited(max(p - s, q - t) + scale + 1, scale)
    if symbol == "*":
        return limited(p + q + 1, s + t)
    if symbol == "/" and not is_adjusted:
        return _unadjusted_quotient(min(38, p - s + t), min(38, max(6, s + q + 1)))
    if symbol == "/":
        scale = max(6, s + q + 1)
        return _adjusted(p - s + t + scale, scale)
    return limited(min(p - s, q - t) + max(s, t), max(s, t))


def _unadjusted_quotient(whole: int, scale: int) -> str:
    """The type of a quotient with so many digits before and after the point, of which Spark drops as many on each side
    if they are more than 38."""
    beyond = whole + scale - 38
    if beyond > 0:
        scale -= beyond // 2 + 1
        whole = 38 - scale
    return decimal_type(whole + scale, scale)


def _adjusted(precision: int, scale: int) -> str:
    """Limit the precision to 38: keep the integer digits, and six fractional digits if there were as many."""
    if precision <= 38:
        return f"decimal({precision},{scale})"
    return f"decimal(38,{max(38 - (precision - scale), min(scale, 6))})"


def _time_arithmetic(symbol: str, left: str, right: str) -> str | None:
    if symbol in ("+", "-") and is_interval(left) and is_interval(right):
        return tightest_type(left, right)
    if symbol == "+" and is_interval(left):
        return _shifted(right, left)
    if symbol in ("+", "-") and is_interval(right):
        return _shifted(left, right)
    if symbol in ("+", "-") and left == "date" and right in ("int", "smallint", "tinyint"):
        return "date"
    if symbol == "+" and right == "date" and left in ("int", "smallint", "tinyint"):
        return "date"
    if symbol == "-" and left in TIME_TYPES and right in TIME_TYPES:
        return "interval day" if left == right == "date" else _DAY_TIME
    if symbol == "*" and is_interval(right) and is_numeric(left):
        left, right = right, left
    if symbol in ("*", "/") and is_interval(left) and is_numeric(right):
        return _DAY_TIME if is_day_time(left) else _YEAR_MONTH
    return None


def _shifted(time: str, interval: str) -> str | None:
    if time in TIMESTAMPS:
        return time
    if time != "date":
        return None
    return "date" if is_year_month(interval) or interval == "interval day" else "timestamp"


def _same(types: Types) -> str | None:
    if len(types) != 1:
        return None
    return "double" if types[0] in ("string", "void") else types[0] if _is_quantity(types[0]) else None


def _is_quantity(spark_type: str) -> bool:
    return is_numeric(spark_type) or is_interval(spark_type)


def _rounded(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    places = constants.get(1, 0) if len(types) == 2 else 0
    if not types or not isinstance(places, int):
        return None
    if digits := decimal_of(types[0]):
        return _rounded_decimal(digits, places)
    return _same(types[:1])


def _rounded_decimal(digits: tuple[int, int], places: int) -> str:
    whole = digits[0] - digits[1] + 1
    if places < 0:
        return decimal_type(max(whole, 1 - places), 0)
    scale = min(digits[1], places)
    return decimal_type(whole + scale, scale)


def _floored(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    if len(types) == 2:
        known = digits_of(types[0]) or (_ROUNDED.get(types[0], (30, 15)))
        return _rounded_decimal(known, constants.get(1, 0)) if isinstance(constants.get(1, 0), int) else None
    digits = decimal_of(types[0]) if types else None
    if digits:
        return types[0] if digits[1] == 0 else decimal_type(digits[0] - digits[1] + 1, 0)
    return "bigint"


def _bits(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    common = _common(types, settings)
    return common if common in INTEGER_BITS else None


# choices


def _choice(first: int) -> Callable[[Types, ExecutionSettings, Constants], str | None]:
    """The common type of the arguments from `first` on."""
    return lambda types, settings, constants: _common(types[first:], settings)


def _case(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    values = types[1::2] + (types[-1:] if len(types) % 2 else ())
    return _common(values, settings)


# strings and nested values


def _concat(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    if types and all(isinstance(nested(t), ArrayOf) or t == "void" for t in types):
        return _common(types, settings)
    is_binary = bool(types) and all(t == "binary" for t in types) and BINARY_AS_STRING not in settings.is_on
    return "binary" if is_binary else "string"


def _padded(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    is_binary = {*types[:1], *types[2:]} == {"binary"} and PADDED_IS_STRING not in settings.is_on
    return "binary" if is_binary else "string"


def _element(types: Types) -> str | None:
    parts = nested(types[0]) if types else None
    return parts.element if isinstance(parts, ArrayOf) else parts.value if isinstance(parts, MapOf) else None


def _array_element(types: Types) -> str | None:
    parts = nested(types[0]) if types else None
    return parts.element if isinstance(parts, ArrayOf) else None


def _keys(types: Types) -> str | None:
    parts = nested(types[0]) if types else None
    return f"array<{parts.key}>" if isinstance(parts, MapOf) else None


def _values(types: Types) -> str | None:
    parts = nested(types[0]) if types else None
    return f"array<{parts.value}>" if isinstance(parts, MapOf) else None


def _field(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    parts, name = nested(types[0]), str(constants.get(1, "")).lower()
    if isinstance(parts, MapOf):
        return parts.value
    if not isinstance(parts, StructOf):
        return None
    return next((t for n, t in zip(parts.names, parts.types) if n.lower() == name), None)


def _array(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    common = _common(types, settings)
    return None if common is None else f"array<{common}>"


def _named_struct(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    names = [constants.get(i) for i in range(0, len(types), 2)]
    if not all(isinstance(name, str) for name in names):
        return None
    return "struct<" + ",".join(f"{name}:{t}" for name, t in zip(names, types[1::2])) + ">"


def _map(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    key, value = _common(types[::2], settings), _common(types[1::2], settings)
    return None if key is None or value is None else f"map<{key},{value}>"


# dates and times


def _timestamp(types: Types) -> str:
    return "timestamp_ntz" if types[-1:] == ("timestamp_ntz",) else "timestamp"


def _part(types: Types, settings: ExecutionSettings, constants: Constants) -> str | None:
    field = str(constants.get(0, "")).lower()
    if is_interval(types[-1]) and field in _PARTS_OF_INTERVALS:
        return "tinyint"
    return "decimal(8,6)" if field in ("second", "s", "sec", "seconds", "secs") else "int"


def _fixed(result: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, result)


_FIXED: dict[str, str] = {
    **_fixed(
        "boolean", "=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "equal_null",
        "BETWEEN", "IN", "IS NULL", "IS NOT NULL", "isnan", "AND", "OR", "NOT", "startswith", "endswith", "contains",
        "LIKE", "like", "ILIKE", "ilike", "RLIKE", "rlike", "regexp", "regexp_like", "array_contains",
        "map_contains_key", "boolean",
    ),
    **_fixed("tinyint", "tinyint"),
    **_fixed("smallint", "smallint"),
    **_fixed(
        "int", "int", "length", "len", "char_length", "character_length", "octet_length", "bit_length", "instr",
        "locate", "position", "ascii", "regexp_count", "regexp_instr", "unix_date", "year", "quarter", "month", "day",
        "dayofmonth", "dayofweek", "weekday", "dayofyear", "weekofyear", "hour", "minute", "second", "size",
        "cardinality", "array_size",
    ),
    **_fixed(
        "bigint", "bigint", "div", "crc32", "timestampdiff", "unix_timestamp", "to_unix_timestamp", "unix_seconds",
        "unix_millis", "unix_micros", "array_position",
    ),
    **_fixed("float", "float"),
    **_fixed(
        "double", "double", "sqrt", "cbrt", "exp", "expm1", "ln", "log", "log10", "log2", "log1p", "pow", "power",
        "hypot", "sign", "signum", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
        "degrees", "radians", "pi", "e", "months_between",
    ),
    **_fixed("decimal(10,0)", "decimal"),
    **_fixed(
        "string", "string", "lower", "lcase", "upper", "ucase", "initcap", "trim", "ltrim", "rtrim", "btrim", "right",
        "concat_ws", "split_part", "replace", "translate", "repeat", "space", "substring_index", "chr", "char", "md5",
        "sha", "sha1", "sha2", "regexp_extract", "regexp_replace", "regexp_substr", "date_format", "from_unixtime",
        "array_join", "get_json_object",
    ),
    **_fixed("binary", "binary"),
    **_fixed(
        "date", "date", "date_sub", "add_months", "last_day", "make_date", "to_date", "try_to_date",
        "date_from_unix_date", "trunc",
    ),
    **_fixed(
        "timestamp", "timestamp", "timestamp_seconds", "timestamp_millis", "timestamp_micros", "date_trunc",
    ),
    **_fixed("array<string>", "regexp_extract_all"),
}  # fmt: skip

_SYMBOLS = {"mod": "%", "pmod": "%", "try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/"}
_COMPUTED: dict[str, Callable[[Types, ExecutionSettings, Constants], str | None]] = {
    **{symbol: _arithmetic(symbol) for symbol in ("+", "-", "*", "/", "%")},
    **{name: _arithmetic(symbol) for name, symbol in {**_SYMBOLS, "try_mod": "%"}.items()},
    **dict.fromkeys(("round", "bround"), _rounded),
    **dict.fromkeys(("floor", "ceil", "ceiling"), _floored),
    **dict.fromkeys(("&", "|", "^", "~"), _bits),
    **dict.fromkeys(("coalesce", "nvl", "ifnull", "least", "greatest"), _choice(0)),
    **dict.fromkeys(("if", "nvl2"), _choice(1)),
    "CASE": _case,
    **dict.fromkeys(("concat", "||"), _concat),
    ".": _field,
    "array": _array,
    "named_struct": _named_struct,
    "map": _map,
    **dict.fromkeys(("lpad", "rpad"), _padded),
    **dict.fromkeys(("to_timestamp", "try_to_timestamp"), lambda _types, settings, _constants: settings.timestamp_type),
    **dict.fromkeys(("extract", "date_part", "datepart"), _part),
}
_OF_TYPES: dict[str, Callable[[Types], str | None]] = {
    **dict.fromkeys(("negate", "positive", "abs"), _same),
    **dict.fromkeys(
        ("<<", ">>", ">>>", "shiftleft", "shiftright", "shiftrightunsigned"),
        lambda types: "bigint" if types[:1] == ("bigint",) else "int",
    ),
    "nullif": lambda types: types[0] if types else None,
    "nanvl": lambda types: "float" if types == ("float", "float") else "double",
    **dict.fromkeys(("substr", "substring", "left"), lambda types: "binary" if types[:1] == ("binary",) else "string"),
    "reverse": lambda types: types[0] if types and nested(types[0]) else "string",
    **dict.fromkeys(("[]", "element_at", "try_element_at"), _element),
    **dict.fromkeys(("get", "array_max", "array_min"), _array_element),
    **dict.fromkeys(
        ("array_distinct", "sort_array", "slice"), lambda types: types[0] if _array_element(types) is not None else None
    ),
    "map_keys": _keys,
    "map_values": _values,
    **dict.fromkeys(("date_add", "dateadd"), lambda types: "date" if len(types) == 2 else _timestamp(types)),
    "timestampadd": _timestamp,
    **dict.fromkeys(("datediff", "date_diff"), lambda types: "int" if len(types) == 2 else "bigint"),
}
