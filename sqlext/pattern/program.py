"""The program of a pattern: the instructions that every matcher runs.

Control flow and conditions never mix: an instruction asks at most "does this row satisfy label l?".

>>> print(Program((Split(1, 3), MatchLabel(0), Jump(0), MatchLabel(1), Done()), ("A", "B")))
0: split 1, 3
1: label A
2: jump 0
3: label B
4: done
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class MatchLabel:
    """Take the current row if it satisfies `label`; `is_hidden` inside `{- -}`."""

    label: int
    is_hidden: bool = False


@dataclass(frozen=True)
class MatchStart:
    """Go on only before the first row of the partition."""


@dataclass(frozen=True)
class MatchEnd:
    """Go on only behind the last row of the partition."""


@dataclass(frozen=True)
class Jump:
    target: int


@dataclass(frozen=True)
class Split:
    """Go on at `first`, and if that fails at `second`."""

    first: int
    second: int


@dataclass(frozen=True)
class Done:
    """A match. Always the last instruction."""


Instruction = Union[MatchLabel, MatchStart, MatchEnd, Jump, Split, Done]


@dataclass(frozen=True)
class Program:
    """`labels[l]` is the name of label l, as CLASSIFIER() gives it.

    Meaning: depth-first search from instruction 0 in order of preference, a path that comes back to an
    instruction without having taken a row in between is dropped; the first path that reaches Done is the match
    (TR 19075-5 §4.14, and Trino's Matcher, whose answers are in tests/).
    """

    instructions: tuple[Instruction, ...]
    labels: tuple[str, ...]

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
