"""The machine that evaluates compiled conditions with NULL, NaN and overflow inside the kernel, without allocation."""

from __future__ import annotations

import math

import numpy as np

from sqlext.pattern.program.jit import internal
from sqlext.pattern.task.task import CLASSIFIER
from sqlext.pattern.threads import condition_code as op

FALSE, TRUE, OVERFLOW, DIVISION_BY_ZERO = range(4)
_LEAST_INT64 = -(2**63)


@internal
def float_order(x, y):
    """Compare as Spark does and return -1, 0 or 1: NaN equals itself and is above all numbers, -0.0 equals 0.0."""
    if x < y:
        return -1
    if x > y:
        return 1
    if x == y:
        return 0
    return np.int64(math.isnan(x)) - np.int64(math.isnan(y))


@internal
def _product_overflows(x, y, product):
    if abs(float(x) * float(y)) < 4e18:
        return False
    if x == -1 or y == -1:  # the processor traps on dividing the least integer by -1
        return x == _LEAST_INT64 or y == _LEAST_INT64
    return product // x != y


@internal
def _integer(opcode, x, y, bits):
    """The result of an integer operation, wrapped to `bits` bits, and whether it wrapped."""
    if opcode == op.REMAINDER:
        if y == -1:  # the processor traps on the least integer divided by -1
            return np.int64(0), False
        rest = x % y
        return (rest - y if rest != 0 and (rest ^ x) < 0 else rest), False  # the sign of the dividend
    # unsigned, because LLVM assumes that signed integers do not overflow, and removes tests for it
    u, v = np.uint64(x), np.uint64(y)
    if opcode == op.ADD:
        result = np.int64(u + v)
        overflows = ((x ^ result) & (y ^ result)) < 0
    elif opcode == op.SUBTRACT:
        result = np.int64(u - v)
        overflows = ((x ^ y) & (x ^ result)) < 0
    elif opcode == op.MULTIPLY:
        result = np.int64(u * v)
        overflows = _product_overflows(x, y, result)
    else:
        result = np.int64(np.uint64(0) - u) if opcode == op.NEGATE or x < 0 else x
        overflows = x == _LEAST_INT64
    shift = 64 - bits
    wrapped = np.int64(np.uint64(result) << np.uint64(shift)) >> shift
    return wrapped, overflows or wrapped != result


@internal
def _float(opcode, x, y):
    if opcode == op.ADD_F:
        return x + y
    if opcode == op.SUBTRACT_F:
        return x - y
    if opcode == op.MULTIPLY_F:
        return x * y
    if opcode == op.DIVIDE_F:
        return x / y
    if opcode == op.REMAINDER_F:
        return np.fmod(x, y)
    return -x if opcode == op.NEGATE_F else abs(x)


@internal
def _compares(opcode, order):
    """Whether a comparison is true for arguments whose order is -1, 0 or 1."""
    if opcode == op.LESS:
        return order < 0
    if opcode == op.LESS_EQUAL:
        return order <= 0
    return order != 0 if opcode == op.NOT_EQUAL else order == 0


@internal
def _base_row(opcode, number, offset, stacks, tops, start, row):
    """The mapped row that a navigation starts from, or -1."""
    if opcode == op.CURRENT:
        return row
    if opcode == op.LAST:
        top = tops[number]
        return stacks[number, top - 1 - offset] if offset < top else -1
    if opcode == op.FIRST:
        return stacks[number, offset] if offset < tops[number] else -1
    if opcode == op.LAST_ALL:
        return row - offset if row - offset >= start else -1
    return start + offset if start + offset <= row else -1


@internal
def evaluate_lines(
    code,
    line,
    stop,
    result,
    registers,
    floats,
    is_null,
    values,
    valid,
    classifiers,
    leaf_label,
    path,
    stacks,
    tops,
    sums,
    sums_f,
    counts,
    lo,
    hi,
    start,
    row,
    number,
):
    """Evaluate lines `line` to `stop` for a path that ends with `row`: FALSE (also for NULL), TRUE or a fault."""
    fault = FALSE
    while line < stop:
        opcode, to, a, b = code[line, 0], code[line, 1], code[line, 2], code[line, 3]
        line += 1
        if opcode <= op.FIRST_ALL:
            at = _base_row(opcode, b, code[line - 1, 4], stacks, tops, start, row)
            reached = at + code[line - 1, 5]
            if at < 0 or reached < lo or reached >= hi:
                missing = code[line - 1, 6]
                registers[to] = registers[missing]
                is_null[to] = is_null[missing]
            elif a != CLASSIFIER:
                registers[to] = values[a, reached]
                is_null[to] = not valid[a, reached]
            else:
                is_null[to] = reached < start or reached > row
                if not is_null[to]:
                    registers[to] = classifiers[leaf_label[path[reached - start]]]
        elif opcode <= op.NUMBER:
            is_null[to] = False
            if opcode == op.NUMBER:
                registers[to] = number
                continue
            depth = row - start + 1
            count = counts[depth, a]
            if opcode == op.COUNT:
                registers[to] = count
                continue
            if count == op.OVERFLOWN:
                fault = OVERFLOW
                break
            is_null[to] = count == 0
            if opcode == op.VALUE:
                registers[to] = sums[depth, a]
            elif count > 0:
                floats[to] = sums_f[depth, a] / count
        elif opcode <= op.ABS:
            null = is_null[a] or (is_null[b] and opcode < op.NEGATE)
            if not null:
                is_ansi = code[line - 1, 5] != 0
                if opcode == op.REMAINDER and registers[b] == 0:
                    if is_ansi:
                        fault = DIVISION_BY_ZERO
                        break
                    null = True
                else:
                    value, overflows = _integer(opcode, registers[a], registers[b], code[line - 1, 4])
                    if overflows and is_ansi:
                        fault = OVERFLOW
                        break
                    registers[to] = value
            is_null[to] = null
        elif opcode <= op.TO_FLOAT:
            null = is_null[a] or (is_null[b] and opcode < op.NEGATE_F)
            if not null:
                if opcode == op.TO_FLOAT:
                    floats[to] = float(registers[a])
                elif (opcode == op.DIVIDE_F or opcode == op.REMAINDER_F) and floats[b] == 0.0:
                    if code[line - 1, 5] != 0:
                        fault = DIVISION_BY_ZERO
                        break
                    null = True
                else:
                    floats[to] = _float(opcode, floats[a], floats[b])
            is_null[to] = null
        elif opcode <= op.GREATEST_F:
            is_float = opcode >= op.LESS_F
            opcode = opcode - (op.LESS_F - op.LESS) if is_float else opcode
            if is_null[a] or is_null[b]:
                if opcode == op.SAME:
                    registers[to] = is_null[a] == is_null[b]
                    is_null[to] = False
                elif opcode < op.SAME:
                    is_null[to] = True
                else:
                    other = b if is_null[a] else a
                    registers[to] = registers[other]
                    is_null[to] = is_null[other]
                continue
            if is_float:
                order = float_order(floats[a], floats[b])
            else:
                order = np.int64(registers[a] > registers[b]) - np.int64(registers[a] < registers[b])
            is_null[to] = False
            if opcode <= op.SAME:
                registers[to] = _compares(opcode, order)
            else:
                registers[to] = registers[a] if (order <= 0) == (opcode == op.LEAST) else registers[b]
        elif opcode >= op.JUMP:
            is_true = not is_null[a] and registers[a] != 0
            if (
                opcode == op.JUMP
                or (opcode == op.JUMP_IF_FALSE and not is_null[a] and not is_true)
                or (opcode == op.JUMP_IF_TRUE and is_true)
                or (opcode == op.JUMP_UNLESS_TRUE and not is_true)
                or (opcode == op.JUMP_IF_NULL and is_null[a])
                or (opcode == op.JUMP_UNLESS_NULL and not is_null[a])
            ):
                line = np.int64(b)
        elif opcode == op.AND or opcode == op.OR:  # after a jump: the left argument is not false (AND), not true (OR)
            decides = not is_null[b] and (registers[b] != 0) == (opcode == op.OR)
            is_null[to] = not decides and (is_null[a] or is_null[b])
            registers[to] = decides == (opcode == op.OR)
        elif opcode == op.NOT:
            is_null[to] = is_null[a]
            registers[to] = registers[a] == 0
        elif opcode == op.IS_NULL:
            registers[to] = is_null[a]
            is_null[to] = False
        elif opcode == op.MOVE:
            registers[to] = registers[a]
            is_null[to] = is_null[a]
        else:
            is_zero = registers[a] == 0 if opcode == op.NULL_IF_ZERO else floats[a] == 0.0
            is_null[to] = is_null[a] or is_zero
    if fault != FALSE:
        return fault
    return TRUE if not is_null[result] and registers[result] != 0 else FALSE
