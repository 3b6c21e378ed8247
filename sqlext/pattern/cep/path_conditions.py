"""Run-dependent conditions over the mapped rows of a path, without its gaps.

The conditions of DEFINE see mapped rows only, and count the row that is tested as mapped to the tested variable. They
are evaluated in two ways:

- `PathEvaluator` evaluates them on the path without its gaps, for matchers in Python;
- `Rewriting` expresses them over a path that has gaps, for compiled matchers. In the desugared program gaps are mapped,
  too, and a skipped row is tested for variables that it is not mapped to ("not B", "no N"). Other sets of labels and
  other offsets account for both where that is possible; where it is not, the task is left to Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple

from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Constant, Read, ScalarCall
from sqlext.pattern.cep.cep_task import CepTask, local_truth
from sqlext.pattern.cep.desugared_program import GAP, DesugaredProgram, Variant
from sqlext.pattern.cep.nfa import Clause, Final
from sqlext.pattern.conditions import conditions
from sqlext.pattern.conditions.condition_reads import source_reads_labels
from sqlext.pattern.task.task import (
    CLASSIFIERS,
    MATCH_NUMBER,
    Aggregate,
    Condition,
    InterpretedAggregate,
    Literal,
    MachineCall,
    Navigation,
    Operand,
    Rows,
)


class MappedPath(NamedTuple):
    """The mapped rows of a path and their labels, which are the user's; the partition (its first row and its end); the
    MATCH_NUMBER() of the match."""

    rows: tuple[int, ...]
    labels: tuple[int, ...]
    partition: tuple[int, int]
    number: int

    def extended(self, row: int, label: int) -> MappedPath:
        """The path with one more mapped row."""
        return MappedPath((*self.rows, row), (*self.labels, label), self.partition, self.number)


def without_gaps(
    program: DesugaredProgram, start: int, variants: list[int], partition: tuple[int, int], number: int
) -> MappedPath:
    """The mapped rows of a path of the desugared program that maps the rows from `start` on to `variants`."""
    origins = [program.variants[v].origin for v in variants]
    rows = tuple(start + j for j, origin in enumerate(origins) if origin != GAP)
    return MappedPath(rows, tuple(origin for origin in origins if origin != GAP), partition, number)


class PathEvaluator:
    """The conditions of a task, row-local ones included."""

    def __init__(self, task: CepTask, rows: Rows):
        self.task, self.rows, self.truth = task, rows, local_truth(task, rows)

    def known(self, label: int, row: int) -> bool | None:
        """Whether a row satisfies a label; None if that depends on the path."""
        is_possible = bool(self.truth[label, row])
        return None if is_possible and self.task.conditions[label] is not None else is_possible

    def holds(self, path: MappedPath, label: int, row: int) -> bool:
        """Whether a row satisfies a label if the path maps it next."""
        known = self.known(label, row)
        return self.evaluate(path, label, row) is True if known is None else known

    def evaluate(self, path: MappedPath, label: int, row: int) -> bool | None:
        """The value of the condition of a label, which depends on the path, on a row if the path maps it next."""
        condition, rows = self.task.conditions[label], (*path.rows, row)
        assert condition is not None
        evaluated = conditions.Path(
            rows=self.rows,
            names=self.task.program.labels,
            partition=path.partition,
            start=rows[0],
            labels=(*path.labels, label),
            number=path.number,
            taken=rows,
        )
        return conditions.verdict(condition, evaluated)


_NO_BOUND = 1 << 62
_OF_SPARK = {"if": "if", "equal": "=", "less": "<", "add": "+"}  # functions of MachineCall → of ScalarCall
_SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")  # these functions of counts do not depend on the settings


class NotExpressible(Exception):
    """The condition cannot be expressed over a path with gaps."""


@dataclass(kw_only=True)
class Rewriting:
    """The conditions of the variants of a desugared program.

    `columns` are the columns that the conditions read after the first `n_columns` of Rows: ("row",), ("limit",),
    ("low", final) and ("high", final) as in `ends.horizon`, and ("bit", label).
    """

    task: CepTask
    program: DesugaredProgram
    n_columns: int
    columns: list[tuple] = field(default_factory=list)

    def condition(self, variant: Variant) -> Condition | None:
        """The condition of a variant in addition to its mask bit, None if the bit is enough. Raises NotExpressible."""
        parts = [self._clause(c, variant) for c in variant.formula if any(self._is_dependent(x) for x, _ in c)]
        if self.task.is_between:
            earlier = Navigation(
                argument=self._column("limit"), labels=self._real(None), offset=0 if variant.origin == GAP else 1
            )
            row = Operand(Navigation(argument=self._column("row")), "int")
            parts.append(MachineCall(function="less", arguments=(row, Operand(earlier, "int", _NO_BOUND)), kind="bool"))
        final = variant.final
        if final is not None and any(map(self._is_dependent, final.forbidden)):
            raise NotExpressible
        if final is not None and self.depends_on_start(final):
            bound = Operand(Navigation(argument=self._column("limit"), from_first=True), "int")
            low = Operand(Navigation(argument=self._column("low", final)), "int")
            high = Operand(Navigation(argument=self._column("high", final)), "int")
            parts += [
                MachineCall(function="less_equal", arguments=(low, bound), kind="bool"),
                MachineCall(function="less_equal", arguments=(bound, high), kind="bool"),
            ]
        return reduce(lambda x, y: MachineCall(function="and", arguments=(x, y), kind="bool"), parts) if parts else None

    def depends_on_start(self, final: Final) -> bool:
        """True if the start of the match determines how far a pending end must look."""
        return final.is_pending and self.task.is_within and not self.task.is_between

    def _is_dependent(self, label: int) -> bool:
        return self.task.conditions[label] is not None

    def _column(self, *name) -> int:
        if name not in self.columns:
            self.columns.append(name)
        return self.n_columns + self.columns.index(name)

    def _real(self, labels: tuple[int, ...] | None) -> tuple[int, ...]:
        """The variants of these variables."""
        return tuple(
            i for i, v in enumerate(self.program.variants) if v.origin != GAP and (labels is None or v.origin in labels)
        )

    def _clause(self, clause: Clause, variant: Variant) -> Condition:
        if len(clause) == 1 and clause[0][1]:  # its bit is in the mask
            return self._tested(clause[0][0], variant)
        return reduce(
            lambda x, y: MachineCall(function="or", arguments=(x, y), kind="bool"),
            [self._literal(label, variant, is_satisfied=is_satisfied) for label, is_satisfied in clause],
        )

    def _literal(self, label: int, variant: Variant, *, is_satisfied: bool) -> Condition:
        holds: Condition = Literal(True, "bool")
        if self.task.bits[label] is not None:
            holds = Operand(Navigation(argument=self._column("bit", label)), "bool")
        if self._is_dependent(label):
            known = MachineCall(
                function="coalesce", arguments=(self._tested(label, variant), Literal(False, "bool")), kind="bool"
            )
            holds = MachineCall(function="and", arguments=(holds, known), kind="bool")
        return holds if is_satisfied else MachineCall(function="not", arguments=(holds,), kind="bool")

    def _tested(self, label: int, variant: Variant) -> Condition:
        """The condition of a label on the current row, which the path maps to the variant."""
        condition = self.task.conditions[label]
        assert condition is not None
        return _Tested(self, label, variant.origin).rewritten(condition)


@dataclass
class _Tested:
    """A test in which the current row counts as mapped to `label`; the program maps it to a variant of `origin`."""

    rewriting: Rewriting
    label: int
    origin: int

    def rewritten(self, condition: Condition) -> Any:
        """The condition over the path with gaps; a Scalar remains a Scalar."""
        if isinstance(condition, (MachineCall, ScalarCall)):
            return replace(condition, arguments=tuple(map(self.rewritten, condition.arguments)))
        if not isinstance(condition, (Operand, Read)):
            return condition
        if isinstance(condition.source, Aggregate):
            return self._aggregate(condition, condition.source)
        if isinstance(condition, Read) and isinstance(condition.source, InterpretedAggregate):
            return self._interpreted_aggregate(condition, condition.source)
        if condition.source.argument == MATCH_NUMBER:
            return condition
        if condition.source.by_label or condition.source.expression is not None:
            raise NotExpressible
        return self._navigation(condition, condition.source)

    def _shift(self, labels: tuple[int, ...] | None) -> int:
        """1 if the current row should count among `labels` but does not, -1 if it counts but should not."""
        should = labels is None or self.label in labels
        does = self.origin != GAP and (labels is None or self.origin in labels)
        return should - does

    def _navigation(self, operand: Operand | Read, source: Navigation) -> Condition:
        counts, shift = source.labels is None or self.label in source.labels, self._shift(source.labels)
        if source.argument in CLASSIFIERS and (source.step or (counts and self.origin != self.label) or shift):
            raise NotExpressible
        labels, offset = self.rewriting._real(source.labels), source.offset
        if source.from_first:
            return self._from_first(operand, replace(source, labels=labels), shift)
        if counts and offset == 0:
            return replace(operand, source=replace(source, labels=None))  # the current row, whether it is a gap or not
        return replace(operand, source=replace(source, labels=labels, offset=offset - shift))

    def _from_first(self, operand: Operand | Read, source: Navigation, shift: int) -> Condition:
        if shift == 0:
            return replace(operand, source=source)
        if shift < 0:
            raise NotExpressible
        count, n, missing = _count(operand, source.labels), _number(operand, source.offset), _missing(operand)
        current = replace(operand, source=replace(source, labels=None, from_first=False, offset=0))
        last = _call("if", operand, _comparison("equal", n, count), current, missing)
        return _call("if", operand, _comparison("less", n, count), replace(operand, source=source), last)

    def _interpreted_aggregate(self, operand: Read, source: InterpretedAggregate) -> Condition:
        if self._shift(source.labels) or source_reads_labels(source):
            raise NotExpressible
        return replace(operand, source=replace(source, labels=self.rewriting._real(source.labels)))

    def _aggregate(self, operand: Operand | Read, source: Aggregate) -> Condition:
        shift = self._shift(source.labels)
        if source.argument in CLASSIFIERS and (shift or self.origin != self.label):
            raise NotExpressible
        real = replace(operand, source=replace(source, labels=self.rewriting._real(source.labels)))
        if shift == 0:
            return real
        if source.argument is not None:
            raise NotExpressible
        return _call("add", operand, real, _number(operand, shift))


# --- parts of a condition, compiled or interpreted as the operand `like` ----------------------------------------------


def _number(like: Operand | Read, value: int) -> Condition:
    return Constant(value, "bigint") if isinstance(like, Read) else Literal(value, "int")


def _missing(like: Operand | Read) -> Condition:
    """The value of an operand that reaches no row."""
    return Constant(None, like.type) if isinstance(like, Read) else Literal(like.missing, like.kind)


def _count(like: Operand | Read, labels: tuple[int, ...] | None) -> Operand | Read:
    count = Aggregate(function="count", labels=labels)
    return Read(count, "bigint") if isinstance(like, Read) else Operand(count, "int")


def _comparison(function: str, number: Any, count: Operand | Read) -> Condition:
    if isinstance(count, Read):
        return ScalarCall(function=_OF_SPARK[function], arguments=(number, count), type="boolean", settings=_SETTINGS)
    return MachineCall(function=function, arguments=(number, count), kind="bool")


def _call(function: str, like: Operand | Read, *arguments: Any) -> Condition:
    """A function whose value is of the type of `like`."""
    if isinstance(like, Read):
        return ScalarCall(function=_OF_SPARK[function], arguments=arguments, type=like.type, settings=_SETTINGS)
    return MachineCall(function=function, arguments=arguments, kind=like.kind)
