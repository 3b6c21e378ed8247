"""The parts of a path that a later condition can see: they make the key of a failed state in the memo.

Two paths that lead to the same position and row, and that agree in these parts, can be continued in the same ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlext.expressions.scalar_tree import Read
from sqlext.pattern.conditions.condition_reads import source_reads_labels, source_reads_number
from sqlext.pattern.program.program import Instruction, MatchLabel, successors
from sqlext.pattern.task.task import MATCH_NUMBER, Navigation, Operand

# the comments name the operands of a part
KEY_LAST, KEY_FIRST, KEY_COUNT = range(3)  # set, offset
KEY_LAST_LABEL, KEY_FIRST_LABEL = range(3, 5)  # set, offset, step
KEY_DEPTH, KEY_START, KEY_START_LABEL, KEY_RECENT_LABEL = range(5, 9)  # offset
KEY_NUMBER = 9
KEY_VALUE, KEY_VALUE_COUNT, KEY_HAS_VALUE = range(10, 13)  # accumulator
KEY_LIMIT = 13
KEY_NEVER = 14  # no exact key is short enough: such states are not remembered
_MOST_PARTS = 1 << 10  # of an exact key, for one navigation

KeyPart = tuple[int, int, int, int]


def is_current(source: Navigation, tested: int) -> bool:
    """True if the navigation always starts from the current row, which is tested for label `tested`."""
    is_mapped = source.labels is None or tested in source.labels
    return is_mapped and not source.from_first and source.offset == 0


class SeenParts:
    """Numbers the sets of labels that navigations read, and lists what operands see of a path.

    `seen_by_aggregate(operand)` returns the parts that an operand with an aggregate as its source sees.
    """

    def __init__(self, seen_by_aggregate: Callable[[Operand | Read], list[KeyPart]]):
        self.seen_by_aggregate = seen_by_aggregate
        self.sets: dict[frozenset[int], int] = {}

    def set_number(self, labels: tuple[int, ...]) -> int:
        return self.sets.setdefault(frozenset(labels), len(self.sets))

    def seen_by(self, operand: Operand | Read, tested: int) -> Iterable[KeyPart]:
        """The parts of the path before the current row that an operand of the condition of label `tested` can see."""
        source = operand.source
        if not isinstance(source, Navigation):
            return self.seen_by_aggregate(operand)
        number = [(KEY_NUMBER, 0, 0, 0)] if source_reads_number(source) else []
        if source.argument == MATCH_NUMBER:
            return number
        labels = self._labels(source, tested) if source_reads_labels(source) else []
        return [*number, *self._bases(source, tested), *labels]

    def _older_bases(self, source: Navigation, tested: int) -> int:
        """The number of last rows, before the current one, from which LAST can start."""
        assert source.labels is not None
        return source.offset + (tested not in source.labels)

    def _bases(self, source: Navigation, tested: int) -> list[KeyPart]:
        offset = source.offset
        if is_current(source, tested):
            return []
        if source.labels is None:
            return [(KEY_START, 0, 0, 0)] if source.from_first else [(KEY_DEPTH, offset, 0, 0)]
        number = self.set_number(source.labels)
        if source.from_first:
            return [(KEY_FIRST, number, offset, 0), (KEY_COUNT, number, offset + 1, 0)]
        return _parts(self._older_bases(source, tested), lambda j: (KEY_LAST, number, j, 0))

    def _labels(self, source: Navigation, tested: int) -> list[KeyPart]:
        """The labels that CLASSIFIER can reach: those next to the rows seen, and the last ones before the next row."""
        offset, step = source.offset, source.step
        is_last_all = source.labels is None and not source.from_first
        recent = _parts((offset if is_last_all else 0) - step, lambda k: (KEY_RECENT_LABEL, k, 0, 0))
        if is_last_all or is_current(source, tested):
            return recent
        if source.labels is None:
            return [*recent, (KEY_START_LABEL, offset + step, 0, 0)]
        number = self.set_number(source.labels)
        if source.from_first:
            return [*recent, (KEY_FIRST_LABEL, number, offset, step)]
        older = _parts(self._older_bases(source, tested), lambda j: (KEY_LAST_LABEL, number, j, step))
        return [*recent, *older]


def _parts(count: int, part: Callable[[int], KeyPart]) -> list[KeyPart]:
    """`count` parts of a key, or KEY_NEVER if they are too many."""
    return [(KEY_NEVER, 0, 0, 0)] if count > _MOST_PARTS else [part(i) for i in range(count)]


def seen_after(instructions: Sequence[Instruction], seen: Sequence[frozenset[KeyPart]]) -> list[frozenset[KeyPart]]:
    """For each instruction, the parts of the path that the conditions tested from it on can see.

    `seen[l]` is what the condition of label l can see. Computed backward to a fixed point; sets are bits of integers.
    """
    parts = sorted(frozenset().union(*seen))
    bit = {part: 1 << k for k, part in enumerate(parts)}
    own = [sum(bit[part] for part in by_label) for by_label in seen]
    needed = [0] * len(instructions)
    changed = True
    while changed:
        changed = False
        for at in range(len(instructions) - 1, -1, -1):
            instruction = instructions[at]
            need = own[instruction.label] if isinstance(instruction, MatchLabel) else 0
            for following in successors(instruction, at):
                need |= needed[following]
            changed |= need != needed[at]
            needed[at] = need
    sets = {need: frozenset(part for part in parts if need & bit[part]) for need in set(needed)}
    return [sets[need] for need in needed]


def key_parts(parts: frozenset[KeyPart], *, is_limited: bool) -> list[KeyPart]:
    """What makes the key of a state after which conditions can see `parts`; `is_limited`: Rows.limit is set."""
    never = (KEY_NEVER, 0, 0, 0)
    if never in parts:
        return [never]
    return sorted(parts) + ([(KEY_LIMIT, 0, 0, 0)] if is_limited else [])
