"""The variables that the rows of a match are mapped to: in every match, on its first row, and on the rows after it.

The variables of every match determine which keys cannot match and are dropped. A condition such as
`B.ts <= A.ts + bound` reads the first row if A is the first row of every path on which B is tested.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sqlext.pattern.program import ast
from sqlext.pattern.program.program import Instruction, MatchLabel, MatchStart, Program, reaches_done, successors

Labels = frozenset[int]


def mandatory_variables(pattern: ast.Pattern) -> frozenset[str]:
    """The names of the variables that map at least one row in every match of the pattern, whatever the rows are.

    Absences (`!N`) map nothing, and neither does a pattern that matches the empty sequence.

    >>> a, b, c = ast.Variable("A"), ast.Variable("B"), ast.Variable("C")
    >>> optional = ast.Quantified(item=b, at_least=0, at_most=None)
    >>> pattern = ast.Concatenation((a, optional, ast.Alternation((c, ast.Concatenation((b, c))))))
    >>> sorted(mandatory_variables(pattern))
    ['A', 'C']
    """
    if isinstance(pattern, ast.Variable):
        return frozenset({pattern.name})
    if isinstance(pattern, ast.Alternation):
        return frozenset.intersection(*map(mandatory_variables, pattern.items))
    if isinstance(pattern, ast.Quantified) and not pattern.at_least:
        return frozenset()
    return frozenset().union(*map(mandatory_variables, ast.mapped_parts(pattern)))


@dataclass(frozen=True, kw_only=True)
class FirstRows:
    """What the program alone determines about first rows: conditions are ignored, `^` and `$` are assumed to hold.

    - `opening`: the labels that may take the first row of a match;
    - `following`: the labels that may take another row;
    - `ending`: the labels that may take the last row of a match of two or more rows;
    - `before[l]`: the labels that the first row may have when label l is tested (l itself, if it tests the first row);
    - `since[l]`: the labels that the rows after the first one may have then, including the tested row.
    """

    opening: Labels
    following: Labels
    ending: Labels
    before: tuple[Labels, ...]
    since: tuple[Labels, ...]


def first_rows(program: Program) -> FirstRows:
    """The labels of the first row of a program's matches, and of the rows after it.

    >>> from sqlext.pattern.program.program import Done, Jump, MatchLabel, Split
    >>> rows = first_rows(Program((MatchLabel(0), Split(2, 4), MatchLabel(1), Jump(1), Done()), ("A", "B")))
    >>> sorted(rows.opening), sorted(rows.ending), sorted(rows.before[1]), sorted(rows.since[1])
    ([0], [1], [0], [1])
    """
    instructions = program.instructions
    is_opening, before, since = _labels_after(instructions)
    ends = reaches_done(instructions, blocking=(MatchLabel,))
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
    return FirstRows(
        opening=_labels(opening),
        following=_labels(following),
        ending=_labels(ending),
        before=tuple(map(_labels, first)),
        since=tuple(map(_labels, later)),
    )


def _labels_after(instructions: tuple[Instruction, ...]) -> tuple[list[bool], list[int], list[int]]:
    """For each instruction: whether it is reached before any row, and the first and the later labels of paths to it.

    Sets of labels are the bits of integers.
    """
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
        for target in successors(instruction, i):
            if (opens and not is_opening[target]) or first & ~before[target] or later & ~since[target]:
                is_opening[target] |= opens
                before[target] |= first
                since[target] |= later
                pending.append(target)
    return is_opening, before, since


def labels_before(program: Program) -> tuple[Labels, ...]:
    """For each label, the labels that rows of a match before a row on which it is tested may have.

    >>> from sqlext.pattern.program.program import Done, Jump, MatchLabel, Split
    >>> loop = Program((MatchLabel(0), Split(2, 4), MatchLabel(1), Jump(1), Done()), ("A", "B"))
    >>> [sorted(labels) for labels in labels_before(loop)]
    [[], [0, 1]]
    """
    _, before, since = _labels_after(program.instructions)
    result = [0] * len(program.labels)
    for i, instruction in enumerate(program.instructions):
        if isinstance(instruction, MatchLabel):
            result[instruction.label] |= before[i] | since[i]
    return tuple(map(_labels, result))


def opening_without_anchor(program: Program) -> Labels:
    """The labels that may take the first row of a match although it is not the first row of the partition.

    >>> from sqlext.pattern.program.program import Done, MatchLabel, MatchStart
    >>> opening_without_anchor(Program((MatchStart(), MatchLabel(0), Done()), ("A",)))
    frozenset()
    """
    pending, reached, result = [0], {0}, 0
    while pending:
        i = pending.pop()
        instruction = program.instructions[i]
        if isinstance(instruction, MatchLabel):
            result |= 1 << instruction.label
        elif not isinstance(instruction, MatchStart):
            new = set(successors(instruction, i)) - reached
            reached |= new
            pending += new
    return _labels(result)


def rows_before(program: Program) -> tuple[int, ...]:
    """For each label, the least number of rows of a match that come before a row on which it is tested.

    >>> from sqlext.pattern.program.program import Done, Jump, MatchLabel, Split
    >>> rows_before(Program((MatchLabel(0), Split(2, 4), MatchLabel(1), Jump(1), Done()), ("A", "B")))
    (0, 1)
    """
    depth: dict[int, int] = {}
    pending = deque([(0, 0)])
    while pending:  # paths that take no row come first
        i, rows = pending.popleft()
        if i in depth:
            continue
        depth[i] = rows
        instruction = program.instructions[i]
        for target in successors(instruction, i):
            if isinstance(instruction, MatchLabel):
                pending.append((target, rows + 1))
            else:
                pending.appendleft((target, rows))
    fewest = [len(program.instructions)] * len(program.labels)
    for i, rows in depth.items():
        instruction = program.instructions[i]
        if isinstance(instruction, MatchLabel):
            fewest[instruction.label] = min(fewest[instruction.label], rows)
    return tuple(fewest)


def _labels(bits: int) -> Labels:
    return frozenset(label for label in range(bits.bit_length()) if bits >> label & 1)
