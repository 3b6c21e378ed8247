"""What statements ask a planned part besides its DataFrame, and the answers: WHY, ANALYZE and FOR KEY."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.reports.counts import PartReport
from sqlext.engine.why.row_condition import RowCondition
from sqlext.errors import Place
from sqlext.rewriter.text.splice import Edit

if TYPE_CHECKING:  # loads the matchers, which most statements need not
    from sqlext.engine.why.near_misses import NearMiss
    from sqlext.operators.stateful.fact import Fact, ShowTime
    from sqlext.operators.stateful.key_state import Coming
    from sqlext.operators.stateful.operator import Operator, State
    from sqlext.pattern.why.row_search import Budget


@dataclass(frozen=True, kw_only=True)
class WhyQuestion:
    """EXPLAIN MATCH WHY about the rows that a condition chooses. `budget`: of all searches about them; `parameters`:
    the edits that bind the parameters of the statement."""

    condition: RowCondition
    budget: Budget
    parameters: tuple[Edit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A part of a query that WHY can explain: its kind, its first word, and what computes the explanation.

    `of`: the stored view that it is in, as its title names it; `note`: a sentence before the explanation.
    """

    kind: str
    place: Place
    answer: Callable[[], str]
    of: str = ""
    note: str = ""

    @property
    def title(self) -> str:
        return f"{self.kind} in line {self.place.line}{self.of}"


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """A part of a query of which EXPLAIN MATCH ANALYZE has a report: its kind, its first word, whether it is a stream.

    `run`: returns the report, which reads at most the given number of partitions, all of them for None; `of`: the
    stored view that the part is in, as its heading names it.
    """

    kind: str
    place: Place
    is_streaming: bool
    run: Callable[[int | None], PartReport]
    of: str = ""


@dataclass(frozen=True, kw_only=True)
class MissesQuestion:
    """The partitions whose near misses are wanted: the names of their `keys`, and the `values` of these as JSON.

    `columns`: of the input, to be returned of each row; `parameters`: the edits that bind the parameters of the
    statement.
    """

    keys: Sequence[str]
    values: Sequence[str]
    columns: Sequence[str]
    parameters: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class PartitionMisses:
    """The near misses of a partition, and the columns that were asked for, in the order of the partition, as `toPandas`
    gives them."""

    misses: Sequence[NearMiss]
    columns: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class ClauseInput:
    """The rows that arrive at a clause: the names and types of their `columns`, and the expressions of its `keys`."""

    columns: Sequence[tuple[str, str]]
    keys: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class KeptClause:
    """A clause on a stream, as FOR KEY describes it, and its operator, which finds the time of each decision.

    `kind`: the words by which its kind is named; `keys`: the names of the key columns, by their names in the state;
    `inputs`: the rows that arrive, a join has two kinds of them; `facts`: what is kept for one key; `results`: the rows
    of the clause's result as JSON, None for a row that HAVING leaves out.
    """

    kind: str
    clause: StreamClause
    operator: Operator
    keys: Mapping[str, str]
    inputs: Sequence[ClauseInput]
    facts: Callable[[State, ShowTime], Sequence[Fact]]
    results: Callable[[Sequence[Coming]], Sequence[str | None]]
