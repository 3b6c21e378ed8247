"""Compile a pattern tree to an Nfa: first to a program with instructions for skipped rows, then to its closures.

Loops and alternatives are laid out as in `compile`. The additional instructions take no row:

| pattern | instructions |
|---|---|
| `-> x` | `relax ->; x; end of relax` |
| `!N`, `!-> N` | `not …` |
| `x UNTIL S` | `until S; x; end of until` |
| `x*+`, `x{n,}+` | as `x*`, and `guard` where all ways out of the loop meet |
| `x{n,m}+` | as `x{n,m}`, and `guard`, which the way out after m rounds jumps over |

A closure follows the program from one taken row to each position of the next row, and collects the instructions between
them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.pattern.cep.nfa import Final, Guard, Nfa, Target, Wait
from sqlext.pattern.program import ast
from sqlext.pattern.program.compile import MAX_INSTRUCTIONS, Code, Compiler, absolute, check_size, repeat
from sqlext.pattern.program.program import Done, Jump, MatchEnd, MatchLabel, MatchStart, Split

MAX_GUARDS = 4  # guards with UNTIL in one state: each doubles the transitions, because it may have ended or not


@dataclass(frozen=True)
class Relax:
    operator: str


@dataclass(frozen=True)
class EndRelax:
    pass


@dataclass(frozen=True)
class Not:
    operator: str
    label: int


@dataclass(frozen=True)
class EnterUntil:
    label: int


@dataclass(frozen=True)
class LeaveUntil:
    pass


@dataclass(frozen=True)
class GuardLoop:
    labels: tuple[int, ...]


def compile_nfa(pattern: ast.Pattern, labels: tuple[str, ...]) -> Nfa:
    """Return the states of a pattern whose variables are `labels`, in label order.

    Raises UnsupportedError: PATTERN_TOO_DEEP, PATTERN_TOO_LARGE, TOO_MANY_GUARDS.
    """
    return replace(_nfa(pattern, labels), pattern=pattern)  # an equal pattern that was compiled before has other places


@lru_cache(maxsize=64)
def _nfa(pattern: ast.Pattern, labels: tuple[str, ...]) -> Nfa:
    check_size(pattern)
    code = [*_CepCompiler(labels).code(pattern), Done()]
    return _Closures([absolute(x, i) for i, x in enumerate(code)]).nfa(pattern, labels)


def is_contiguous(pattern: ast.Pattern) -> bool:
    """Return whether the pattern uses only operators of SQL:2016, so that the rows of a match are neighbours.

    >>> is_contiguous(ast.Relaxed("->", ast.Variable("A")))
    False
    """
    return not any(
        isinstance(n, (ast.Relaxed, ast.Absence, ast.Until))
        or (isinstance(n, ast.Quantified) and n.mode == ast.POSSESSIVE)
        for n in ast.walk(pattern)
    )


def skeleton(pattern: ast.Pattern) -> ast.Pattern:
    """Return the pattern reduced to the operators of SQL:2016: a match maps the same variables in the same order.

    >>> skeleton(ast.Concatenation((ast.Variable("A"), ast.Relaxed("->", ast.Variable("B")))))
    Concatenation(items=(Variable(name='A'), Variable(name='B')))
    """
    if isinstance(pattern, ast.Absence):
        return ast.Empty(place=pattern.place)
    if isinstance(pattern, (ast.Relaxed, ast.Until)):
        return skeleton(pattern.item)
    if isinstance(pattern, ast.Quantified) and pattern.mode == ast.POSSESSIVE:
        pattern = replace(pattern, mode=ast.GREEDY)
    return ast.with_parts(pattern, skeleton)


def first_variables(node: ast.Pattern) -> tuple[list[str], bool]:
    """Return the variables that may take the first row of a pattern, and whether the pattern may map no row.

    >>> first_variables(ast.Concatenation((ast.Quantified(item=ast.Variable("A"), at_least=0, at_most=1),
    ...     ast.Variable("B"))))
    (['A', 'B'], False)
    """
    if isinstance(node, ast.Variable):
        return [node.name], False
    parts = [first_variables(part) for part in ast.mapped_parts(node)]
    if isinstance(node, (ast.Alternation, ast.Permutation)):
        are_empty = [may_be_empty for _, may_be_empty in parts]
        may_map_none = any(are_empty) if isinstance(node, ast.Alternation) else all(are_empty)
        return [name for part, _ in parts for name in part], may_map_none
    if isinstance(node, ast.Quantified) and node.at_most == 0:
        return [], True
    names: list[str] = []
    for part, may_be_empty in parts:
        names += part
        if not may_be_empty:
            return names, isinstance(node, ast.Quantified) and node.at_least == 0
    return names, True


class _CepCompiler(Compiler):
    def code(self, node: ast.Pattern) -> Code:
        own: list[Any]
        if isinstance(node, ast.Relaxed):
            own = [Relax(node.operator), *self.code(node.item), EndRelax()]
        elif isinstance(node, ast.Absence):
            own = [Not(node.operator, self.label_of[node.variable.name])]
        elif isinstance(node, ast.Until):
            own = [EnterUntil(self.label_of[node.variable.name]), *self.code(node.item), LeaveUntil()]
        elif isinstance(node, ast.Quantified) and node.mode == ast.POSSESSIVE:
            own = self._possessive(node)
        else:
            own = super().code(node)
        return own

    def _possessive(self, node: ast.Quantified) -> Code:
        greedy, n, m = super().code(replace(node, mode=ast.GREEDY)), node.at_least, node.at_most
        names, _ = first_variables(node.item)
        guard: Any = GuardLoop(tuple(sorted({self.label_of[name] for name in names})))
        if m is None:
            return [*greedy, guard]
        if n == m:
            return greedy
        item = self.code(node.item)
        code = repeat(item, n)
        for rounds in range(m - n, 0, -1):
            code += [Split(1, rounds * (len(item) + 1) + 1), *item]
        return [*code, Jump(2), guard]


@dataclass(frozen=True, kw_only=True)
class _Way:
    """What a closure has collected since the last row. `operators`: the operators of elements that have no row yet,
    outermost first; `entered`: the UNTIL instructions whose element has no row yet."""

    operators: tuple[str, ...] = ()
    not_next: frozenset[int] = frozenset()
    needs_next: bool = False
    absent: frozenset[int] = frozenset()
    guards: tuple[Guard, ...] = ()
    entered: frozenset[int] = frozenset()
    at_end: bool = False


@dataclass
class _Closures:
    code: list[Any]
    scopes: list[tuple[int, ...]] = field(default_factory=list)  # for each instruction, the UNTILs that contain it
    steps: int = 0

    def nfa(self, pattern: ast.Pattern, labels: tuple[str, ...]) -> Nfa:
        self.scopes = list(_scopes(self.code))
        taking = [i for i, x in enumerate(self.code) if isinstance(x, MatchLabel)]
        self.position = {i: p for p, i in enumerate(taking)}
        return Nfa(
            pattern=pattern,
            labels=labels,
            positions=tuple((self.code[i].label, self.code[i].is_hidden) for i in taking),
            start=self._first(at_start=False),
            partition_start=self._first(at_start=True),
            after=tuple(self._targets(i + 1, at_start=False) for i in taking),
        )

    def _first(self, *, at_start: bool) -> tuple[Target, ...]:
        """Return the targets before the first row, where no row is skipped and absences have no effect."""
        first: list[Target] = []
        for target in self._targets(0, at_start=at_start):
            if isinstance(target, Final):
                first.append(Final(at_end=target.at_end))
            else:
                first.append(replace(target, operator="", not_next=(), absent=(), until_skipped=()))
        return tuple(dict.fromkeys(first))

    def _targets(self, i: int, *, at_start: bool) -> tuple[Target, ...]:
        """Return the targets that instruction i leads to, found depth first and thus in order of preference."""
        targets: dict[Target, None] = {}
        seen: set[tuple[int, _Way]] = set()
        stack = [(i, _Way())]
        while stack:
            i, way = stack.pop()
            if (i, way) in seen:
                continue
            seen.add((i, way))
            self._check_steps()
            x = self.code[i]
            if isinstance(x, MatchLabel):
                if not way.at_end:
                    targets.setdefault(self._wait(i, way))
            elif isinstance(x, Done):
                targets.setdefault(
                    Final(
                        needs_next=way.needs_next,
                        not_next=_sorted(way.not_next),
                        absent=_sorted(way.absent),
                        at_end=way.at_end,
                    )
                )
            elif isinstance(x, Split):
                stack += [(x.second, way), (x.first, way)]
            elif isinstance(x, Jump):
                stack.append((x.target, way))
            elif not isinstance(x, MatchStart) or at_start:
                stack.append((i + 1, self._after(i, way)))
        return tuple(targets)

    def _check_steps(self) -> None:
        self.steps += 1
        if self.steps > MAX_INSTRUCTIONS:
            raise UnsupportedError(
                "PATTERN_TOO_LARGE",
                "PATTERN has too many ways from one row to the next",
                hint="every optional element doubles the ways: use fewer of them between absences.",
            )

    def _after(self, i: int, way: _Way) -> _Way:
        """Return the way after instruction i, which takes no row."""
        x = self.code[i]
        if isinstance(x, Relax):
            return replace(way, operators=(*way.operators, x.operator))
        if isinstance(x, EndRelax):
            return replace(way, operators=way.operators[:-1])  # the element mapped no row, or a row emptied the list
        if isinstance(x, Not) and x.operator == "!":
            return replace(way, not_next=way.not_next | {x.label}, needs_next=True)
        if isinstance(x, Not):
            return replace(way, absent=way.absent | {x.label})
        if isinstance(x, EnterUntil):
            return replace(way, entered=way.entered | {i})
        if isinstance(x, LeaveUntil):
            return replace(way, entered=way.entered - {self.scopes[i][-1]})
        if isinstance(x, GuardLoop):
            guard = Guard(x.labels, _sorted({self.code[s].label for s in self.scopes[i]}))
            return replace(way, guards=tuple(dict.fromkeys((*way.guards, guard))))
        return replace(way, at_end=True) if isinstance(x, MatchEnd) else way

    def _wait(self, i: int, way: _Way) -> Wait:
        if sum(bool(g.ends) for g in way.guards) > MAX_GUARDS:
            raise UnsupportedError(
                "TOO_MANY_GUARDS",
                f"more than {MAX_GUARDS} possessive loops with UNTIL follow one another without a row in between",
                hint="make some of them greedy.",
            )
        around = self.scopes[i]
        until = _sorted({self.code[s].label for s in around})
        until_skipped = _sorted({self.code[s].label for s in around if s not in way.entered})
        operator = way.operators[0] if way.operators else ""
        return Wait(
            position=self.position[i],
            label=self.code[i].label,
            operator=operator,
            not_next=_sorted(way.not_next),
            absent=_sorted(way.absent) if operator else (),
            guards=way.guards,
            until=until,
            until_skipped=until_skipped if operator else (),
        )


def _scopes(code: list[Any]):
    """Yield for each instruction the UNTIL instructions whose element contains it, outermost first."""
    open_scopes: list[int] = []
    for i, x in enumerate(code):
        if isinstance(x, EnterUntil):
            open_scopes.append(i)
        yield tuple(open_scopes)
        if isinstance(x, LeaveUntil):
            open_scopes.pop()


def _sorted(labels) -> tuple[int, ...]:
    return tuple(sorted(labels))
