"""The parsed clause: the text that the user wrote, with places, before names are bound."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.pattern.program.ast import Pattern
from sqlext.pattern.task.skip_mode import SKIP_PAST_LAST_ROW, SkipMode
from sqlext.rewriter.text.fragments import Fragment, Name


@dataclass(frozen=True)
class PartitionKey:
    expression: Fragment
    name: Name | None = None


@dataclass(frozen=True)
class OrderKey:
    """A key of ORDER BY. `expression` does not include the direction."""

    expression: Fragment
    is_descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class Measure:
    expression: Fragment
    name: Name


@dataclass(frozen=True)
class Definition:
    variable: Name
    condition: Fragment


@dataclass(frozen=True)
class SubsetItem:
    name: Name
    members: tuple[Name, ...]


@dataclass(frozen=True)
class Within:
    bound: Fragment
    is_inclusive: bool = False
    between_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class AfterMatch:
    """AFTER MATCH. `target`: the variable of a mode that has one."""

    mode: SkipMode
    target: Name | None
    else_next_row: bool
    fragment: Fragment


@dataclass(frozen=True, kw_only=True)
class RowsPerMatch:
    """ROWS PER MATCH. `empty` is "SHOW", "OMIT" or "UNMATCHED"; `fragment` is None if the part was left out."""

    is_all_rows: bool = False
    empty: str = "SHOW"
    shows_timeouts: bool = False
    fragment: Fragment | None = None


@dataclass(frozen=True, kw_only=True)
class FrameClause:
    """`ROWS BETWEEN CURRENT ROW AND …` of a window with a row pattern, and INITIAL or SEEK (`seeks`).

    `rows` is the expression before FOLLOWING. It is None for CURRENT ROW, and for UNBOUNDED FOLLOWING (`is_unbounded`).
    """

    rows: Fragment | None = None
    is_unbounded: bool = False
    seeks: bool = False
    fragment: Fragment


@dataclass(frozen=True, kw_only=True)
class MatchClause:
    """`relation MATCH_RECOGNIZE ( … )`.

    `whole` extends from the relation's first character to the closing parenthesis, without an alias after it.
    `relation` is the input with its own alias and WATERMARK; `keyword` is the word MATCH_RECOGNIZE.
    `pattern_variables` are the names of PATTERN in the order of their first use, including the variables of absences
    and UNTIL.

    A window with a row pattern (`frame`) is also such a clause. Its `relation` is the whole text of the query between
    FROM and the WINDOW clause, and its `keyword` is the name of the window, or the OVER in front of it.
    """

    whole: Fragment
    relation: Fragment
    keyword: Fragment
    pattern: Pattern
    pattern_text: Fragment
    pattern_variables: tuple[Name, ...]
    partition_by: tuple[PartitionKey, ...] = ()
    order_by: tuple[OrderKey, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows_per_match: RowsPerMatch = RowsPerMatch()
    after_match: AfterMatch | None = None
    within: Within | None = None
    subsets: tuple[SubsetItem, ...] = ()
    definitions: tuple[Definition, ...] = ()
    frame: FrameClause | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """What the variables of PATTERN are compared by; label i of a program is the i-th of them."""
        return tuple(name.key for name in self.pattern_variables)

    @property
    def skip_mode(self) -> SkipMode:
        """The mode of AFTER MATCH, also if the clause has none."""
        return SKIP_PAST_LAST_ROW if self.after_match is None else self.after_match.mode

    @property
    def skip_text(self) -> str:
        """What follows AFTER MATCH, in one line; if the clause has no AFTER MATCH, the mode that then applies."""
        after = self.after_match
        return self.skip_mode.text if after is None else " ".join(after.fragment.text.split()[2:])

    @property
    def conditions(self) -> dict[str, str]:
        """The condition of each variable of DEFINE as written, in one line."""
        return {item.variable.key: item.condition.in_line for item in self.definitions}
