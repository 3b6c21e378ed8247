"""A compiled rule as the step of rules runs it, and what the operator needs besides the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakValueDictionary

import pyarrow as pa

from sqlext.errors import SqlExtError
from sqlext.expressions.column_values import cannot_fail
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.python_functions import PythonFunction
from sqlext.expressions.scalar_tree import Column, Scalar, columns_in
from sqlext.operators.match.stream_plan import StreamMatchPlan
from sqlext.operators.rows.columns import SortKey
from sqlext.operators.rules.limits import MAX_LENGTH, MAX_VERSIONS
from sqlext.operators.rules.openings import Opening, opening_of

CODE = "__code"  # the number of the key of a row, in one step
FIRST_TIME, LAST_TIME, MATCH_NUMBER = "__first_time", "__last_time", "__match_number"  # slots of every rule
RULE_NAME, RULE_VERSION, NUMBER = "rule_name", "rule_version", "match_number"  # columns of the result
FIRST_AT, LAST_AT, MEASURES = "first_time", "last_time", "measures"


@dataclass(frozen=True, kw_only=True)
class RulesPlan:
    """The plan of a step, which does not depend on the rules.

    `schema`: the columns of the events; `columns`: their Spark types; `keys`, `order`: PARTITION BY and ORDER BY, the
    event time first; `sort`: the order of rows with equal times; `functions`: the Python UDFs of the session, by their
    names in lower case. A stream takes up `max_versions`, of at most `max_length` characters. `chars`: the
    lengths of CHAR columns. `compile`: returns the plan of a clause, or raises SqlExtError; the compiler passes it in.
    The last five are not part of the state.
    """

    schema: pa.Schema
    columns: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    order: tuple[str, ...]
    sort: tuple[SortKey, ...]
    settings: ExecutionSettings
    max_versions: int = MAX_VERSIONS
    max_length: int = MAX_LENGTH
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)
    chars: Mapping[str, int] = field(default_factory=dict)
    compile: Callable[[str, RulesPlan], RulePlan]

    @property
    def time(self) -> str:
        return self.order[0]

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of the result."""
        time = self.schema.field(self.time).type
        return pa.schema(
            [
                (RULE_NAME, pa.string()),
                (RULE_VERSION, pa.int64()),
                (NUMBER, pa.int64()),
                *(self.schema.field(k) for k in self.keys),
                (FIRST_AT, time),
                (LAST_AT, time),
                (MEASURES, pa.map_(pa.string(), pa.string())),
            ]
        )


class CompiledRules:
    """The plan of each clause, or its error; each clause is compiled once.

    Once there are twice as many plans as a stream takes up versions, all are dropped: many belong to former versions.
    """

    def __init__(self, plan: RulesPlan):
        self.plan = plan
        self.plans: dict[str, RulePlan | SqlExtError] = {}

    def __call__(self, clause: str) -> RulePlan | SqlExtError:
        if clause not in self.plans:
            if len(self.plans) >= 2 * self.plan.max_versions:
                self.plans.clear()
            try:
                self.plans[clause] = self.plan.compile(clause, self.plan)
            except SqlExtError as e:
                self.plans[clause] = e
            except Exception as e:  # a text from a table never ends a stream
                self.plans[clause] = SqlExtError("RULE_FAILED", f"{type(e).__name__}: {e}"[:1000])
        return self.plans[clause]


@dataclass(frozen=True, kw_only=True)
class RulePlan:
    """`stream`: its schema has the columns that workers read, and its only key is CODE. `trees`: the expressions that
    compute these columns.

    `masks`: the expressions of each mask column; `measures`: expressions over the names of slots. `opening`: conditions
    of which at least one must hold on the row that begins a match; None if a match may begin on any row.
    """

    stream: StreamMatchPlan
    trees: Mapping[str, Scalar]
    masks: Mapping[str, tuple[Scalar, ...]]
    measures: Mapping[str, Scalar]
    opening: tuple[Scalar, ...] | None

    @cached_property
    def shape(self) -> Shape:
        """The shape that two plans have in common if they differ in nothing but their masks and their measures.

        All plans of a process have a hash, because their parts are frozen.
        """
        return _SHAPES.setdefault((self.stream, *self.trees.items()), Shape())

    @cached_property
    def openings(self) -> tuple[Opening, ...] | None:
        """The conditions `opening` with their tests."""
        return None if self.opening is None else tuple(map(opening_of, self.opening))

    @cached_property
    def fallible(self) -> tuple[Scalar, ...]:
        """The trees and masks that may fail on a row."""
        trees = (*self.trees.values(), *(tree for masks in self.masks.values() for tree in masks))
        return tuple(tree for tree in trees if not isinstance(tree, Column) and not cannot_fail(tree))

    @cached_property
    def fallible_parts(self) -> frozenset[Scalar]:
        """The parts of `opening` that may fail on a row."""
        return frozenset(part for opening in self.openings or () for part in opening.fallible)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The columns of the events that the rule reads."""
        trees = (*self.trees.values(), *(tree for masks in self.masks.values() for tree in masks))
        return frozenset(column.name for tree in trees for column in columns_in(tree))


class Shape:
    """Identifies plans of one shape. Shapes are compared by identity."""


_SHAPES: WeakValueDictionary[tuple, Shape] = WeakValueDictionary()  # the shapes of the plans that are in use
