"""Nfa → a contiguous program whose skipped rows have labels of their own, so that every strategy can run it.

A wait of the Nfa becomes

    wait: split take, skip
    take: label of the row that is taken; jump to what follows its position
    skip: label of a gap; jump to the next wait of the path

What a row must satisfy besides its variable (no N, no S, no row of a possessive loop) makes another *variant* of the
label, with a mask bit of its own. `preferred_match` drops the gaps of a match and turns variants back
into their variables.

A pending Final, which rows after the match decide, makes a variant of the last row's label, too: in batch these rows
are present, and `ends.horizon` looks ahead.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache

from sqlext.pattern.cep.nfa import Final, Formula, Nfa, Target, Wait, skips, takes
from sqlext.pattern.program.program import Done, Instruction, Jump, MatchEnd, MatchLabel, MatchStart, Program, Split

GAP = -1  # Variant.origin
_NOWHERE = 0  # the target of a jump to itself: the path cannot continue


@dataclass(frozen=True)
class Variant:
    """A label of the desugared program: `origin` is the variable's label or GAP, and a row satisfies `formula`. `final`
    is not None where rows after the match decide whether it may end with the row."""

    origin: int
    formula: Formula
    final: Final | None = None


@dataclass(frozen=True)
class DesugaredProgram:
    """`variants[l]` is label l of `program`."""

    program: Program
    variants: tuple[Variant, ...]


@lru_cache(maxsize=64)
def desugared_program(nfa: Nfa) -> DesugaredProgram:
    """The program that finds the same matches, with their gaps.

    >>> from sqlext.pattern.cep.nfa_compile import compile_nfa
    >>> from sqlext.pattern.program.ast import Concatenation, Relaxed, Variable
    >>> pattern = Concatenation((Variable("A"), Relaxed("->", Variable("B"))))
    >>> print(desugared_program(compile_nfa(pattern, ("A", "B"))).program)
    0: jump 1
    1: jump 9
    2: jump 4
    3: jump 11
    4: split 5, 7
    5: label B
    6: jump 3
    7: label B skipped
    8: jump 4
    9: label A
    10: jump 2
    11: done
    """
    return _ProgramBuilder(nfa=nfa).built()


@dataclass(kw_only=True)
class _ProgramBuilder:
    """Blocks of instructions whose targets are still keys. Only a target that follows a row may be placed before it."""

    nfa: Nfa
    variants: dict[Variant, int] = field(default_factory=dict)
    blocks: dict[Hashable, list[tuple]] = field(default_factory=dict)
    todo: list[Wait] = field(default_factory=list)

    def built(self) -> DesugaredProgram:
        closures = self._closures()
        while self.todo:
            wait = self.todo.pop()
            if wait not in self.blocks:
                self.blocks[wait] = self._wait(wait)
        code = [instruction for block in (*closures.values(), *self.blocks.values()) for instruction in block]
        needs_end = any("end" in x[1:] for x in code)
        at: dict[Hashable, int] = {"end": len(code), "done": len(code) + needs_end}
        place = 0
        for key, block in (*closures.items(), *self.blocks.items()):
            at[key] = place
            place += len(block)
        instructions = [_instruction(x, i, at) for i, x in enumerate(code)]
        labels = tuple(map(self._name, self.variants))
        end = (MatchEnd(),) if needs_end else ()
        return DesugaredProgram(Program((*instructions, *end, Done()), labels), tuple(self.variants))

    def _name(self, variant: Variant) -> str:
        """The name of a label; for a gap, the name of the variable that the row was tested for."""
        if variant.origin != GAP:
            return self.nfa.labels[variant.origin]
        tested = next((self.nfa.labels[clause[0][0]] for clause in variant.formula[::-1] if clause), "row")
        return f"{tested} skipped"

    def _closures(self) -> dict[Hashable, list[tuple]]:
        start = ("closure", self.nfa.start)
        closures: dict[Hashable, list[tuple]] = {"start": [("jump", start)]}
        if self.nfa.partition_start != self.nfa.start:
            first = ("closure", self.nfa.partition_start)
            closures["start"] = [("split", +1, start), (MatchStart(),), ("jump", first)]
            closures[first] = self._closure(self.nfa.partition_start)
        closures[start] = self._closure(self.nfa.start)
        for targets in self.nfa.after:
            for run in _runs(targets):
                if not isinstance(run, Final):
                    closures[("closure", run)] = self._closure(run)
        return closures

    def _closure(self, targets: tuple[Target, ...]) -> list[tuple]:
        keys: list[Hashable] = []
        for target in targets:
            if isinstance(target, Wait):
                self.todo.append(target)
            keys.append(target if isinstance(target, Wait) else "end" if target.at_end else "done")
        if not keys:
            return [("jump", _NOWHERE)]
        return [*(("split", key, +1) for key in keys[:-1]), ("jump", keys[-1])]

    def _wait(self, wait: Wait) -> list[tuple]:
        is_hidden = self.nfa.positions[wait.position][1]
        ways: list[tuple[MatchLabel, Hashable]] = []
        for run in _runs(self.nfa.after[wait.position]):
            final = run if isinstance(run, Final) else None
            label = self._label(Variant(wait.label, takes(wait), final))
            target: Hashable = ("closure", run)
            if final is not None:
                target = "end" if final.at_end else "done"
            ways.append((MatchLabel(label, is_hidden), target))
        if not ways:  # no match can follow, as in `A B ^`, but the partial match A waits for the row of B
            label = self._label(Variant(wait.label, takes(wait)))
            ways.append((MatchLabel(label, is_hidden), _NOWHERE))
        for formula, left in skips(wait):
            self.todo.append(left)
            ways.append((MatchLabel(self._label(Variant(GAP, formula))), left))
        block: list[tuple] = []
        for i, (instruction, target) in enumerate(ways):
            block += [*([("split", +1, +3)] if i < len(ways) - 1 else []), (instruction,), ("jump", target)]
        return block

    def _label(self, variant: Variant) -> int:
        return self.variants.setdefault(variant, len(self.variants))


def _runs(targets: tuple[Target, ...]) -> list[Final | tuple[Target, ...]]:
    """The targets in order, with the targets between two pending ones in one group."""
    runs: list[Final | tuple[Target, ...]] = []
    for target in targets:
        if isinstance(target, Final) and target.is_pending:
            runs.append(target)
        elif runs and isinstance(runs[-1], tuple):
            runs[-1] = (*runs[-1], target)
        else:
            runs.append((target,))
    return runs


def _instruction(x: tuple, i: int, at: dict[Hashable, int]) -> Instruction:
    """The instruction with absolute targets. A target is a key, or an int relative to the instruction."""

    def target(key: Hashable) -> int:
        return i + key if isinstance(key, int) else at[key]

    if x[0] == "split":
        return Split(target(x[1]), target(x[2]))
    return Jump(target(x[1])) if x[0] == "jump" else x[0]
