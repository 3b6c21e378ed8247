"""The types of what a matcher runs (Task, and Frame of a window), reads (Rows) and returns (Spans).

All parts of the project meet in these types: the rewriter lowers a clause to a MatchTask or a CepTask (`cep.cep_task`),
a matcher matches Rows against it, and `navigation` turns the Spans into values. A task is pickled to the workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union

import numpy as np

from sqlext.aggregates.aggregator import Aggregator
from sqlext.aggregates.bind import BoundAggregate
from sqlext.errors import DataError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Scalar
from sqlext.pattern.program.program import Program
from sqlext.pattern.task.skip_mode import SKIP_PAST_LAST_ROW, SkipMode

# as Navigation.argument: the rank of the variable's name among all strings; the match number; the name itself
CLASSIFIER, MATCH_NUMBER, CLASSIFIER_NAME = -1, -2, -3
MAPPED = -4  # as Aggregate.argument: the values belong to the mapped rows of a block
CLASSIFIERS = (CLASSIFIER, CLASSIFIER_NAME)


@dataclass(frozen=True)
class Skip:
    """AFTER MATCH SKIP. `labels`: the labels of the row that SKIP TO FIRST or LAST goes to (several for a SUBSET)."""

    mode: SkipMode = SKIP_PAST_LAST_ROW
    labels: tuple[int, ...] = ()
    else_next_row: bool = False


@dataclass(frozen=True, kw_only=True)
class Navigation:
    """A reference to one row of (or around) a match.

    From the mapped rows with a label in `labels` (None: all mapped rows) take the `offset`-th from the front
    (`from_first`) or from the back, then move `step` physical rows (PREV < 0 < NEXT). The value is NULL if there is no
    such row, or if it is outside the partition. `argument` is the index of a column, CLASSIFIER or CLASSIFIER_NAME
    (NULL on rows that are not mapped), or MATCH_NUMBER, for which the other fields have no meaning. `is_final` matters
    only where a measure is shown for every row.

    For interpreted conditions: `by_label` has the column to read for each label, and at its end the one for rows that
    are not mapped; or `expression` is evaluated on the row that is reached, as if it were the current one, and its
    navigations read only this row.
    """

    argument: int
    labels: tuple[int, ...] | None = None
    from_first: bool = False
    offset: int = 0
    step: int = 0
    is_final: bool = False
    by_label: tuple[int, ...] = ()
    expression: Scalar | None = None


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """`function` (lower case Spark name) over the mapped rows with a label in `labels` (None: all).

    `argument` is the index of a column, CLASSIFIER, MAPPED, or None for COUNT(*) and COUNT(A.*). `digits`, `is_ansi`:
    as in MachineCall, for a sum of decimals.
    """

    function: str
    argument: int | None = None
    labels: tuple[int, ...] | None = None
    is_distinct: bool = False
    is_final: bool = False
    digits: int = 0
    is_ansi: bool = True


@dataclass(frozen=True, kw_only=True)
class InterpretedAggregate:
    """An aggregate of `expressions.aggregates` over the mapped rows with a label in `labels` (None: all).

    `arguments`, of the types `call.column_types`, are evaluated on each of these rows, as Navigation.expression is.
    Only rows for which `filter` is true count.
    """

    call: BoundAggregate
    arguments: tuple[Scalar, ...]
    settings: ExecutionSettings
    labels: tuple[int, ...] | None = None
    filter: Scalar | None = None

    @cached_property
    def aggregator(self) -> Aggregator:
        return self.call.aggregator(self.settings)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "aggregator"}


LiteralValue = Union[bool, int, float, None]


@dataclass(frozen=True)
class Literal:
    """`value` None is NULL. `kind`: "bool", "int" (64 bits) or "float" (64 bits)."""

    value: LiteralValue
    kind: str


@dataclass(frozen=True)
class Operand:
    """The value of a navigation or an aggregate, for the path so far with the current row mapped to the tested label.
    `kind`: as in Literal.

    `missing` is the value where a navigation finds no row (None: NULL). It serves `f(LAST(A.v))` with a Spark function
    f: the column holds f(v), and `missing` holds f(NULL).
    """

    source: Navigation | Aggregate
    kind: str
    missing: LiteralValue = None


@dataclass(frozen=True, kw_only=True)
class MachineCall:
    """A function of values with Spark's NULL semantics; the functions are listed in MACHINE_CALLS.

    `kind` is that of the result. `bits` (8, 16, 32, 64) bounds integer arithmetic. With `is_ansi`, overflow and
    division by zero are errors; otherwise overflow wraps around and division by zero is NULL.

    `digits` (0: not a decimal): the digits of a decimal, whose unscaled value is the integer. A value with more of them
    is an error with `is_ansi`, otherwise NULL. Compiled code stops where 64 bits do not hold a value, and Python goes
    on from there.
    """

    function: str
    arguments: tuple[Condition, ...]
    kind: str
    bits: int = 64
    is_ansi: bool = True
    digits: int = 0


# A Literal, an Operand and a MachineCall are machine code. A Scalar is interpreted, and reads navigations and
# aggregates by Read; an interpreted part of a condition may be an argument of "and", but has no machine code below it.
Condition = Union[Literal, Operand, MachineCall, Scalar]

# The number of arguments of each function. All arguments are of one kind, except for the functions if and float.
MACHINE_CALLS = {
    "add": 2, "subtract": 2, "multiply": 2, "divide": 2, "remainder": 2, "negate": 1, "abs": 1,
    "less": 2, "less_equal": 2, "equal": 2, "not_equal": 2, "null_safe_equal": 2,
    "and": 2, "or": 2, "not": 1, "is_null": 1,
    "if": 3,        # condition, then, else
    "coalesce": 2, "least": 2, "greatest": 2,  # least and greatest skip NULLs, NaN is the largest
    "float": 1,     # int → float
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Output:
    """What the result shows: ONE ROW or ALL ROWS PER MATCH, empty matches, rows in no match, partial matches.

    `is_window`: one row for each row of the input, with the match that the search from this row found.
    """

    is_window: bool = False
    is_all_rows: bool = False
    shows_empty: bool = True
    shows_unmatched: bool = False
    shows_timeouts: bool = False

    @property
    def has_unmatched(self) -> bool:
        """True if a row of the result can belong to no match."""
        return self.shows_unmatched or self.is_window


@dataclass(frozen=True, kw_only=True)
class Frame:
    """How the rows of a window are matched (R020). A frame is the current row and rows after it, below Rows.limit.

    INITIAL: a match begins at the current row. SEEK (`seeks`): at the first row of the frame where one can begin; then
    Rows.limit is present and belongs to the current row, not to the first row of the match. `is_seen`: a condition may
    reach beyond the frame by PREV or NEXT, where it must read NULL.

    Source: Trino, PatternRecognitionPartition.
    """

    seeks: bool = False
    is_seen: bool = False


@dataclass(frozen=True, kw_only=True)
class Task:
    """The fields that every matcher needs.

    Row i satisfies label l if bit `bits[l]` of its mask is set (`bits[l]` None: no row-local condition) and
    `conditions[l]` (None: no run-dependent condition) is true for the path. `is_within`: Rows.limit is present.
    `frame`: the frame if the matches are of a window. `strategy` names the strategy that runs the task; "auto"
    lets `pattern.strategy` choose.
    """

    program: Program
    bits: tuple[int | None, ...]
    conditions: tuple[Condition | None, ...]
    skip: Skip = Skip()
    output: Output = Output()
    is_within: bool = False
    frame: Frame | None = None
    strategy: str = "auto"


@dataclass(frozen=True, kw_only=True)
class MatchTask(Task):
    """A task whose matches are contiguous: `program` finds them."""


@dataclass(frozen=True)
class Values:
    """A column of int64, float64 or bool `values[n]`; row i is NULL where `not valid[i]` (None: no NULLs).

    Columns that only interpreted conditions read, and decimals that 64 bits do not hold, have Python values (dtype
    object).
    """

    values: np.ndarray
    valid: np.ndarray | None = None

    @property
    def is_valid(self) -> np.ndarray:
        """`bool[n]`: which values are not NULL."""
        return np.ones(len(self.values), np.bool_) if self.valid is None else self.valid

    def take(self, at: np.ndarray | slice) -> Values:
        """The values of some rows, by a mask, by indexes or by a slice."""
        return Values(self.values[at], None if self.valid is None else self.valid[at])


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Whole partitions, concatenated, each in ORDER BY order.

    - `bounds: int64[p + 1]`: partition k is rows `bounds[k]` to `bounds[k + 1]` (exclusive); none is empty.
    - `mask: uint8[n, b]`: bit v of the task is bit v % 8 of byte v // 8 (b ≥ 1, C-contiguous).
    - `limit: int64[n]` or None: a match that starts at row i uses rows below `limit[i]` only; `limit[i] == i` allows
      only the empty match.
    - `columns`: by Navigation.argument; read by conditions only.
    - `classifiers: int64[labels]` or None: the value of CLASSIFIER for each label, as an operand of conditions.
    - `key, end: int64[n]` or None: the first ORDER BY key, and the end of the WITHIN bound that begins at the row, both
      in the order of their values. They serve only to number the matches of NO SKIP.
    - `errors`: where `conditions` notes, by row, conditions that cannot be computed and therefore do not hold; None:
      such a condition raises DataError. Only matchers that evaluate conditions one by one read it.
    - `failed: bool[n]`, by Navigation.argument: the rows on which a column could not be computed, None if there are
      none. An aggregate over such a row cannot be computed; the same matchers read it.
    """

    bounds: np.ndarray
    mask: np.ndarray
    limit: np.ndarray | None = None
    columns: tuple[Values, ...] = ()
    classifiers: np.ndarray | None = None
    key: np.ndarray | None = None
    end: np.ndarray | None = None
    errors: dict[int, DataError] | None = None
    failed: tuple[np.ndarray | None, ...] = ()

    @property
    def has_failed(self) -> bool:
        return any(rows is not None for rows in self.failed)


@dataclass(frozen=True)
class SkipFailure:
    """AFTER MATCH SKIP has no resume row after match `number`, which starts at row `start`; `reason`: see `skip`."""

    reason: str
    start: int
    number: int


@dataclass(frozen=True)
class Tails:
    """The tails that matches of a block share with earlier matches, so that no label is listed twice.

    After its own rows, match i maps the rows that match `match[i] < i` maps from mapped row `at[i]` of the block on:
    own rows of that match, then its tail. `match[i]` is -1 if match i has no tail. `length[i]`: how many rows match i
    maps.
    """

    match: np.ndarray  # int64[m]
    at: np.ndarray  # int64[m]
    length: np.ndarray  # int64[m]


@dataclass(frozen=True, kw_only=True)
class Spans:
    """A block of matches, in order of partitions and match numbers.

    Match i starts at row `start[i]`, is `number[i]` (from 1 in each partition) and maps the
    `offset[i + 1] - offset[i]` rows from there on (none: an empty match); mapped row j of the block,
    `offset[i] <= j < offset[i + 1]`, is row `start[i] + j - offset[i]`, has label `label[j]` and is hidden by an
    exclusion where `is_hidden[j]` (None: nothing is hidden). `unmatched` are the rows for WITH UNMATCHED ROWS that
    became certain within this block. `failure`: the run-time error after the last match of the block.

    `tails` (only for ONE ROW PER MATCH): long matches that overlap share labels. Then `offset` counts only the own rows
    of match i, after which it has a tail.

    `time: int64[m]`, `unmatched_time: int64[u]` (only for MATCH_ROWTIME()): when each of them was decided, see
    `event_time`.

    `row: int64[k]` (None: as above): the row of mapped row j, where the rows of a match need not be neighbours.
    `timed_out: bool[m]` (None: nowhere): whether it is a partial match of SHOW TIMEOUT MATCHES, which has no number.
    `current: int64[m]` (None: as `start`): the row of the window that has the match.
    """

    start: np.ndarray  # int64[m]
    number: np.ndarray  # int64[m]
    offset: np.ndarray  # int64[m + 1]
    label: np.ndarray  # int16[k]
    is_hidden: np.ndarray | None  # bool[k]
    unmatched: np.ndarray  # int64[u]
    failure: SkipFailure | None = None
    tails: Tails | None = None
    time: np.ndarray | None = None
    unmatched_time: np.ndarray | None = None
    row: np.ndarray | None = None
    timed_out: np.ndarray | None = None
    current: np.ndarray | None = None

    @property
    def length(self) -> np.ndarray:
        """`int64[m]`: how many rows each match maps.

        >>> nothing = np.zeros(0, np.int64)
        >>> tails = Tails(match=np.array([-1, 0]), at=np.array([-1, 1]), length=np.array([3, 2]))
        >>> Spans(start=np.array([0, 1]), number=np.array([1, 2]), offset=np.array([0, 3, 3]), label=np.zeros(3,
        ...     "i2"), is_hidden=None, unmatched=nothing).length
        array([3, 0])
        >>> Spans(start=np.array([0, 1]), number=np.array([1, 2]), offset=np.array([0, 3, 3]), label=np.zeros(3,
        ...     "i2"), is_hidden=None, unmatched=nothing,
        ...       tails=tails).length
        array([3, 2])
        """
        return np.diff(self.offset) if self.tails is None else self.tails.length

    @property
    def mapped(self) -> np.ndarray:
        """`int64[k]`: the row of each mapped row of the block.

        >>> Spans(start=np.array([1, 5]), number=np.array([1, 2]), offset=np.array([0, 2, 3]), label=np.zeros(3, "i2"),
        ...     is_hidden=None, unmatched=np.zeros(0, np.int64)).mapped
        array([1, 2, 5])
        """
        if self.row is not None:
            return self.row
        return np.repeat(self.start - self.offset[:-1], np.diff(self.offset)) + np.arange(len(self.label))

    @property
    def end(self) -> np.ndarray:
        """`int64[m]`: the row after the last one of each match; for an empty match its start.

        >>> rows, nothing = np.array([2, 7]), np.zeros(0, np.int64)
        >>> numbers, offset = np.array([1, 2]), np.array([0, 2, 2])
        >>> Spans(start=np.array([2, 5]), number=numbers, offset=offset, label=np.zeros(2, "i2"), is_hidden=None,
        ...     unmatched=nothing, row=rows).end
        array([8, 5])
        """
        if self.row is None:
            return self.start + self.length
        last = np.append(self.row, 0)[np.maximum(self.offset[1:] - 1, 0)]
        return np.where(np.diff(self.offset) > 0, last + 1, self.start)
