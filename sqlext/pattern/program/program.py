"""The program of a pattern: the instructions that every matcher runs.

Control flow and conditions never mix: an instruction tests only whether a row satisfies label l.

>>> print(Program((Split(1, 3), MatchLabel(0), Jump(0), MatchLabel(1), Done()), ("A", "B")))
0: split 1, 3
1: label A
2: jump 0
3: label B
4: done
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class MatchLabel:
    """Take the current row if it satisfies `label`; `is_hidden` marks a label inside `{- -}`."""

    label: int
    is_hidden: bool = False


@dataclass(frozen=True)
class MatchStart:
    """Continue only before the first row of the partition."""


@dataclass(frozen=True)
class MatchEnd:
    """Continue only after the last row of the partition."""


@dataclass(frozen=True)
class Jump:
    """Continue at `target`."""

    target: int


@dataclass(frozen=True)
class Split:
    """Continue at `first`, and if that fails at `second`."""

    first: int
    second: int


@dataclass(frozen=True)
class Done:
    """A match. The last instruction, and only the last one, is always Done."""


Instruction = Union[MatchLabel, MatchStart, MatchEnd, Jump, Split, Done]


@dataclass(frozen=True)
class Program:
    """The instructions of a pattern; `labels[l]` is the name of label l, as CLASSIFIER() returns it.

    A program means this depth-first search: it begins at instruction 0 and tries the next instructions in order of
    preference. A path is dropped when it comes back to an instruction without having taken a row in between. The first
    path that reaches Done is the match (TR 19075-5 §4.14, and Trino's Matcher, whose results are in tests/).
    """

    instructions: tuple[Instruction, ...]
    labels: tuple[str, ...]

    @property
    def has_start_anchor(self) -> bool:
        """True if the pattern contains ^, which asks whether a row is the first one of its partition."""
        return any(isinstance(x, MatchStart) for x in self.instructions)

    def __str__(self) -> str:
        return "\n".join(f"{i}: {self._line(x)}" for i, x in enumerate(self.instructions))

    def _line(self, instruction: Instruction) -> str:
        if isinstance(instruction, MatchLabel):
            return f"label {self.labels[instruction.label]}" + (" hidden" if instruction.is_hidden else "")
        if isinstance(instruction, Split):
            return f"split {instruction.first}, {instruction.second}"
        if isinstance(instruction, Jump):
            return f"jump {instruction.target}"
        return {MatchStart: "partition start", MatchEnd: "partition end", Done: "done"}[type(instruction)]


def successors(instruction: Instruction, i: int) -> tuple[int, ...]:
    """The instructions that may follow `instruction`, which is number i, most preferred first.

    >>> successors(Split(4, 2), 1), successors(MatchLabel(0), 1), successors(Done(), 1)
    ((4, 2), (2,), ())
    """
    if isinstance(instruction, Split):
        return instruction.first, instruction.second
    if isinstance(instruction, Jump):
        return (instruction.target,)
    return () if isinstance(instruction, Done) else (i + 1,)


def reaches_done(instructions: Sequence[Instruction], blocking: tuple[type, ...]) -> list[bool]:
    """For each instruction, whether a path leads from it to Done without an instruction of a type in `blocking`.

    >>> reaches_done((MatchLabel(0), MatchStart(), Jump(3), Done()), blocking=(MatchLabel,))
    [False, True, True, True]
    """
    sources: list[list[int]] = [[] for _ in instructions]
    for i, instruction in enumerate(instructions):
        if not isinstance(instruction, blocking):
            for target in successors(instruction, i):
                sources[target].append(i)
    reaches = [False] * len(instructions)
    pending = [len(instructions) - 1]
    while pending:
        i = pending.pop()
        if not reaches[i]:
            reaches[i] = True
            pending += sources[i]
    return reaches
