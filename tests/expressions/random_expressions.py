"""Random well-typed expressions over a view of random rows, as SQL text and as calls of the table of functions."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.function_table import bind, evaluation, parameter_types
from sqlext.expressions.numbers import EXACT
from sqlext.expressions.spark_types import FLOATS, INTEGER_BITS, decimal_of, is_day_time, is_numeric, is_year_month
from sqlext.expressions.values import from_arrow, to_arrow

DAY = 86_400_000_000
NAN, INFINITY = float("nan"), float("inf")
# The values of the columns of the view `v`; each row has one of them at random.
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "b": ("boolean", [True, False, None]),
    "ti": ("tinyint", [0, 1, -1, 5, 127, -128, None]),
    "si": ("smallint", [0, 3, -7, 100, 32767, -32768, None]),
    "i": ("int", [0, 1, -1, 2, 7, -13, 365, 100_000, 2**31 - 1, -(2**31), None]),
    "j": ("int", [0, 1, 3, -2, 10, 1999, None]),
    "l": ("bigint", [0, 1, -5, 10**9, 10**12, 2**63 - 1, -(2**63), None]),
    "f": ("float", [0.0, -0.0, 1.5, -2.25, 0.10000000149011612, 1e10, NAN, INFINITY, None]),
    "d": ("double", [0.0, -0.0, 1.0, -1.5, 2.5, 0.1, 1234567.875, 1e-5, 1e19, 1e300, NAN, INFINITY, -INFINITY, None]),
    "x": ("double", [0.5, -0.5, 2.0, 3.25, -7.75, 100.0, 45.125, None]),
    "m": ("decimal(10,2)", ["0.00", "1.00", "-1.05", "2.50", "12345.67", "99999999.99", "-99999999.99", None]),
    "w": (
        "decimal(38,18)",
        ["0", "1", "-0.000000000000000001", "12345678901234567890.123456789012345678", "1.5", None],
    ),
    "k": ("decimal(38,0)", ["0", "3", "-7", "9" * 38, "123456789012345678901234567890", None]),
    "n": ("decimal(18,4)", ["0", "1.2345", "-99999999999999.9999", "10", None]),
    "s": (
        "string",
        ["", "a", "abc", "Hello World", " x y ", "a,b,,c", "é ß ǅ", "ABC", "foo.bar\nbaz", "100%", None],
    ),
    "t": ("string", ["b", "abc", "abcabc", "-a-b", "zz top", "a_b%c", "x1y22z333", "", None]),
    "dg": (
        "string",
        [
            "1",
            " 12 ",
            "-3.75",
            "+7",
            "1e3",
            "abc",
            "",
            "NaN",
            "-inf",
            "true",
            "128",
            "99999999999",
            ".5",
            "5.",
            "1d",
            "0x1",
            "1 2",
            "1e-7",
            "12345678901234567890123456789012345678.9",
            "no",
            None,
        ],
    ),
    "dt": (
        "string",
        [
            "2024-02-29",
            "2023-02-29",
            "1999-12-31 23:59:59.999999",
            "2024-03-31T02:30:00",
            "1582-10-10",
            "2024-1-5",
            "2024",
            "2024-06",
            "2024-07-01 12:00:00+02:00",
            "2024-01-01 00:00:00Z",
            "x",
            "2024-05-05 25:00:00",
            "2024-05-05 10:20",
            "2024-05-05 Europe/Berlin",
            " 2024-01-02 ",
            "",
            "2024-10-27 02:30:00.1234567",
            "0001-01-01",
            "99999-01-01",
            "-0044-03-15",
            None,
        ],
    ),
    "js": (
        "string",
        [
            '{"a": 1, "b": {"c": [1, 2.50, "x"]}}',
            '{"a": null}',
            "[1, 2]",
            "{'a': 'q\\'u'}",
            '{"a": "é\\n"}',
            '{"a": [{"b": 1}, {"b": "two"}, {"c": 3}]}',
            "{",
            "",
            '{"a": {"b": true}} junk',
            '"text"',
            None,
        ],
    ),
    "dy": ("date", [0, 11016, 19782, 19783, -719162, -141428, 2932896, 18993, None]),
    "ts": (
        "timestamp",
        [
            0,
            951782400000000,
            1711846800000000,
            1711846799999999,
            1729989000123456,
            1729992600000000,
            -1,
            -2208988800000000,
            4102444800000001,
            None,
        ],
    ),
    "tn": ("timestamp_ntz", [0, 951782400000000, 1711852200000000, 1729996200123456, -1, 253402300799999999, None]),
    "dd": ("interval day to second", [0, DAY, -DAY - 1, 90_061_000_001, 31 * DAY, 1, -3_600_000_000, None]),
    "ymm": ("int", [0, 1, -1, 12, 14, -25, None]),
    "bn": ("binary", [b"", b"abc", b"\x00\x7f", "é".encode(), None]),
    "ai": ("array<int>", [[], [1], [3, 1, 2, 3], [None, 0], [2**31 - 1, -1], None]),
    "ax": ("array<double>", [[], [NAN, 1.0, NAN, None], [0.0, -0.0], [2.5], None]),
    "az": ("array<string>", [[], ["b", "a", None, "b"], ["1", "2"], ["abc"], None]),
    "mp": ("map<string,int>", [{}, {"a": 1, "b": None}, {"x": 7, ",": 0}, None]),
    "st": ("struct<a:int,b:string>", [(1, "x"), (None, "y"), (2, None), (1, "a"), None]),
    "su": ("struct<a:int,b:string>", [(1, "x"), (3, "y"), (None, None), None]),
}
LITERALS: dict[str, list[str]] = {
    "small": ["0", "1", "2", "3", "-1", "-2", "5", "31", "-14"],
    "letters": ["' '", "'a'", "'b'", "'ab'", "','", "''", "'xyz'", "'.'"],
    "like": ["'a%'", "'%b%'", "'_b_'", "'%'", "''", "'a/_b/%%'", "'Hello%'", "'%\\\\%'", "'ABC'", "'%.%'"],
    "regex": ["'a'", "'^a.*c$'", "'[a-c]+'", "'(a)(b)?'", "'\\\\d+'", "'b*'", "'\\\\s'", "'(?i)ABC'", "'x|y'", "''",
              "'[^a-z]'", "'\\\\w+\\\\b'", "'.'", "'(\\\\d)\\\\1'", "'c$'", "'a{2}'"],
    "replacement": ["''", "'x'", "'<$0>'", "'\\\\$'", "'--'"],
    "unit": ["'YEAR'", "'quarter'", "'MON'", "'week'", "'DAY'", "'HOUR'", "'minute'", "'SECOND'", "'milliseconds'",
             "'MILLISECOND'", "'yy'", "'nonsense'"],
    "path": ["'$.a'", "'$.b.c'", "'$.b.c[1]'", "'$'", "'$.a[*].b'", "'$.b.c[*]'", "'$[0]'", "'$[*]'", "'a'", "'$.*'",
             "'$[''a'']'", "'$.a[0]'", "'$.a.b'"],
    "number": ["0", "1", "-3", "2.5", "1.05", "100", "0.001", "1e2", "2147483648L", "7Y", "cast(0.5 as float)", "NULL"],
    "string": ["'abc'", "'A'", "''", "NULL"],
    "date": ["DATE'2024-02-29'", "DATE'2023-01-31'"],
    "timestamp": ["TIMESTAMP'2024-03-31 01:30:00'", "TIMESTAMP'2024-10-27 00:30:00'"],
    "interval": ["INTERVAL '1' DAY", "INTERVAL '2' MONTH", "INTERVAL '36' HOUR", "INTERVAL '1-1' YEAR TO MONTH",
                 "INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL '-3' DAY"],
    "onlyday": ["INTERVAL '3' DAY", "INTERVAL '-400' DAY"],
}  # fmt: skip
# classes of arguments that only columns or literals have; all others are tests of the type
ONLY: dict[str, tuple[str, ...]] = {
    "digits": ("dg",), "datetext": ("dt",), "json": ("js",), "smallfloat": ("x",), "int": ("i", "j"),
    "day": ("dy",), "ints": ("ai",), "strings": ("az",), "map": ("mp",),
    **dict.fromkeys(("letters", "like", "regex", "replacement", "unit", "path", "small", "onlyday"), ()),
}  # fmt: skip
IS_OF_CLASS: dict[str, Callable[[str], bool]] = {
    "any": lambda t: "map<" not in t,
    "orderable": lambda t: "map<" not in t and t != "void",
    "number": is_numeric,
    "integer": INTEGER_BITS.__contains__,
    "float": FLOATS.__contains__,
    "decimal": lambda t: decimal_of(t) is not None,
    "time": lambda t: t in ("date", "timestamp", "timestamp_ntz"),
    "stamp": lambda t: t in ("timestamp", "timestamp_ntz"),
    "interval": lambda t: is_day_time(t) or is_year_month(t),
    "daytime": lambda t: t == "interval day to second",
    "yearmonth": lambda t: t == "interval year to month",
    "array": lambda t: t.startswith("array<"),
    "struct": lambda t: t.startswith("struct<"),
}


@dataclass(frozen=True, kw_only=True)
class Expression:
    """An expression as Spark reads it. `name` is "" for a column or a literal; `value` is that of a literal."""

    sql: str
    spark_type: str = ""
    name: str = ""
    arguments: tuple[Expression, ...] = ()
    is_constant: bool = False
    value: Any = None
    is_exact: bool = True

    def depth(self) -> int:
        return 1 + max((a.depth() for a in self.arguments), default=0) if self.name else 0


@dataclass(frozen=True)
class Template:
    name: str
    text: str
    classes: tuple[str, ...]
    is_exact: bool


def templates() -> list[Template]:
    """The lines of templates.txt."""
    result = []
    for line in (Path(__file__).parent / "templates.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, text, classes = (part.strip().replace("\0", "|") for part in line.replace("\\|", "\0").split("|"))
            result.append(
                Template(
                    name.removeprefix("?"), text, tuple(re.findall(r"'[^']*'|\S+", classes)), not name.startswith("?")
                )
            )
    return result


def random_rows(rng: random.Random, n: int) -> pa.Table:
    """`n` rows of COLUMNS and an `id`."""
    arrays = {"id": pa.array(range(n), pa.int32())}
    for name, (spark_type, values) in COLUMNS.items():
        if digits := decimal_of(spark_type):
            values = [None if v is None else EXACT.quantize(Decimal(v), Decimal((0, (1,), -digits[1]))) for v in values]
        arrays[name] = to_arrow([rng.choice(values) for _ in range(n)], spark_type)
    return pa.table(arrays)


def is_constant(word: str) -> bool:
    return word[0] in "'-" or word[0].isdigit() or word in ("NULL", "false", "true")


class Pool:
    """Expressions by which arguments are filled, the columns and literals first."""

    def __init__(self, rng: random.Random, columns: Sequence[Expression], literals: dict[str, list[Expression]]):
        self.rng, self.columns, self.literals = rng, {c.sql: c for c in columns}, literals
        self.calls: list[Expression] = []

    def argument(self, of_class: str, before: Sequence[Expression]) -> Expression | None:
        if of_class == "same":
            return self._of_type(lambda t: t == before[-1].spark_type) or before[-1]
        if of_class in ONLY:
            choices = [self.columns[name] for name in ONLY[of_class]] + self.literals.get(of_class, [])
            return self.rng.choice(choices)
        if of_class in self.literals and self.rng.random() < 0.2:
            return self.rng.choice(self.literals[of_class])
        return self._of_type(IS_OF_CLASS.get(of_class, lambda t: t == of_class))

    def _of_type(self, fits: Callable[[str], bool]) -> Expression | None:
        source = self.calls if self.calls and self.rng.random() < 0.4 else list(self.columns.values())
        choices = [e for e in source if fits(e.spark_type)] or [e for e in self.columns.values() if fits(e.spark_type)]
        return self.rng.choice(choices) if choices else None

    def call(self, template: Template, constants: dict[str, Expression]) -> Expression | None:
        """A call with random arguments, without its type."""
        arguments: list[Expression] = []
        for of_class in template.classes:
            argument = constants[of_class] if is_constant(of_class) else self.argument(of_class, arguments)
            if argument is None:
                return None
            arguments.append(argument)
        text = template.text
        for i, argument in enumerate(arguments, 1):
            text = text.replace(f"${i}", argument.sql)
        if template.name == ".":
            arguments[0] = self.columns["st"]
        return Expression(sql=text, name=template.name, arguments=tuple(arguments), is_exact=template.is_exact)


Compiled = Callable[[dict[str, Any]], Any]


def compiled(expression: Expression, settings: ExecutionSettings) -> Compiled:
    """The function of a row that the table gives."""
    if expression.is_constant:
        return lambda row: expression.value
    if not expression.name:
        return lambda row: row[expression.sql]
    types = tuple(a.spark_type for a in expression.arguments)
    wanted = parameter_types(expression.name, types, expression.spark_type, settings)
    arguments = [_cast(compiled(a, settings), a.spark_type, t, settings) for a, t in zip(expression.arguments, wanted)]
    constants = {i: a.value for i, a in enumerate(expression.arguments) if a.is_constant}
    function = evaluation(expression.name, wanted, expression.spark_type, settings, constants)
    return lambda row: function(*((lambda a=a: a(row)) for a in arguments))


def _cast(argument: Compiled, source: str, target: str, settings: ExecutionSettings) -> Compiled:
    if source == target:
        return argument
    to_target = bind("CAST", (source,), target, settings)
    return lambda row: to_target(argument(row))


def rows_of(table: pa.Table, types: dict[str, str]) -> list[dict[str, Any]]:
    """The Python values of the rows of an Arrow table."""
    columns = {name: from_arrow(table[name].combine_chunks(), t) for name, t in types.items()}
    return [dict(zip(columns, values)) for values in zip(*columns.values())]
