"""A backtracking search that tries no state twice, in a limited number of steps.

It finds what Java finds for every tree, so it runs the patterns that a linear engine does not support (lookaround,
references to groups, repetitions of nothing). Without references, the number of steps is at most about the size of the
pattern times the length of the text. With references it may be exponential, and the limit ends the search. The
technique is BitState of RE2 (https://swtch.com/~rsc/regexp/regexp3.html).
"""

from __future__ import annotations

from typing import Any

from sqlext.expressions.effort import spend
from sqlext.expressions.faults import too_many_steps
from sqlext.expressions.regex_tree import (
    LINE_ENDS,
    Anchor,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    Ranges,
    Repeat,
    Sequence,
    has_reference,
    is_anchored,
    width,
)

MOST_STEPS = 2_000_000  # about a second
_MOST_INSTRUCTIONS = 20_000
_UNITS = 50  # units of `effort` for a step
_STEPS_TO_BEGIN = 5  # the cost of beginning a search

CHARS, SPLIT, JUMP, OPEN, CLOSE, PLACE, LOOK, REFERENCE, MARK, ADVANCED, END = range(11)
Spans = tuple[tuple[int, int], ...]


class _CharacterSets(dict[str, bool]):
    """Whether a character is in a set, computed once for each character."""

    def __init__(self, ranges: Ranges):
        self.ranges = ranges

    def __missing__(self, letter: str) -> bool:
        code = ord(letter)
        is_member = self[letter] = any(low <= code <= high for low, high in self.ranges)
        return is_member


class Steps:
    """The steps that are left of the limit, for all searches on one row."""

    def __init__(self, what: str):
        self.what, self.left = what, MOST_STEPS

    def spend(self, steps: int) -> None:
        """Raises DataError: EXPRESSION_BUDGET."""
        spend(_UNITS * steps)
        self.left -= steps
        if self.left < 0:
            raise too_many_steps(self.what, MOST_STEPS)


class RegexProgram:
    """The instructions of a tree: `(operation, x, y)`.

    Slots 2g and 2g + 1 of a search have the bounds of group g. The slots from `marks` on have the places where an open
    group, or a turn of a repetition of what may be empty, began.
    """

    def __init__(self, tree: Node, groups: int):
        self.code: list[tuple[Any, ...]] = []
        self.groups, self.slots = groups, 3 * (groups + 1)
        self.first_mark = self.slots
        self._mark_of: dict[int, int] = {}
        self.remembers, self.is_anchored = not has_reference(tree), is_anchored(tree)
        self._emit(Group(tree, 0))
        self._add(END)

    def _add(self, *instruction: Any) -> int:
        if len(self.code) >= _MOST_INSTRUCTIONS:
            raise too_many_steps("a regular expression of this size", MOST_STEPS)
        self.code.append(instruction)
        return len(self.code) - 1

    def _emit(self, node: Node) -> None:
        if isinstance(node, Chars):
            self._add(CHARS, _CharacterSets(node.ranges))
        elif isinstance(node, Sequence):
            for part in node.parts:
                self._emit(part)
        elif isinstance(node, Choice):
            self._emit_choice(node)
        elif isinstance(node, Repeat):
            self._emit_repeat(node)
        elif isinstance(node, Group):
            self._add(OPEN, 2 * (self.groups + 1) + node.number)
            self._emit(node.body)
            self._add(CLOSE, 2 * node.number, 2 * (self.groups + 1) + node.number)
        elif isinstance(node, Look):
            self._emit_look(node)
        elif isinstance(node, Anchor):
            self._add(PLACE, node.kind)
        else:
            self._add(REFERENCE, node.number, node.folds)

    def _emit_choice(self, node: Choice) -> None:
        jumps = []
        for option in node.options[:-1]:
            split = self._add(SPLIT)
            self._emit(option)
            jumps.append(self._add(JUMP))
            self.code[split] = (SPLIT, split + 1, len(self.code))
        self._emit(node.options[-1])
        for jump in jumps:
            self.code[jump] = (JUMP, len(self.code))

    def _emit_repeat(self, node: Repeat) -> None:
        exits: list[int] = []  # instructions that leave the repetition
        for _ in range(node.least):
            exits += self._emit_turn(node)
        if node.most is None:
            first = self._add(SPLIT)
            splits = [first]
            exits += self._emit_turn(node)
            self._add(JUMP, first)
        else:
            splits = []
            for _ in range(node.most - node.least):
                splits.append(self._add(SPLIT))
                exits += self._emit_turn(node)
        after = len(self.code)
        for split in splits:
            self.code[split] = (SPLIT, split + 1, after) if node.is_greedy else (SPLIT, after, split + 1)
        for leave in exits:
            self.code[leave] = (ADVANCED, self.code[leave][1], after)

    def _emit_turn(self, node: Repeat) -> list[int]:
        """Emit the body once. A turn that takes no character is the last one, as in Java."""
        if width(node.body)[0] > 0:
            self._emit(node.body)
            return []
        slot = self._mark_of.setdefault(id(node), self.slots)
        self.slots = max(self.slots, slot + 1)
        self._add(MARK, slot)
        self._emit(node.body)
        return [self._add(ADVANCED, slot)]

    def _emit_look(self, node: Look) -> None:
        look = self._add(LOOK)
        self._emit(node.body)
        self._add(END)
        widths = (0, 0) if node.is_ahead else width(node.body)
        self.code[look] = (LOOK, look + 1, len(self.code), widths, node.is_ahead, node.is_negated)


class RegexSearch:
    """The matches of a program in one text."""

    def __init__(self, program: RegexProgram, text: str, steps: Steps):
        self.program, self.text, self.steps = program, text, steps
        self.failed: set[Any] = set()  # states from which there is no match

    def find(self, start: int) -> Spans | None:
        """The bounds of the groups of the first match that begins at `start` or after it. Raises DataError:
        EXPRESSION_BUDGET."""
        self.failed = set()
        last = start if self.program.is_anchored else len(self.text)
        slots = [-1] * self.program.slots
        for at in range(start, last + 1):
            if self._run(0, at, slots, None) is not None:
                bounds = slots[: 2 * (self.program.groups + 1)]
                return tuple(zip(bounds[::2], bounds[1::2]))
        return None

    def _run(self, pc: int, i: int, slots: list[int], end: int | None) -> int | None:
        """The place where the program ends if it begins at `pc` on character i; it must be `end` unless that is None.

        `slots` become the slots of the match, or stay as they were before if there is none. As in Java, the groups
        that a lookaround has matched stay so in both cases: `(?:(?=(a))b|a)` has the group a.
        """
        code, text, failed, remembers = self.program.code, self.text, self.failed, self.program.remembers
        first_mark, has_marks = self.program.first_mark, self.program.slots > self.program.first_mark
        length, entered = len(text), []
        self.steps.spend(_STEPS_TO_BEGIN)
        stack: list[tuple[int, Any, Any]] = [(pc, i, None)]  # states to try next; a slot and its value as (-1, …)
        while stack:
            pc, i, value = stack.pop()
            if pc == -1:
                slots[i] = value
                continue
            steps = 0
            while True:
                steps += 1
                instruction = code[pc]
                operation = instruction[0]
                if operation == CHARS:
                    if i >= length or not instruction[1][text[i]]:
                        break
                    i += 1
                    pc += 1
                elif operation == SPLIT:
                    if remembers:
                        state: Any = pc * (length + 1) + i
                        if has_marks:
                            state = (state, *(mark < i for mark in slots[first_mark:]))
                        if end is not None:
                            state = (state, end)
                        if state in failed:
                            break
                        failed.add(state)
                        entered.append(state)
                    stack.append((instruction[2], i, None))
                    pc = instruction[1]
                elif operation == JUMP:
                    pc = instruction[1]
                elif operation in (OPEN, MARK):
                    stack.append((-1, instruction[1], slots[instruction[1]]))
                    slots[instruction[1]] = i
                    pc += 1
                elif operation == CLOSE:
                    slot = instruction[1]
                    stack.append((-1, slot, slots[slot]))
                    stack.append((-1, slot + 1, slots[slot + 1]))
                    slots[slot], slots[slot + 1] = slots[instruction[2]], i
                    pc += 1
                elif operation == ADVANCED:
                    pc = pc + 1 if i > slots[instruction[1]] else instruction[2]
                elif operation == PLACE:
                    if not is_at(instruction[1], text, i):
                        break
                    pc += 1
                elif operation == LOOK:
                    marks = slots[first_mark:]
                    is_found = self._looks(instruction, i, slots)
                    slots[first_mark:] = marks
                    if is_found == instruction[5]:
                        break
                    pc = instruction[2]
                elif operation == REFERENCE:
                    taken = self._referred(instruction, i, slots)
                    if taken is None:
                        break
                    steps += taken
                    i += taken
                    pc += 1
                else:
                    if end is not None and i != end:
                        break
                    self.steps.spend(steps)
                    failed.difference_update(entered)  # these lead to a match
                    return i
            self.steps.spend(steps)
        return None

    def _looks(self, instruction: tuple[Any, ...], i: int, slots: list[int]) -> bool:
        _, body, _, (least, most), is_ahead, _ = instruction
        if is_ahead:
            return self._run(body, i, slots, None) is not None
        return any(self._run(body, at, slots, i) is not None for at in range(i - least, max(i - most, 0) - 1, -1))

    def _referred(self, instruction: tuple[Any, ...], i: int, slots: list[int]) -> int | None:
        """The number of characters that equal the characters of a group, None if they differ or the group has no
        match."""
        _, group, folds = instruction
        if group > self.program.groups or slots[2 * group + 1] < 0:
            return None
        wanted = self.text[slots[2 * group] : slots[2 * group + 1]]
        self.steps.spend(len(wanted))
        text = self.text[i : i + len(wanted)]
        is_same = _folded(text) == _folded(wanted) if folds else text == wanted
        return len(wanted) if is_same else None


def _folded(text: str) -> str:
    return text.translate(_LOWER)


_LOWER = {code: code + 32 for code in range(65, 91)}


def is_at(kind: str, text: str, i: int) -> bool:
    """Whether a place of the text is of a kind; `Anchor` lists the kinds.

    >>> is_at("last line", "a\\r\\n", 1), is_at("last line", "a\\r\\n", 2)
    (True, False)
    """
    if kind == "begin":
        return i == 0
    if kind == "end":
        return i == len(text)
    if kind == "last line":
        if i == len(text) or text[i:] == "\r\n":
            return True
        return i == len(text) - 1 and text[i] in LINE_ENDS and text[i - 1 : i + 1] != "\r\n"
    is_word = _is_word(text, i - 1) != _is_word(text, i)
    return is_word == (kind == "word")


def _is_word(text: str, i: int) -> bool:
    return 0 <= i < len(text) and text[i].isascii() and (text[i].isalnum() or text[i] == "_")
