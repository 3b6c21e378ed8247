"""Run-dependent conditions as three-address code for the kernel, with the parts of a path that they see.

A register holds 64 bits and a NULL flag. The bits are an int64, a float64 or a Boolean (0 or 1). A line of code is
eight int32: the opcode, the target register, and the operands that the comments beside the opcodes name. No machine
code is compiled for a query.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sqlext.expressions.scalar_tree import Read
from sqlext.pattern.conditions.condition_reads import operands, walk
from sqlext.pattern.task.task import (
    CLASSIFIER,
    MATCH_NUMBER,
    Aggregate,
    Condition,
    Literal,
    LiteralValue,
    MachineCall,
    Operand,
)
from sqlext.pattern.threads.path_keys import (
    KEY_HAS_VALUE,
    KEY_NEVER,
    KEY_VALUE,
    KEY_VALUE_COUNT,
    KeyPart,
    SeenParts,
    is_current,
)

# operands: column, set, offset, step, register of the value to use where no row is reached
CURRENT, LAST, FIRST, LAST_ALL, FIRST_ALL = range(5)
# operands: accumulator
COUNT, VALUE, AVERAGE = range(5, 8)
NUMBER = 8
# operands: registers a, b; in integer arithmetic also bits and is_ansi; divisions have is_ansi in the same place
ADD, SUBTRACT, MULTIPLY, REMAINDER, NEGATE, ABS = range(10, 16)
ADD_F, SUBTRACT_F, MULTIPLY_F, DIVIDE_F, REMAINDER_F, NEGATE_F, ABS_F, TO_FLOAT = range(16, 24)
LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, SAME, LEAST, GREATEST = range(24, 31)
LESS_F, LESS_EQUAL_F, EQUAL_F, NOT_EQUAL_F, SAME_F, LEAST_F, GREATEST_F = range(31, 38)
AND, OR, NOT, IS_NULL, MOVE, NULL_IF_ZERO, NULL_IF_ZERO_F = range(38, 45)
# operands: register a, line to jump to
JUMP, JUMP_IF_FALSE, JUMP_IF_TRUE, JUMP_UNLESS_TRUE, JUMP_IF_NULL, JUMP_UNLESS_NULL = range(45, 51)

# accumulators: how a mapped row changes the pair (value, count of values)
COUNT_ROWS, COUNT_VALUES, SUM, SUM_F, AVERAGE_OF, MIN, MAX, MIN_F, MAX_F = range(9)
OVERFLOWN = -1  # as the count in a SUM

_OPCODES = {
    "add": (ADD, ADD_F), "subtract": (SUBTRACT, SUBTRACT_F), "multiply": (MULTIPLY, MULTIPLY_F),
    "divide": (DIVIDE_F, DIVIDE_F), "remainder": (REMAINDER, REMAINDER_F),
    "negate": (NEGATE, NEGATE_F), "abs": (ABS, ABS_F), "float": (TO_FLOAT, TO_FLOAT),
    "less": (LESS, LESS_F), "less_equal": (LESS_EQUAL, LESS_EQUAL_F), "equal": (EQUAL, EQUAL_F),
    "not_equal": (NOT_EQUAL, NOT_EQUAL_F), "null_safe_equal": (SAME, SAME_F),
    "least": (LEAST, LEAST_F), "greatest": (GREATEST, GREATEST_F),
    "not": (NOT, NOT), "is_null": (IS_NULL, IS_NULL),
}  # fmt: skip
_CAN_FAIL = ("add", "subtract", "multiply", "divide", "remainder", "negate", "abs")
_TAKES_NULLS = ("null_safe_equal", "is_null", "least", "greatest")  # evaluate all arguments, even after a NULL


@dataclass(frozen=True, kw_only=True)
class Code:
    """All conditions of a task.

    - `code: int32[k, 8]`, `code_start: int64[labels + 1]`: the condition of label l is lines `code_start[l]` to
      `code_start[l + 1]` (exclusive), no lines if it has no condition; its value ends up in register `result`.
    - `registers: int64[r]`, `is_null: bool[r]`: the initial contents of the registers (constants).
    - `columns`: the columns read, by their number in the code. `distinct`: the columns that an aggregate reads with
      DISTINCT.
    - `push_start: int64[labels + 1]`, `push: int32[·]`: the sets of rows to which a row with label l is added;
      `sets`: the number of sets.
    - `accumulators: int32[a, 3]`: operation, column, index in `distinct` or -1; `feeds: bool[a, labels]`: rows with
      label l are accumulated.
    - `seen[l]`: the parts of the path before the current row that the condition of label l can see.
    """

    code: np.ndarray
    code_start: np.ndarray
    result: int
    registers: np.ndarray
    is_null: np.ndarray
    columns: tuple[int, ...]
    distinct: tuple[int, ...]
    push_start: np.ndarray
    push: np.ndarray
    sets: int
    accumulators: np.ndarray
    feeds: np.ndarray
    seen: tuple[frozenset[KeyPart], ...]


def assemble(conditions: Sequence[Condition | None]) -> Code:
    """The code of the conditions, one per label (None: no condition)."""
    assembler = _Assembler(labels=len(conditions))
    for condition in conditions:
        assembler.collect_constants(condition)
    starts = [0]
    for label, condition in enumerate(conditions):
        assembler.condition(label, condition)
        starts.append(len(assembler.code))
    return assembler.finish(starts)


def bits_of(value: LiteralValue, kind: str) -> int:
    """The 64 bits of a value as an int64.

    >>> bits_of(1.0, "float") == 0x3FF0000000000000
    True
    """
    if value is None:
        return 0
    return struct.unpack("<q", struct.pack("<d", value))[0] if kind == "float" else int(value)


def _kind(condition: Condition) -> str:
    assert isinstance(condition, (Literal, Operand, MachineCall))
    return condition.kind


def _can_fail(condition: Condition) -> bool:
    for part in walk(condition):
        if isinstance(part, MachineCall) and (part.is_ansi or part.digits) and part.function in _CAN_FAIL:
            return True
        if isinstance(part, Operand) and isinstance(part.source, Aggregate) and part.source.function == "sum":
            return True
    return False


@dataclass(kw_only=True)
class _Assembler:
    """The lines of code so far, and the numbers of constants, columns, sets and accumulators."""

    labels: int
    code: list[tuple[int, ...]] = field(default_factory=list)
    constants: dict[tuple[bool, int], int] = field(default_factory=dict)  # (is NULL, bits) → register
    columns: dict[int, int] = field(default_factory=dict)
    distinct: dict[int, int] = field(default_factory=dict)
    accumulators: dict[tuple, int] = field(default_factory=dict)
    seen: list[frozenset[KeyPart]] = field(default_factory=list)
    tested: int = 0
    most_registers: int = 0
    parts: SeenParts = field(init=False)

    def __post_init__(self) -> None:
        self.parts = SeenParts(self._seen_by_aggregate)

    # --- the parts of a condition -------------------------------------------------------------------------------------

    def collect_constants(self, condition: Condition | None) -> None:
        for part in walk(condition) if condition is not None else ():
            if isinstance(part, Literal):
                self._constant(part.value, part.kind)
            elif isinstance(part, Operand):
                self._constant(part.missing, part.kind)

    def condition(self, label: int, condition: Condition | None) -> None:
        self.tested = label
        if condition is None:
            self.seen.append(frozenset())
            return
        self._into(condition, len(self.constants))
        parts: set[KeyPart] = set()
        for operand in operands(condition):
            parts.update(self.parts.seen_by(operand, label))
        self.seen.append(frozenset(parts))

    def _constant(self, value, kind: str) -> int:
        return self.constants.setdefault((value is None, bits_of(value, kind)), len(self.constants))

    def _emit(self, opcode: int, to: int, *rest: int) -> int:
        self.most_registers = max(self.most_registers, to + 1)
        self.code.append((opcode, to, *rest, *(0,) * (6 - len(rest))))
        return to

    def _jump(self, opcode: int, register: int) -> int:
        """Emit a jump whose target comes later; return its line, for `_land`."""
        self._emit(opcode, 0, register)
        return len(self.code) - 1

    def _land(self, jump: int) -> None:
        """Set the target of the jump in line `jump` to the next line."""
        line = self.code[jump]
        self.code[jump] = (*line[:3], len(self.code), *line[4:])

    def _into(self, condition: Condition, to: int) -> int:
        register = self._value(condition, to)
        return to if register == to else self._emit(MOVE, to, register)

    def _value(self, condition: Condition, to: int) -> int:
        """Emit code for a value and return its register: `to`, or that of a constant. Registers above `to` are free."""
        if isinstance(condition, Literal):
            return self._constant(condition.value, condition.kind)
        if isinstance(condition, Operand):
            return self._operand(condition, to)
        assert isinstance(condition, MachineCall)  # the strategy refuses interpreted conditions
        lazy = {"and": self._junction, "or": self._junction, "if": self._if, "coalesce": self._coalesce}
        if condition.function in lazy:
            return lazy[condition.function](condition, to)
        return self._call(condition, to)

    def _junction(self, call: MachineCall, to: int) -> int:
        is_and = call.function == "and"
        self._into(call.arguments[0], to)
        end = self._jump(JUMP_IF_FALSE if is_and else JUMP_IF_TRUE, to)
        right = self._value(call.arguments[1], to + 1)
        self._emit(AND if is_and else OR, to, to, right)
        self._land(end)
        return to

    def _if(self, call: MachineCall, to: int) -> int:
        test, then, other = call.arguments
        to_other = self._jump(JUMP_UNLESS_TRUE, self._value(test, to))
        self._into(then, to)
        end = self._jump(JUMP, to)
        self._land(to_other)
        self._into(other, to)
        self._land(end)
        return to

    def _coalesce(self, call: MachineCall, to: int) -> int:
        self._into(call.arguments[0], to)
        end = self._jump(JUMP_UNLESS_NULL, to)
        self._into(call.arguments[1], to)
        self._land(end)
        return to

    def _call(self, call: MachineCall, to: int) -> int:
        is_float = any(_kind(argument) == "float" for argument in call.arguments)
        opcode = _OPCODES[call.function][is_float]
        stops = call.is_ansi or call.digits > 0  # on overflow
        if len(call.arguments) == 1:
            return self._emit(opcode, to, self._value(call.arguments[0], to), 0, call.bits, stops)
        is_division = call.function in ("divide", "remainder")
        early, late = reversed(call.arguments) if is_division else call.arguments
        if call.function in _TAKES_NULLS or not _can_fail(late):
            first, end = self._value(early, to), None
        else:  # after a NULL the later argument is not evaluated, so its errors are not raised
            first = self._into(early, to)
            if is_division and not call.is_ansi:
                self._emit(NULL_IF_ZERO_F if is_float else NULL_IF_ZERO, to, to)
            end = self._jump(JUMP_IF_NULL, to)
        second = self._value(late, to + 1)
        left, right = (second, first) if is_division else (first, second)
        self._emit(opcode, to, left, right, call.bits, stops)
        if end is not None:
            self._land(end)
        return to

    # --- operands -----------------------------------------------------------------------------------------------------

    def _column(self, argument: int) -> int:
        return argument if argument == CLASSIFIER else self.columns.setdefault(argument, len(self.columns))

    def _operand(self, operand: Operand, to: int) -> int:
        source = operand.source
        if isinstance(source, Aggregate):
            opcode = {"count": COUNT, "avg": AVERAGE}.get(source.function, VALUE)
            return self._emit(opcode, to, self._accumulator(source, operand.kind))
        if source.argument == MATCH_NUMBER:
            return self._emit(NUMBER, to)
        column, missing = self._column(source.argument), self._constant(operand.missing, operand.kind)
        if is_current(source, self.tested):
            opcode, labels = CURRENT, 0
        elif source.labels is None:
            opcode, labels = (FIRST_ALL if source.from_first else LAST_ALL), 0
        else:
            opcode, labels = (FIRST if source.from_first else LAST), self.parts.set_number(source.labels)
        return self._emit(opcode, to, column, labels, source.offset, source.step, missing)

    def _accumulator(self, source: Aggregate, kind: str) -> int:
        labels = None if source.labels is None else frozenset(source.labels)
        if source.argument is None:
            return self._number_accumulator(COUNT_ROWS, 0, -1, labels)
        is_float = kind == "float"
        operation = {
            "count": COUNT_VALUES,
            "sum": SUM_F if is_float else SUM,
            "avg": AVERAGE_OF,
            "min": MIN_F if is_float else MIN,
            "max": MAX_F if is_float else MAX,
        }[source.function]
        column = self._column(source.argument)
        is_distinct = source.is_distinct and source.function not in ("min", "max")
        distinct = self.distinct.setdefault(column, len(self.distinct)) if is_distinct else -1
        return self._number_accumulator(operation, column, distinct, labels)

    def _number_accumulator(self, *accumulator) -> int:
        return self.accumulators.setdefault(accumulator, len(self.accumulators))

    def _seen_by_aggregate(self, operand: Operand | Read) -> list[KeyPart]:
        source = operand.source
        assert isinstance(operand, Operand) and isinstance(source, Aggregate)
        number = self._accumulator(source, operand.kind)
        if source.function in ("min", "max"):
            return [(KEY_VALUE, number, 0, 0), (KEY_HAS_VALUE, number, 0, 0)]
        if source.is_distinct:
            return [(KEY_NEVER, 0, 0, 0)]
        if source.function == "count":
            return [(KEY_VALUE_COUNT, number, 0, 0)]
        how_many = KEY_HAS_VALUE if source.function == "sum" else KEY_VALUE_COUNT
        return [(KEY_VALUE, number, 0, 0), (how_many, number, 0, 0)]

    # --- the tables ---------------------------------------------------------------------------------------------------

    def finish(self, starts: list[int]) -> Code:
        registers = np.zeros(max(self.most_registers, len(self.constants) + 1), np.int64)
        is_null = np.zeros(len(registers), np.bool_)
        for (null, bits), register in self.constants.items():
            registers[register], is_null[register] = bits, null
        push = [
            [number for labels, number in self.parts.sets.items() if label in labels] for label in range(self.labels)
        ]
        feeds = [[a[3] is None or label in a[3] for label in range(self.labels)] for a in self.accumulators]
        return Code(
            code=np.array(self.code, np.int32).reshape(-1, 8),
            code_start=np.array(starts, np.int64),
            result=len(self.constants),
            registers=registers,
            is_null=is_null,
            columns=tuple(self.columns),
            distinct=tuple(self.distinct),
            push_start=np.cumsum([0, *map(len, push)], dtype=np.int64),
            push=np.array([number for numbers in push for number in numbers], np.int32),
            sets=len(self.parts.sets),
            accumulators=np.array([a[:3] for a in self.accumulators], np.int32).reshape(-1, 3),
            feeds=np.array(feeds, np.bool_).reshape(-1, self.labels),
            seen=tuple(self.seen),
        )
