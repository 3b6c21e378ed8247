"""Facts about the state of a key, each with a time and a text, which a statement shows as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

# The kinds of facts.
KEY, LATE, WATERMARK, RANGE, ROW, POSITION, PARTIAL, WINDOW, RULE, NO_MATCH, NOT_YET = (
    "key", "late", "watermark", "range", "row", "search position", "partial match", "window", "rule",
    "no match", "not yet",
)  # fmt: skip
MAX_ROWS = 100  # rows, and windows, that are described
ShowTime = Callable[[int], str]  # a time in int64 microseconds, as users read it
RowTexts = Callable[[pa.Table], Sequence[str]]  # the rows of a table, as users read them: as JSON


class Fact(NamedTuple):
    """`kind`: one of the kinds above; `time`: in int64 microseconds, None if it has none; `text`: a sentence."""

    kind: str
    time: int | None
    text: str


def further_rows(number: int) -> Iterator[Fact]:
    """The fact that more of this number of rows are kept than are described, if so.

    >>> [fact.text for number in (MAX_ROWS, MAX_ROWS + 3) for fact in further_rows(number)]
    ['3 further rows are kept']
    """
    if number > MAX_ROWS:
        yield Fact(ROW, None, f"{number - MAX_ROWS:,} further rows are kept")


def not_yet(time: int, watermark: int, row: str, show: ShowTime) -> Fact:
    """The fact that a result row, which is JSON, comes when the watermark reaches a time.

    >>> not_yet(9, 5, '{"k":1}', str).text
    'the watermark is 5 and needs 9: if no further row of the key comes, the result then has {"k":1}'
    >>> not_yet(9, 0, '{"k":1}', str).text.partition(":")[0]
    'there is no watermark yet, and it needs 9'
    """
    is_begun = watermark != 0  # where Spark's watermark begins
    needs = f"the watermark is {show(watermark)} and" if is_begun else "there is no watermark yet, and it"
    needs += f" needs {show(time)}"
    return Fact(NOT_YET, time, f"{needs}: if no further row of the key comes, the result then has {row}")


def seconds(micros: int) -> str:
    """A duration in seconds.

    >>> seconds(3_000_000), seconds(1_500_000), seconds(90_061_000_001)
    ('3 s', '1.5 s', '90061.000001 s')
    """
    whole, rest = divmod(micros, 1_000_000)
    return f"{whole}{f'.{rest:06}'.rstrip('0') if rest else ''} s"
