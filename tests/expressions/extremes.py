"""The ends of each type: values on which functions fail where nobody thought of them, for columns of random rows."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sqlext.expressions.numbers import EXACT
from sqlext.expressions.spark_types import decimal_of
from sqlext.expressions.values import to_arrow

from .random_expressions import COLUMNS, INFINITY, LITERALS, NAN

LONG = 2**63 - 1
SECOND, DAY = 10**6, 86_400 * 10**6
YEAR_1, YEAR_10000 = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND  # of UTC
TIMES = [LONG, -LONG - 1, YEAR_1, YEAR_1 - 1, YEAR_10000 - 1, YEAR_10000, LONG - DAY, -LONG + DAY, -(2**62)]
DIGITS = [
    "9" * 5_000, "-" + "9" * 5_000, "0" * 5_000 + "7", "0." + "3" * 5_000, "9" * 5_000 + ".5", "1e" + "9" * 25,
    "1e-" + "9" * 25, "0e" + "9" * 25, "1e2147483647", "1e-2147483648", "1e309", "-1e400", "1e-400", "9" * 38,
    "9" * 39, "0." + "0" * 37 + "1", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "1.0000001788139343261718749", "\x01 1.5\x1f",
    "3.4028236e38", "1.7976931348623159e308", "4.9e-324", "2e-324", "1" + "0" * 310, "+" * 3, "٣", "１２", "\ufeff1",
]  # fmt: skip
DATES = [
    "294247-01-10 04:00:54.775807", "294247-01-10 04:00:54.775808", "-290308-12-21 19:59:05.224192",
    "-290308-12-21 19:59:05.224191", "290000-01-01", "-290000-01-01", "999999-12-31", "5881580-07-11", "5881580-07-12",
    "-5877641-06-23", "-5877641-06-22", "9999-12-31 23:59:59.999999", "10000-01-01", "0000-01-01", "0001-01-01",
    "2024-01-01 00:00:00+18:00", "2024-01-01 00:00:00+18:01", "2024-01-01 00:00:00+99:99", "0001-01-01 00:00:00+18:00",
    "2024-01-01 00:00:00 " + "x" * 5_000, "2024-01-01 00:00:00." + "9" * 5_000, "2024-01-01 00:00:00 ../../etc",
    "2024-01-01 00:00:00 \0", "2024-01-01 00:00:00 America/New_York/x",
]  # fmt: skip
JSON = [
    '{"a": ' + "9" * 5_000 + "}", '{"a": -' + "9" * 5_000 + "}", '{"a": 0.' + "3" * 5_000 + "}",
    '{"a": 1e' + "9" * 25 + "}",
    '{"a": 1e400}', '{"a": 1e-400}', '{"a": -0}', '{"a": -0.0}', "[" * 498 + "]" * 498, "[" * 5_000,
    '{"a":' * 498 + "1" + "}" * 498, '{"a":' * 1_500 + "1" + "}" * 1_500, '{"a": "\\ud800"}', '{"a": "\\ud83d\\ude00"}',
    '{"a": "\\udc00\\ud800"}', '{"\\ud800": 1}', '{"a": ["\\ud800"]}', '"' + "x" * 5_000,
    '{"a": "' + "\\u0000" * 50 + '"}',
    '{"a": 1' + " " * 5_000 + "}", '{"a": tru}', '{"a": NaN}', '{"a": Infinity}', "\ufeff{}", '{"a": 00}', '{"a": ٣}',
]  # fmt: skip
TEXTS = [
    "x" * 10_000, "\0", "\u00df" * 100, "\ud7ff\ue000", "%" * 50,
    "\\", "a\\", "(" * 50, "[", "$1", "${x}", "yyyy-MM-dd", "G", "'", "1\n", " \t\u2003\u00a0x ",
]  # fmt: skip
EXTREMES: dict[str, list[Any]] = {
    "i": [2**31 - 1, -(2**31)],
    "j": [2**31 - 1, -(2**31), 2**31 - 2],
    "l": [LONG, -LONG - 1, LONG - 1, 2**53 + 1, 2**62, 2**60 + 2**36 + 1],
    "f": [-INFINITY, 1.1754943508222875e-38, 3.4028234663852886e38, -3.4028234663852886e38],
    "d": [4.9e-324, -4.9e-324, 1.7976931348623157e308, -1.7976931348623157e308, 9.223372036854775807e18,
          2.0**63, -(2.0**64)],
    "x": [1e308, -1e308, INFINITY, NAN, 710.0, -745.2],
    "m": ["99999999.99", "-99999999.99", "-0.01"],
    "w": ["9" * 20 + "." + "9" * 18, "-" + "9" * 20 + "." + "9" * 18, "0.000000000000000001"],
    "k": ["9" * 38, "-" + "9" * 38, "1" + "0" * 37],
    "n": ["99999999999999.9999", "-99999999999999.9999", "0.0001"],
    "s": TEXTS, "t": TEXTS, "dg": DIGITS, "dt": DATES, "js": JSON,
    "dy": [2**31 - 1, -(2**31), 2_932_897, -719_163, -(2**31) + 1, 106_751_991, 106_751_992, -106_751_992],
    "ts": TIMES, "tn": TIMES,
    "dd": [LONG, -LONG - 1, LONG - 1, -LONG],
    "ymm": [2**31 - 1, -(2**31), 2**31 - 2],
    "bn": [b"\0" * 1_000, bytes(range(128))],
    "ai": [[2**31 - 1, -(2**31), None], [0] * 10_000, [None] * 100],
    "ax": [[INFINITY, -INFINITY, NAN, -0.0, 1.7976931348623157e308], [NAN] * 1_000],
    "az": [["x" * 1_000] * 20, [None] * 50, ["\0", "\U0010ffff", ""]],
    "mp": [{str(i): i for i in range(1_000)}, {"": -(2**31), "\0": 2**31 - 1}],
    "st": [(2**31 - 1, "x" * 5_000), (-(2**31), "\0")],
    "su": [(None, "\U0010ffff"), (2**31 - 1, "")],
}  # fmt: skip
EXTREME_LITERALS: dict[str, list[str]] = {
    "small": ["1000000000", "-2147483647", "38", "-38", "39", "400", "-400"],
    "letters": ["'\\0'", "'%_'"],
    "path": ["'$.a[99999999999999999999]'", "'$[*][*]'", "'$" + ".a" * 600 + "'", "'$" + "[0]" * 600 + "'",
             "'$.'", "'$[-1]'"],
    "unit": ["''", "'MICROSECOND'", "'millennium'"],
    "replacement": ["'$9'", "'\\\\'"],
    "number": ["9223372036854775807L", "-9223372036854775808L", "1e308D", "99999999999999999999999999999999999999",
               "cast('NaN' as double)"],
    "interval": ["INTERVAL '106751991' DAY", "INTERVAL '-106751991' DAY"],
    "onlyday": ["INTERVAL '106751991' DAY", "INTERVAL '-106751991' DAY"],
}  # fmt: skip
ALL_LITERALS = {name: [*group, *EXTREME_LITERALS.get(name, [])] for name, group in LITERALS.items()}


# Texts of no UTF-8, which nobody can read, times of the day of the query, and what Java's library tells of letters.
ONLY_OURS: dict[str, list[Any]] = {
    "s": ["\u01c5", "e\u0301" * 50, "\U0010ffff", "\u0130\ufb01"],
    "f": [1.401298464324817e-45],
    "bn": [b"\xff\xfe", b"\xed\xa0\x80", bytes(range(256))],
    "dt": ["12:00:00", "T12:00"],
}


def extreme_rows(rng: random.Random, n: int, more: Mapping[str, list[Any]] | None = None) -> pa.Table:
    """`n` rows of the columns of `random_expressions.COLUMNS` and an `id`; two of three values are extreme."""
    arrays = {"id": pa.array(range(n), pa.int32())}
    for name, (spark_type, usual) in COLUMNS.items():
        extreme = [*EXTREMES.get(name, usual), *(more or {}).get(name, [])]
        values = [rng.choice(extreme if rng.random() < 0.67 else usual) for _ in range(n)]
        if digits := decimal_of(spark_type):
            values = [None if v is None else EXACT.quantize(Decimal(v), Decimal((0, (1,), -digits[1]))) for v in values]
        arrays[name] = to_arrow(values, spark_type)
    return pa.table(arrays)
