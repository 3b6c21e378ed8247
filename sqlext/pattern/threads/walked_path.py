"""The path of the search in Python, as conditions and the memo see it.

The values that operands read are kept while the path grows and shrinks, so no navigation walks along the path.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from sqlext.errors import DataError
from sqlext.expressions.scalar_tree import Read
from sqlext.pattern.conditions.condition_reads import source_reads_number, walk
from sqlext.pattern.conditions.conditions import RowOfPath, Value, aggregate_of, classifier, read, with_row
from sqlext.pattern.task.task import (
    CLASSIFIERS,
    MATCH_NUMBER,
    Aggregate,
    InterpretedAggregate,
    MatchTask,
    Navigation,
    Operand,
    Rows,
    Values,
)
from sqlext.pattern.threads import path_keys as keys
from sqlext.pattern.threads.path_keys import KeyPart, SeenParts

Reader = Callable[[], Any]


class WalkedPath:
    """A path that maps the rows from `start` on to `labels`, in match `number` of the partition.

    `stacks[s]`: the mapped rows with a label of set s. `accumulated[a]`: the values of aggregate a that are not NULL,
    or its states, the last of which covers all rows of the path.
    `seen[l]`: the parts of the path that the condition of label l can see. The path implements `conditions.Tested`.
    """

    def __init__(self, task: MatchTask, rows: Rows):
        self.rows, self.names = rows, task.program.labels
        self.seen_rows, self.start, self.number, self.limit = (0, 0), 0, 1, 0
        self.labels: list[int] = []
        self.aggregates: dict[Aggregate | InterpretedAggregate, int] = {}
        self.parts = SeenParts(self._seen_by_aggregate)
        self.seen = tuple(self._seen(label, condition) for label, condition in enumerate(task.conditions))
        self.cells = [_cells(column) for column in rows.columns]
        self.accumulated: list[list[Value]] = [[] for _ in self.aggregates]
        self.readers: dict[int, Reader] = {}
        for condition in task.conditions:
            for part in walk(condition) if condition is not None else ():
                if isinstance(part, (Operand, Read)):
                    self.readers[id(part)] = self._reader(part)
        self.stacks: list[list[int]] = [[] for _ in self.parts.sets]
        self.pushes = [[s for labels, s in self.parts.sets.items() if x in labels] for x in range(len(self.names))]
        self.feeds = [
            [(a, self._feed(source)) for source, a in self.aggregates.items() if _takes(source, x)]
            for x in range(len(self.names))
        ]
        self.fed: list[list[int]] = []  # for each mapped row, the aggregates to which it has added a value

    # the path

    def begin(self, start: int, number: int, seen: tuple[int, int], limit: int) -> None:
        """Forget all rows, for a search from another row. PREV and NEXT reach rows `seen[0]` to `seen[1]`."""
        self.seen_rows, self.start, self.number, self.limit = seen, start, number, limit
        self.labels.clear()
        self.fed.clear()
        for rows in (*self.stacks, *self.accumulated):
            rows.clear()

    def take(self, label: int) -> None:
        """Map the next row to a label."""
        row = self.start + len(self.labels)
        self.labels.append(label)
        for number in self.pushes[label]:
            self.stacks[number].append(row)
        fed = []
        for number, feed in self.feeds[label]:
            value = feed(row)
            if value is not None:
                self.accumulated[number].append(value)
                fed.append(number)
        self.fed.append(fed)

    def give_back(self) -> None:
        """Take the last row from the path."""
        for number in self.pushes[self.labels.pop()]:
            self.stacks[number].pop()
        for number in self.fed.pop():
            self.accumulated[number].pop()

    # what conditions read

    @property
    def tested(self) -> str:
        return self.names[self.labels[-1]]

    def operand(self, operand: Operand | Read) -> Value | None:
        return self.readers[id(operand)]()

    def _reader(self, operand: Operand | Read) -> Reader:
        source = operand.source
        if not isinstance(source, Navigation):
            values = self.accumulated[self.aggregates[source]]
            if isinstance(source, InterpretedAggregate):
                return lambda: _value(source, values)
            return lambda: aggregate_of(source, values, self)
        if source.argument == MATCH_NUMBER:
            return lambda: self.number
        base, read, step = self._base(source), self._read(source), source.step
        missing = operand.missing if isinstance(operand, Operand) else None

        def navigate() -> Value | None:
            at = base()
            if at < 0:
                return missing
            return read(at + step) if self.seen_rows[0] <= at + step < self.seen_rows[1] else missing

        return navigate

    def _base(self, source: Navigation) -> Callable[[], int]:
        """The mapped row that a navigation starts from, or -1."""
        offset = source.offset
        if source.labels is None and source.from_first:
            return lambda: self.start + offset if offset < len(self.labels) else -1
        if source.labels is None:
            return lambda: self.start + len(self.labels) - 1 - offset if offset < len(self.labels) else -1
        number, at = self.parts.set_number(source.labels), offset if source.from_first else -1 - offset

        def stacked() -> int:
            rows = self.stacks[number]
            return rows[at] if offset < len(rows) else -1

        return stacked

    def _read(self, source: Navigation) -> Callable[[int], Value | None]:
        if source.expression is not None or source.by_label:
            return lambda row: read(source, row, self)
        return self._read_column(source.argument)

    def _read_column(self, argument: int) -> Callable[[int], Value | None]:
        if argument in CLASSIFIERS:
            names = [classifier(argument, label, self.rows, self.names) for label in range(len(self.names))]

            def label_at(row: int) -> Value | None:
                return names[self.labels[row - self.start]] if 0 <= row - self.start < len(self.labels) else None

            return label_at
        return self.cells[argument].__getitem__

    def _feed(self, source: Aggregate | InterpretedAggregate) -> Callable[[int], Any]:
        """What a row adds to `accumulated`, or None if it adds nothing."""
        if isinstance(source, InterpretedAggregate):
            states = self.accumulated[self.aggregates[source]]
            return lambda row: _next_state(source, states, RowOfPath(self, row))
        return (lambda row: True) if source.argument is None else self._read_column(source.argument)

    def label_at(self, row: int) -> int | None:
        """As `conditions.LabelledRows`."""
        return self.labels[row - self.start] if 0 <= row - self.start < len(self.labels) else None

    # what the memo compares

    def key(self, position: int, parts: Sequence[KeyPart]) -> Hashable:
        """The memo's key for the state after the last row; `position`: where that row was taken."""
        return position, self.start + len(self.labels), *(self._part(*part) for part in parts)

    def _part(self, part: int, a: int, b: int, step: int) -> Hashable:
        length = len(self.labels)
        if part in (keys.KEY_LAST, keys.KEY_LAST_LABEL, keys.KEY_FIRST, keys.KEY_FIRST_LABEL):
            rows = self.stacks[a]
            at = -1 if b >= len(rows) else rows[-1 - b] if part in (keys.KEY_LAST, keys.KEY_LAST_LABEL) else rows[b]
            return at if at < 0 or part in (keys.KEY_LAST, keys.KEY_FIRST) else self._label_at(at + step)
        if part == keys.KEY_COUNT:
            return min(len(self.stacks[a]), b)
        if part == keys.KEY_DEPTH:
            return min(length, a)
        if part == keys.KEY_START:
            return self.start
        if part == keys.KEY_START_LABEL:
            return self._label_at(self.start + a)
        if part == keys.KEY_RECENT_LABEL:
            return self._label_at(self.start + length - 1 - a)
        if part == keys.KEY_NUMBER:
            return self.number
        if part == keys.KEY_LIMIT:
            return self.limit
        values = self.accumulated[a]
        return _exact(tuple(values[-1:] if part == keys.KEY_VALUE else values))

    def _label_at(self, row: int) -> int:
        return self.labels[row - self.start] if 0 <= row - self.start < len(self.labels) else -1

    def _seen(self, label: int, condition: Any) -> frozenset[KeyPart]:
        parts: set[KeyPart] = set()
        for part in walk(condition) if condition is not None else ():
            if isinstance(part, (Operand, Read)):
                parts.update(self.parts.seen_by(part, label))
        return frozenset(parts)

    def _seen_by_aggregate(self, operand: Operand | Read) -> list[KeyPart]:
        source = operand.source
        assert not isinstance(source, Navigation)
        number = self.aggregates.setdefault(source, len(self.aggregates))
        if isinstance(source, Aggregate):
            return [(keys.KEY_VALUE_COUNT, number, 0, 0)]  # all values
        if source.aggregator.needs_rows:
            return [(keys.KEY_NEVER, 0, 0, 0)]
        reads = [(keys.KEY_NUMBER, 0, 0, 0)] if source_reads_number(source) else []
        return [*reads, (keys.KEY_VALUE, number, 0, 0)]


class _Failure(NamedTuple):
    """The state of an aggregate after a row that it cannot take."""

    error: DataError


def _next_state(source: InterpretedAggregate, states: list[Any], row: RowOfPath) -> Any:
    """The state with one more row. An error is raised only when a condition reads the aggregate."""
    state = states[-1] if states else source.aggregator.empty
    if isinstance(state, _Failure):
        return state
    try:
        return with_row(source, state, row)
    except DataError as e:
        return _Failure(e)


def _value(source: InterpretedAggregate, states: list[Any]) -> Value | None:
    state = states[-1] if states else source.aggregator.empty
    if isinstance(state, _Failure):
        raise state.error
    return source.aggregator.value(state)


def _takes(source: Aggregate | InterpretedAggregate, label: int) -> bool:
    return source.labels is None or label in source.labels


def _exact(value: Value) -> Hashable:
    """A value that is equal only for the same value: -0.0 is not 0.0."""
    if isinstance(value, tuple):
        return tuple(map(_exact, value))
    return repr(value) if isinstance(value, (float, _Failure)) else value


def _cells(column: Values) -> list[Value | None]:
    """A column as a list, None for NULL."""
    values = column.values.tolist()
    if column.valid is None:
        return values
    return [value if is_valid else None for value, is_valid in zip(values, column.valid.tolist())]
