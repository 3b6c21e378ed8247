"""Reports of EXPLAIN MATCH ANALYZE: what they have in common, and how they show counts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlext.rewriter.text.splice import Text, join

MARK = "   <-- zero from here on"
LONGEST = 60  # characters of a value
_ESCAPES = str.maketrans({"\n": r"\n", "\r": r"\r", "\t": r"\t"})


class PartReport(Protocol):
    """The report about a part of a query, in a `line` of its text. `results`: its matches, pairs or firings."""

    @property
    def line(self) -> int: ...

    @property
    def results(self) -> int: ...

    def text(self) -> str: ...

    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """How often a condition was TRUE, FALSE and NULL."""

    written: str
    true: int
    false: int
    null: int

    def text(self, of: str) -> str:
        """
        >>> Verdicts(written="l.ok", true=1, false=2, null=0).text("left row")
        'l.ok: TRUE 1, FALSE 2, NULL 0 of 3 left rows'
        >>> Verdicts(written="v > 1", true=0, false=0, null=1).text("pair")
        'v > 1: TRUE 0, FALSE 0, NULL 1 of 1 pair'
        """
        total = count(self.true + self.false + self.null, of)
        return f"{self.written}: TRUE {self.true:,}, FALSE {self.false:,}, NULL {self.null:,} of {total}"

    @property
    def not_true(self) -> str:
        """
        >>> Verdicts(written="v > 1", true=0, false=1200, null=1).not_true
        'v > 1 is FALSE on 1,200 and NULL on 1'
        """
        return f"{self.written} is FALSE on {self.false:,} and NULL on {self.null:,}"


def all_true(conditions: Sequence[Text]) -> Text:
    """SQL for whether all conditions hold.

    >>> print(all_true([join("a"), join("b OR c")]), all_true([]))
    (a) AND (b OR c) TRUE
    """
    return join(*(join("(", text, ")") for text in conditions), separator=" AND ") if conditions else join("TRUE")


def verdict_columns(conditions: Iterable[Text]) -> Iterator[Text]:
    """Columns that count where each condition is TRUE, FALSE and NULL, as `verdicts` reads them."""
    for i, condition in enumerate(conditions):
        yield join("count_if(", condition, f") AS t{i}")
        yield join("count_if(NOT (", condition, f")) AS f{i}")
        yield join("count_if((", condition, f") IS NULL) AS n{i}")


def verdicts(written: Iterable[str], row: Mapping[str, Any]) -> tuple[Verdicts, ...]:
    """The counts of conditions in a row with the columns of `verdict_columns`."""
    return tuple(
        Verdicts(written=text, true=row[f"t{i}"], false=row[f"f{i}"], null=row[f"n{i}"])
        for i, text in enumerate(written)
    )


def report_text(start_here: Iterable[str], conditions: Iterable[str], work: Iterable[str]) -> str:
    """The text of a report: the lines of its sections, each after its heading. An empty section has none."""
    sections = {"Start here": [*start_here], "Conditions": [*conditions], "Work": [*work]}
    return "\n".join(line for heading, lines in sections.items() if lines for line in (f"== {heading} ==", *lines))


def one_line(value: str) -> str:
    """A value as reports show it, in one line.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return value.translate(_ESCAPES)


def short(value: str, longest: int = LONGEST) -> str:
    """A value in one line, of which no more is shown than a reader needs.

    >>> short("x" * 99, 3)
    'xxx…'
    """
    return one_line(value if len(value) <= longest else value[:longest] + "…")


def first_zero(lines: Sequence[tuple[str, int]]) -> int | None:
    """The index of the first line (text, number) of a funnel whose number is 0; None if there is none."""
    return next((i for i, (_, number) in enumerate(lines) if not number), None)


def count(number: int, one: str, several: str = "") -> str:
    """A number and its noun.

    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def table(rows: Sequence[tuple[str, int, str]]) -> Iterator[str]:
    """The lines of a table of (text, number, mark).

    >>> print("\\n".join(table([("rows read", 1200, ""), ("matches", 0, MARK)])))
    rows read  1,200
    matches        0   <-- zero from here on
    """
    shown = [(text, f"{number:,}", mark) for text, number, mark in rows]
    width, digits = max(len(text) for text, _, _ in shown), max(len(number) for _, number, _ in shown)
    for text, number, mark in shown:
        yield f"{text:<{width}}  {number:>{digits}}{mark}"
