"""The versioned shared buffer: all partial matches of one key, rows once, pasts shared.

Partial matches that wait for the same differ only in their past, so they are kept together, as one *group*. An entry
of the buffer is

- a *node*: a row taken in a state, with the group (an entry, or -1 for the first row) as it was when the row came:
  every member of that group is a past of the node; or
- a *union* of two entries, the one with the newer start first.

A group is the entry at its head. Entries never change, so the group that a node refers to is a *version* of it: what
came later stands before the head, out of the node's sight. That is what Dewey numbers are for in NFA^b and Flink, where
one list serves all versions. Children are older than their parents: to release what no group needs is one sweep from
the newest entry to the oldest, without counting references and without recursion (`compact`).

`newest` is what WITHIN prunes by: the newest start row of the pasts (or with BETWEEN ROWS the last row taken); an entry
whose newest is too old is dead, and nothing below a live entry is visited in vain but dead branches beside live ones.

Source: Agrawal et al., SIGMOD 2008 (versions); Bucchi et al., CORE: a Complex Event Recognition Engine, VLDB 2022
(unions ordered by their newest start; enumeration from them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlext.errors import DataError
from sqlext.pattern.cep import shared_buffer_kernels as kernels

VERSION = 1  # of the binary form
NOTHING = -1


@dataclass
class Buffer:
    """- `left, right: int32[c]`: the two entries of a union; of a node, its group and NODE or less;
    - `row: int32[c]`, `state: int16[c]`: of nodes; `newest: int32[c]`: of all entries;
    - `group: int32[w]`: the head of each state's group, or -1;
    - `size`: how many entries are in use. `base` is added to rows: in state they are counted from it.
    """

    left: np.ndarray
    right: np.ndarray
    row: np.ndarray
    state: np.ndarray
    newest: np.ndarray
    group: np.ndarray
    size: int = 0

    @staticmethod
    def empty(states: int, capacity: int = 1024) -> Buffer:
        """A buffer without partial matches, for so many states."""
        left, right, row, newest = (np.zeros(capacity, np.int32) for _ in range(4))
        return Buffer(left, right, row, np.zeros(capacity, np.int16), newest, np.full(states, NOTHING, np.int32))

    @property
    def capacity(self) -> int:
        return len(self.left)

    def grown(self, capacity: int) -> Buffer:
        """The same with room for more."""

        def longer(array: np.ndarray) -> np.ndarray:
            result = np.zeros(capacity, array.dtype)
            result[: self.size] = array[: self.size]
            return result

        left, right, row, state, newest = map(longer, (self.left, self.right, self.row, self.state, self.newest))
        return Buffer(left, right, row, state, newest, self.group, self.size)

    def compact(self, oldest: int, is_between: bool = False) -> None:
        """Release in place what no group needs, and of unions the branches that are older than row `oldest`; with
        `is_between` those of groups only.

        >>> buffer = Buffer.empty(1)
        >>> arrays = buffer.left, buffer.right, buffer.row, buffer.state, buffer.newest
        >>> a, b = (kernels.add_node(*arrays, i, NOTHING, kernels.NODE, i, 0, i) for i in (0, 1))
        >>> buffer.group[0], buffer.size = b, 2
        >>> buffer.compact(0)
        >>> buffer.size, buffer.row[:1].tolist(), buffer.group.tolist()
        (1, [1], [0])
        """
        for i, head in enumerate(self.group):
            if head >= 0 and self.newest[head] < oldest:
                self.group[i] = NOTHING
        moved = np.full(self.size, NOTHING, np.int32)
        arrays = self.left, self.right, self.row, self.state, self.newest
        self.size = kernels.compact(*arrays, self.size, self.group, oldest, is_between, moved)

    def to_bytes(self, base: int = 0) -> bytes:
        """The buffer as bytes, rows counted from `base`, before which no bound reaches; compact it first.

        >>> Buffer.from_bytes(Buffer.empty(2).to_bytes()).group.tolist()
        [-1, -1]
        """
        head = np.array([len(self.group), self.size], np.int64)
        moved = [self.row[: self.size] - base, self.newest[: self.size] - base]
        arrays = [
            self.left[: self.size],
            _moved(self.right[: self.size], base),
            *moved,
            self.group,
            self.state[: self.size],
        ]
        return (
            bytes([VERSION]) + head.tobytes() + b"".join(a.astype(a.dtype.newbyteorder("<")).tobytes() for a in arrays)
        )

    @staticmethod
    def from_bytes(held: bytes, base: int = 0) -> Buffer:
        """The inverse. Raises DataError: STATE_VERSION."""
        if held[0] != VERSION:
            raise DataError(
                "STATE_VERSION",
                f"partial matches were stored in version {held[0]}, this release reads version {VERSION}",
            )
        states, size = np.frombuffer(held, "<i8", 2, 1).tolist()
        at, read = 17, []
        for n in (size, size, size, size, states):
            read.append(np.frombuffer(held, "<i4", n, at).astype(np.int32))
            at += 4 * n
        state = np.frombuffer(held, "<i2", size, at).astype(np.int16)
        left, right, row, newest, group = read
        return Buffer(left, _moved(right, -base), row + np.int32(base), state, newest + np.int32(base), group, size)


def _moved(right: np.ndarray, base: int) -> np.ndarray:
    """The rows that nodes hold as `right` counted from `base`."""
    return np.where(right < kernels.NODE, right + np.int32(base), right)
