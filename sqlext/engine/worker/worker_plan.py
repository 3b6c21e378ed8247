"""The part of a MatchPlan that workers need, pickled to them. Light: the driver imports it too."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.pattern.task import Condition, Task
from sqlext.rewriter.match.match_plan import Bound, FrameEnd, OperandColumn, Slot

MASK_BITS = 64  # bits of one mask column


@dataclass(frozen=True)
class Limits:
    """How many rows, and about how many bytes, are matched at once and are in a batch of the result. Partitions are not
    divided, nor are rows."""

    rows: int = 1 << 16
    bytes: int = 1 << 28


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    """What workers match, what they read, and which columns they return.

    - `masks`: the integer columns that hold the bits of the task, MASK_BITS in each; none if all bits are set;
    - `neighbours`: (bit, condition on neighbouring rows that must hold as well);
    - `operands`: the columns that conditions read, by Navigation.argument;
    - `carried`: the input columns that the result shows; `partition_by`: the columns of the partition keys.
    """

    task: Task
    masks: tuple[str, ...] = ()
    neighbours: tuple[tuple[int, Condition], ...] = ()
    operands: tuple[OperandColumn, ...] = ()
    carried: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    slots: tuple[Slot, ...] = ()
    bounds: tuple[Bound, ...] = ()
    frame_end: FrameEnd = FrameEnd()
    is_ansi: bool = True
    limits: Limits = Limits()


def mask_names(bits: int) -> tuple[str, ...]:
    """The names of the mask columns for so many bits.

    >>> mask_names(65)
    ('__m0', '__m1')
    """
    return tuple(f"__m{i}" for i in range(-(-bits // MASK_BITS)))
