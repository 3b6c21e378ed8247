"""Spark's types by name: which are times, numbers or intervals, and how workers store their values.

Workers import this module too, so nothing here may import the tokenizer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
FLOATS = ("float", "double")
TIMESTAMPS = ("timestamp", "timestamp_ntz")
TIME_TYPES = ("date", *TIMESTAMPS)
TIMESTAMP_TYPE = "spark.sql.timestampType"  # the setting that decides which type the word TIMESTAMP names in SQL
# `timestamp` in our SQL, whatever that setting is, in a spelling that users hardly write: see `as_recorded`
LTZ = "timestamp_LTZ"
COLLATED = "string collate "  # begins the name of a string type whose values a collation compares
MAX_DIGITS = 18  # decimals of more digits do not fit an int64
_DAY_TIME = re.compile(r"interval (day|hour|minute|second)( to (hour|minute|second))?")
_YEAR_MONTH = re.compile(r"interval (year|month)( to month)?")
_TIMESTAMP = re.compile(r"\btimestamp\b(?!:)", re.IGNORECASE)
_WITHOUT_ORDER = ("variant", "interval", "geometry", "geography")
_TIMES = re.compile(rf"\b({'|'.join(TIME_TYPES)})\b(?!:)")


def kind_of(spark_type: str) -> str | None:
    """How workers store values of a Spark type: as "bool", "int", "float" or "rank" (the position among the sorted
    strings of a batch); None if they cannot.

    >>> [kind_of(t) for t in ("date", "decimal(10,2)", "decimal(20,2)", "string", "map<int,int>")]
    ['int', 'int', None, 'rank', None]
    """
    if spark_type in INTEGER_BITS or spark_type in TIME_TYPES:
        return "int"
    if match := decimal_of(spark_type):
        return "int" if match[0] <= MAX_DIGITS else None
    if is_day_time(spark_type):
        return "int"
    return {"boolean": "bool", "float": "float", "double": "float", "string": "rank", "binary": "rank"}.get(spark_type)


@cache
def decimal_of(spark_type: str) -> tuple[int, int] | None:
    """(precision, scale) of a decimal type."""
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", spark_type)
    return (int(match[1]), int(match[2])) if match else None


def has_plain_equality(spark_type: str) -> bool:
    """True if two values of this type are one key exactly if they are the same value."""
    plain = (*INTEGER_BITS, *TIME_TYPES, "boolean", "string", "binary")
    return spark_type in plain or spark_type.startswith("decimal(")


def in_sql(spark_type: str) -> str:
    """The name of a type, or names of columns with types, for SQL, where `spark.sql.timestampType` decides what
    TIMESTAMP means.

    >>> in_sql("array<timestamp>"), in_sql("struct<timestamp:timestamp_ntz>"), in_sql("time TIMESTAMP")
    ('array<timestamp_LTZ>', 'struct<timestamp:timestamp_ntz>', 'time timestamp_LTZ')
    """
    return renamed_timestamp(spark_type, LTZ)


def times_in(spark_type: str) -> frozenset[str]:
    """The times among the types of which a type is made; names of fields are no types.

    >>> sorted(times_in("struct<date:array<timestamp>,d:timestamp_ntz>"))
    ['timestamp', 'timestamp_ntz']
    """
    return frozenset(_TIMES.findall(spark_type))


def renamed_timestamp(spark_type: str, name: str) -> str:
    """The type with another name for each TIMESTAMP in it; names of fields stay.

    >>> renamed_timestamp("struct<timestamp:array<timestamp>>", "timestamp_ntz")
    'struct<timestamp:array<timestamp_ntz>>'
    """
    return _TIMESTAMP.sub(name, spark_type)


def as_recorded(text: str) -> str:
    """A text of a query as checkpoints record it: with the name TIMESTAMP, which earlier versions wrote in casts.

    >>> as_recorded("CAST(ts AS timestamp_LTZ) > CAST(x AS TIMESTAMP_LTZ)")
    'CAST(ts AS timestamp) > CAST(x AS TIMESTAMP_LTZ)'
    """
    return text.replace(LTZ, "timestamp")


@dataclass(frozen=True)
class ArrayOf:
    element: str


@dataclass(frozen=True)
class MapOf:
    key: str
    value: str


@dataclass(frozen=True)
class StructOf:
    names: tuple[str, ...]
    types: tuple[str, ...]


@cache
def nested(spark_type: str) -> ArrayOf | MapOf | StructOf | None:
    """The parts of an array, a map or a struct; None for other types.

    >>> nested("map<string,array<int>>")
    MapOf(key='string', value='array<int>')
    >>> nested("struct<a:decimal(10,2),b:struct<c:int>>")
    StructOf(names=('a', 'b'), types=('decimal(10,2)', 'struct<c:int>'))
    """
    head, bracket, rest = spark_type.partition("<")
    if not bracket or not rest.endswith(">"):
        return None
    parts = _split(rest[:-1])
    if head == "array":
        return ArrayOf(parts[0])
    if head == "map":
        return MapOf(*parts)
    fields = [part.partition(":") for part in parts]
    return StructOf(tuple(f[0] for f in fields), tuple(f[2] for f in fields)) if head == "struct" else None


def is_orderable(spark_type: str) -> bool:
    """True if Spark can sort values of this type.

    >>> is_orderable("array<struct<variant:int>>"), is_orderable("struct<a:variant>"), is_orderable("interval")
    (True, False, False)
    """
    parts = nested(spark_type)
    if parts is not None:
        return not isinstance(parts, MapOf) and all(map(is_orderable, types_in(parts)))
    return spark_type.partition("(")[0] not in _WITHOUT_ORDER


def types_in(parts: ArrayOf | MapOf | StructOf) -> tuple[str, ...]:
    """The types of the elements, of the keys and values, or of the fields."""
    if isinstance(parts, ArrayOf):
        return (parts.element,)
    return (parts.key, parts.value) if isinstance(parts, MapOf) else parts.types


def _split(text: str) -> list[str]:
    """The parts between the commas that are outside of all brackets."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]] if text else []


def with_distinct_fields(spark_type: str) -> str:
    """The type with other names for the fields of each struct that has two of the same name.

    >>> with_distinct_fields("array<struct<v:int,V:struct<a:int>>>")
    'array<struct<_1:int,_2:struct<a:int>>>'
    """
    parts = nested(spark_type)
    if isinstance(parts, ArrayOf):
        return f"array<{with_distinct_fields(parts.element)}>"
    if isinstance(parts, MapOf):
        return f"map<{with_distinct_fields(parts.key)},{with_distinct_fields(parts.value)}>"
    if isinstance(parts, StructOf):
        is_distinct = len({name.lower() for name in parts.names}) == len(parts.names)
        names = parts.names if is_distinct else [f"_{i}" for i in range(1, len(parts.names) + 1)]
        return f"struct<{','.join(f'{n}:{with_distinct_fields(t)}' for n, t in zip(names, parts.types))}>"
    return spark_type


def is_day_time(spark_type: str) -> bool:
    """True for a type of intervals that are a number of microseconds."""
    return _DAY_TIME.fullmatch(spark_type) is not None


def is_sent(spark_type: str) -> bool:
    """Whether Spark sends values of a type to Python workers: not intervals of months, also within other types.

    >>> is_sent("interval day to second"), is_sent("array<interval month>"), is_sent("struct<interval:int>")
    (True, False, True)
    """
    parts = nested(spark_type)
    if parts is not None:
        return all(map(is_sent, types_in(parts)))
    return spark_type != "interval" and not is_year_month(spark_type)


def is_year_month(spark_type: str) -> bool:
    """True for a type of intervals that are a number of months."""
    return _YEAR_MONTH.fullmatch(spark_type) is not None


def is_interval(spark_type: str) -> bool:
    return is_day_time(spark_type) or is_year_month(spark_type)


def is_numeric(spark_type: str) -> bool:
    return spark_type in INTEGER_BITS or spark_type in FLOATS or decimal_of(spark_type) is not None
