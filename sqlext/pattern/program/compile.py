"""Pattern tree → Program: the order of preference, empty loops as in Trino, whose layout decides them, limits of size.

| pattern | instructions |
|---|---|
| `x \\| y \\| z` | `split 1, 2; 1: x; jump end; 2: split 3, 4; 3: y; jump end; 4: z; end:` |
| `PERMUTE(x, y)` | as `x y \\| y x`, orders in lexicographic order of list positions |
| `x*` | `split body, end; body: x; split body, end; end:` |
| `x{n,}`, n ≥ 1 | n copies of x, then `split start of the last copy, end` |
| `x{n,m}` | n copies, then m - n times `split copy, end; copy: x` with one common end |

A reluctant quantifier exchanges the two targets of its splits.
"""

from __future__ import annotations

from itertools import permutations
from math import factorial

from sqlext.errors import BindError, UnsupportedError
from sqlext.pattern.program import ast
from sqlext.pattern.program.program import Done, Instruction, Jump, MatchEnd, MatchLabel, MatchStart, Program, Split

MAX_NESTING = 200
MAX_INSTRUCTIONS = 50_000
MAX_LABELS = 2**15  # Spans.label is int16

# The code of a part of the pattern. Targets are relative to their own instruction, so code can be copied and joined.
Code = list[Instruction]


def compile_pattern(pattern: ast.Pattern, labels: tuple[str, ...]) -> Program:
    """The program of a pattern whose variables are `labels`, in label order.

    Raises UnsupportedError: PATTERN_TOO_DEEP and PATTERN_TOO_LARGE (see `size_error`, found before anything is
    unfolded), UNSUPPORTED_PATTERN (->, ->>, !, UNTIL, possessive).
    Raises BindError: INVALID_QUANTIFIER (a lower bound above the upper one).

    Source: Trino, IrRowPatternToProgramRewriter.

    >>> print(compile_pattern(ast.Quantified(item=ast.Variable("A"), at_least=0, at_most=None), ("A",)))
    0: split 1, 3
    1: label A
    2: split 1, 3
    3: done
    """
    check_size(pattern)
    if len(labels) > MAX_LABELS:
        raise UnsupportedError("PATTERN_TOO_LARGE", f"PATTERN has more than {MAX_LABELS:,} variables")
    code = [*Compiler(labels).code(pattern), Done()]
    return Program(tuple(absolute(x, i) for i, x in enumerate(code)), labels)


def check_size(pattern: ast.Pattern) -> None:
    """Raise the error of `size_error` if there is one."""
    refused = size_error(pattern)
    if refused:
        raise refused[0]


def size_error(pattern: ast.Pattern) -> tuple[UnsupportedError, ast.Pattern] | None:
    """The error of a pattern that is too deep or too large, and the innermost node that is; None if it is neither.

    PATTERN_TOO_DEEP: more than MAX_NESTING nodes inside one another. PATTERN_TOO_LARGE: more than MAX_INSTRUCTIONS.

    >>> a = ast.Variable("A")
    >>> print(size_error(ast.Concatenation((a, ast.Quantified(item=a, at_least=0, at_most=30_000))))[0].message)
    this repetition unfolds to more than 50,000 instructions
    """
    stack = [(pattern, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_NESTING:
            return depth_error(), node
        stack.extend((child, depth + 1) for child in ast.children(node))
    sizes: dict[int, int] = {}
    for node in reversed(list(ast.walk(pattern))):  # parts before wholes
        size = _size(node, [sizes[id(child)] for child in ast.children(node)])
        if size + (node is pattern) > MAX_INSTRUCTIONS:  # Done follows the whole pattern
            message = f"{_kind(node)} unfolds to more than {MAX_INSTRUCTIONS:,} instructions"
            hint = "{n,m} is written out m times and PERMUTE in all orders: use smaller bounds or fewer elements."
            return UnsupportedError("PATTERN_TOO_LARGE", message, hint=hint), node
        sizes[id(node)] = size
    return None


def depth_error() -> UnsupportedError:
    """The error of a pattern whose nodes, or brackets, nest more than MAX_NESTING levels deep."""
    hint = "quantifiers and parentheses around one another can often be merged: ((A+)+)+ is A+."
    return UnsupportedError("PATTERN_TOO_DEEP", f"PATTERN nests more than {MAX_NESTING} levels deep", hint=hint)


def _size(node: ast.Pattern, parts: list[int]) -> int:
    """The number of instructions of a node; `parts` are the numbers of its children."""
    total = sum(parts)
    if isinstance(node, ast.Permutation):  # 20! exceeds any limit, and (10**6)! would take seconds
        return factorial(min(len(parts), 20)) * (total + 2) - 2
    if isinstance(node, ast.Alternation):
        return total + 2 * len(parts) - 2
    if isinstance(node, ast.Quantified):
        n, m = node.at_least, node.at_most
        guard = 2 * (node.mode == ast.POSSESSIVE)
        return n * total + (total + 2 if m is None else (m - n) * (total + 1)) + guard
    if isinstance(node, ast.Relaxed):
        return total + 2
    if isinstance(node, ast.Until):
        return total + 1  # two instructions around the item; `total` counts the variable as one
    return total + isinstance(node, (ast.Variable, ast.PartitionStart, ast.PartitionEnd))


def _kind(node: ast.Pattern) -> str:
    if isinstance(node, ast.Permutation):
        return f"PERMUTE of {len(node.items)} elements"
    return "this repetition" if isinstance(node, ast.Quantified) else "PATTERN"


def absolute(instruction: Instruction, i: int) -> Instruction:
    """Instruction number i with absolute targets."""
    if isinstance(instruction, Split):
        return Split(i + instruction.first, i + instruction.second)
    return Jump(i + instruction.target) if isinstance(instruction, Jump) else instruction


class Compiler:
    """Writes the code of a pattern whose size has been checked; `is_hidden`: the part is inside an exclusion."""

    def __init__(self, labels: tuple[str, ...], *, is_hidden: bool = False):
        self.labels, self.is_hidden = labels, is_hidden
        self.label_of = {name: label for label, name in enumerate(labels)}

    def code(self, node: ast.Pattern) -> Code:
        if isinstance(node, ast.Variable):
            return [MatchLabel(self.label_of[node.name], self.is_hidden)]
        if isinstance(node, ast.Empty):
            return []
        if isinstance(node, ast.PartitionStart):
            return [MatchStart()]
        if isinstance(node, ast.PartitionEnd):
            return [MatchEnd()]
        if isinstance(node, ast.Concatenation):
            return _sequence([self.code(item) for item in node.items])
        if isinstance(node, ast.Alternation):
            return _alternation([self.code(item) for item in node.items])
        if isinstance(node, ast.Permutation):
            return _permutation([self.code(item) for item in node.items])
        if isinstance(node, ast.Exclusion):
            return type(self)(self.labels, is_hidden=True).code(node.item)
        if isinstance(node, ast.Quantified) and node.mode != ast.POSSESSIVE:
            return _quantified(self.code(node.item), node)
        raise UnsupportedError("UNSUPPORTED_PATTERN", "->, ->>, !, UNTIL and possessive loops have an Nfa, no Program")


def _sequence(parts: list[Code]) -> Code:
    return [instruction for part in parts for instruction in part]


def _alternation(parts: list[Code]) -> Code:
    size = sum(len(part) + 2 for part in parts) - 2
    code: Code = []
    for part in parts[:-1]:
        code += [Split(1, len(part) + 2), *part]
        code.append(Jump(size - len(code)))
    return code + parts[-1]


def _permutation(parts: list[Code]) -> Code:
    return _alternation([_sequence(list(order)) for order in permutations(parts)])


def _quantified(item: Code, node: ast.Quantified) -> Code:
    n, m = node.at_least, node.at_most
    if m is not None and m < n:
        raise BindError("INVALID_QUANTIFIER", f"{{{n},{m}}}: the lower bound is above the upper one")

    def split(body: int, end: int) -> Instruction:
        return Split(end, body) if node.mode == ast.RELUCTANT else Split(body, end)

    if m is not None:
        copies = repeat(item, n)
        for left in range(m - n, 0, -1):
            copies += [split(1, left * (len(item) + 1)), *item]
        return copies
    loop = split(-len(item), 1)
    if n == 0:
        return [split(1, len(item) + 2), *item, loop]
    return [*repeat(item, n), loop]


def repeat(item: Code, n: int) -> Code:
    """The code of n copies of an item."""
    return item * n if item else []  # (){1000000000} has no code
