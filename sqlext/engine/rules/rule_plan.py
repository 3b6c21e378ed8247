"""A compiled rule as the step of rules runs it, and what the operator needs to know beside the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from sqlext.engine.rules.compile_rule import CompiledRule, compile_rule
from sqlext.engine.stream import stream_checks
from sqlext.engine.stream.stream_plan import SortKey, StreamPlan, stream_facts
from sqlext.engine.worker.worker_plan import MASK_BITS, WorkerPlan, mask_names
from sqlext.errors import SqlExtError
from sqlext.expressions.function import Settings
from sqlext.expressions.python_functions import PythonFunction
from sqlext.expressions.scalar_tree import Scalar, columns_in
from sqlext.pattern.automaton import DONE, automaton, targets_from
from sqlext.pattern.program import MatchStart
from sqlext.pattern.strategy import choose_on_stream
from sqlext.pattern.task import Navigation
from sqlext.rewriter.match.match_plan import ROW_TIME, WITHIN_KEY, Slot
from sqlext.rewriter.rule_text import MAX_LENGTH

CODE = "__code"  # the number of the key of a row, in one step
FIRST_TIME, LAST_TIME, MATCH_NUMBER = "__first_time", "__last_time", "__match_number"  # slots of every rule
RULE_NAME, RULE_VERSION, NUMBER = "rule_name", "rule_version", "match_number"  # columns of the result
FIRST_AT, LAST_AT, MEASURES = "first_time", "last_time", "measures"
MAX_VERSIONS = 10_000  # that a stream takes up, if no setting says otherwise


@dataclass(frozen=True, kw_only=True)
class RulesPlan:
    """What a step needs to know, whichever rules there are.

    `schema`: the columns of the events; `columns`: their Spark types; `keys`, `order`: PARTITION BY and ORDER BY, the
    event time first; `sort`: the order of rows with equal times; `functions`: the Python UDFs of the session, by their
    names in lower case. A stream takes up `max_versions`, of at most `max_length` characters. The last three are not
    part of the state.
    """

    schema: pa.Schema
    columns: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    order: tuple[str, ...]
    sort: tuple[SortKey, ...]
    settings: Settings
    max_versions: int = MAX_VERSIONS
    max_length: int = MAX_LENGTH
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)

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

    def compiled(self, clause: str) -> RulePlan:
        """Raises SqlExtError."""
        rule = compile_rule(clause, self.columns, self.keys, self.order, self.settings, self.max_length, self.functions)
        return rule_plan(rule, self)


class CompiledRules:
    """The plan of each clause, or what is wrong with it; each is compiled once."""

    def __init__(self, plan: RulesPlan):
        self.plan = plan
        self.plans: dict[str, RulePlan | SqlExtError] = {}

    def __call__(self, clause: str) -> RulePlan | SqlExtError:
        if clause not in self.plans:
            try:
                self.plans[clause] = self.plan.compiled(clause)
            except SqlExtError as e:
                self.plans[clause] = e
            except Exception as e:  # a text from a table never ends a stream
                self.plans[clause] = SqlExtError("RULE_FAILED", f"{type(e).__name__}: {e}"[:1000])
        return self.plans[clause]


@dataclass(frozen=True, kw_only=True)
class RulePlan:
    """`stream`: its schema is that of the columns which workers read; the only key is CODE. `trees`: what computes
    these columns; `masks`: each mask column's trees. `opening`: the bits of which a row must have one to begin a match,
    None if any row may be the first that counts."""

    rule: CompiledRule
    stream: StreamPlan
    trees: Mapping[str, Scalar]
    masks: Mapping[str, tuple[Scalar, ...]]
    opening: tuple[int, ...] | None

    @cached_property
    def reads(self) -> frozenset[str]:
        """The columns of the events that the rule reads."""
        trees = (*self.trees.values(), *(tree for masks in self.masks.values() for tree in masks))
        return frozenset(column.name for tree in trees for column in columns_in(tree))


def rule_plan(rule: CompiledRule, plan: RulesPlan) -> RulePlan:
    """The plan of a rule; a mask column whose conditions are all TRUE is left out, as in other clauses."""
    match, groups = rule.plan, _mask_columns(rule)
    time = WITHIN_KEY if match.clause.within else ROW_TIME
    worker = WorkerPlan(
        task=match.task,
        masks=tuple(groups),
        neighbours=tuple((b, mask.neighbours) for b, mask in enumerate(match.masks) if mask.neighbours),
        operands=match.operands,
        carried=(CODE,),
        partition_by=(CODE,),
        slots=(*match.slots, *_own_slots(time)),
        bounds=match.bounds,
        is_ansi=plan.settings.is_ansi,
    )
    slots = tuple(slot for slot in worker.slots if slot.kind != "rowtime")
    facts = stream_facts(match.task, (mask.neighbours for mask in match.masks), slots, needs_times=True)
    back = stream_checks.rows_read_back(match)
    keeps_all_keys = any(isinstance(x, MatchStart) for x in match.task.program.instructions)
    stream = StreamPlan(
        worker=worker,
        schema=pa.schema([(CODE, pa.int64())]),
        time=time,
        back=back,
        counts_matches=True,
        keeps_all_keys=keeps_all_keys,
        skips_failures=True,
        engine=choose_on_stream(match.task, facts)[0],
    )
    opening = None if back or keeps_all_keys else _opening(rule)
    return RulePlan(rule=rule, stream=stream, trees=rule.columns, masks=groups, opening=opening)


def _mask_columns(rule: CompiledRule) -> dict[str, tuple[Scalar, ...]]:
    if all(str(mask.rest) == "TRUE" for mask in rule.plan.masks):
        return {}
    names = mask_names(len(rule.masks))
    return {name: rule.masks[i * MASK_BITS : (i + 1) * MASK_BITS] for i, name in enumerate(names)}


def _own_slots(time: str) -> tuple[Slot, ...]:
    first, last = Navigation(argument=0, from_first=True, is_final=True), Navigation(argument=0, is_final=True)
    return (
        Slot(kind="value", name=FIRST_TIME, columns=(time,), navigation=first),
        Slot(kind="value", name=LAST_TIME, columns=(time,), navigation=last),
        Slot(kind="match number", name=MATCH_NUMBER),
    )


def _opening(rule: CompiledRule) -> tuple[int, ...] | None:
    """The bits of the variables that may take the first row; None if one has none, or a match may be empty."""
    task = rule.plan.task
    tables = automaton(task.program, task.bits)
    begins = targets_from(tables.graph, 0, at_start=True)
    if DONE in begins:
        return None
    bits = [task.bits[label] for label in np.asarray(tables.label)[begins].tolist()]
    return None if None in bits or not _mask_columns(rule) else tuple(sorted({b for b in bits if b is not None}))
