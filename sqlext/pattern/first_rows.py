"""What a program says of the first row of its matches: which variables may take it, which come behind it.

For conditions on that row: `B.ts <= A.ts + bound` reads it if A is the first row of every path on which B is tested.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.pattern.program import Done, Instruction, Jump, MatchLabel, Program, Split

Labels = frozenset[int]


@dataclass(frozen=True)
class FirstRows:
    """All as far as the program tells, conditions aside; `^` and `$` are taken to hold.

    - `opening`: the labels that may take the first row of a match;
    - `following`: those that may take another one;
    - `ending`: those that may take the last row where it is not the first;
    - `before[l]`: the labels that the first row may have when label l is tested (l itself, if that is the first row);
    - `since[l]`: the labels that the rows behind the first one may have then, the tested one among them.
    """

    opening: Labels
    following: Labels
    ending: Labels
    before: tuple[Labels, ...]
    since: tuple[Labels, ...]


def first_rows(program: Program) -> FirstRows:
    """The first rows of a program's matches.

    >>> from sqlext.pattern.program import Done, MatchLabel, Program
    >>> found = first_rows(Program((MatchLabel(0), Split(2, 4), MatchLabel(1), Jump(1), Done()), ("A", "B")))
    >>> sorted(found.opening), sorted(found.ending), sorted(found.before[1]), sorted(found.since[1])
    ([0], [1], [0], [1])
    """
    instructions = program.instructions
    is_opening, before, since = _reaching(instructions)
    ends = _ends(instructions)
    opening, following, ending = 0, 0, 0
    first, later = ([0] * len(program.labels) for _ in range(2))
    for i, instruction in enumerate(instructions):
        if not isinstance(instruction, MatchLabel):
            continue
        label, bit = instruction.label, 1 << instruction.label
        if is_opening[i]:
            opening |= bit
            first[label] |= bit
        if before[i]:
            following |= bit
            ending |= bit if ends[i + 1] else 0
            first[label] |= before[i]
            later[label] |= since[i] | bit
    before_rows, since_rows = tuple(map(_labels, first)), tuple(map(_labels, later))
    return FirstRows(_labels(opening), _labels(following), _labels(ending), before_rows, since_rows)


def _reaching(instructions: tuple[Instruction, ...]) -> tuple[list[bool], list[int], list[int]]:
    """How each instruction is reached: before any row; behind which first labels; and labels since then (as bits)."""
    is_opening = [i == 0 for i in range(len(instructions))]
    before, since = [0] * len(instructions), [0] * len(instructions)
    pending = [0]
    while pending:
        i = pending.pop()
        opens, first, later = is_opening[i], before[i], since[i]
        instruction = instructions[i]
        if isinstance(instruction, MatchLabel):
            bit = 1 << instruction.label
            opens, first, later = False, first | (bit if opens else 0), later | (bit if first else 0)
        for target in _targets(instruction, i):
            if (opens and not is_opening[target]) or first & ~before[target] or later & ~since[target]:
                is_opening[target] |= opens
                before[target] |= first
                since[target] |= later
                pending.append(target)
    return is_opening, before, since


def _ends(instructions: tuple[Instruction, ...]) -> list[bool]:
    """From which instructions is the end reached without another row?"""
    sources: list[list[int]] = [[] for _ in instructions]
    for i, instruction in enumerate(instructions):
        if not isinstance(instruction, MatchLabel):
            for target in _targets(instruction, i):
                sources[target].append(i)
    ends = [False] * len(instructions)
    pending = [i for i, instruction in enumerate(instructions) if isinstance(instruction, Done)]
    while pending:
        i = pending.pop()
        if not ends[i]:
            ends[i] = True
            pending += sources[i]
    return ends


def _targets(instruction: Instruction, i: int) -> tuple[int, ...]:
    if isinstance(instruction, Split):
        return instruction.first, instruction.second
    if isinstance(instruction, Jump):
        return (instruction.target,)
    return () if isinstance(instruction, Done) else (i + 1,)


def _labels(bits: int) -> Labels:
    return frozenset(label for label in range(bits.bit_length()) if bits >> label & 1)
