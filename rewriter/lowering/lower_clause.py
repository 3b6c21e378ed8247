"""Lowers a parsed clause to its plan, in these steps:

| step | file |
|---|---|
| columns, keys and order of the input query | `input_query.py` |
| types of most parts, computed by one query | `ask_ahead` here |
| DEFINE: bits of masks and conditions | `lower_define.py` |
| WITHIN, conjuncts with the same meaning, row times | `lower_bounds.py` |
| MEASURES: slots and the text over them | `lower_measures.py` |
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from sqlext.errors import BindError, SqlExtError
from sqlext.pattern.cep.cep_task import cep_task
from sqlext.pattern.cep.nfa_compile import compile_nfa, is_contiguous, skeleton
from sqlext.pattern.program.compile import compile_pattern
from sqlext.pattern.program.program import Program
from sqlext.pattern.task.task import Condition, MatchTask, Output, Skip, Task
from sqlext.rewriter.lowering.input_query import (
    Context,
    InputRelation,
    carried,
    check_keys,
    keys_need_window,
    order_by,
    partition_by,
    shown,
    texts_of_order,
)
from sqlext.rewriter.lowering.lower_bounds import add_row_time, start_bounds, texts_of_within, within
from sqlext.rewriter.lowering.lower_define import Defined, DefineLowering
from sqlext.rewriter.lowering.lower_measures import Measures
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.scalars.row_filter import Pushable
from sqlext.rewriter.text.lexemes import names_in
from sqlext.rewriter.text.splice import Source


def lower(clause: MatchClause, source: Source, relation: InputRelation, strategy: str = "auto") -> MatchPlan:
    """The plan of one clause.

    Raises BindError (names, types) and UnsupportedError. The errors of all expressions of DEFINE, or of MEASURES, are
    raised together.
    """
    _check_columns_unique(clause, relation)
    labels, program = clause.labels, program_of(clause)
    context = Context(
        clause=clause,
        source=source,
        relation=relation,
        needs_times=relation.is_streaming or _needs_row_time(clause),
        needs_cep=needs_cep(clause),
    )
    check_keys(context)
    conditions, measures = DefineLowering(context), Measures(context)
    defined = conditions.definitions()
    ask_ahead(context, conditions, defined, measures)
    conditions.needs_window = keys_need_window(context)
    bounds, conditions.dropped = start_bounds(context, program, labels, defined)
    bits, dependent = conditions.lower(labels, defined)
    values = measures.lower()
    bounds += within(context)
    add_row_time(context)
    names, groups = carried(context)
    task = task_of(context, program, bits, dependent, is_within=bool(bounds), strategy=strategy)
    columns = shown(measures.of_matches(values) if task.output.shows_unmatched else values, groups)
    plan = plan_of(context, conditions, measures, task, names)
    return replace(plan, shown=columns, bounds=tuple(bounds), conjuncts=tuple(conditions.conjuncts))


def task_of(
    context: Context,
    program: Program,
    bits: tuple[int | None, ...],
    conditions: tuple[Condition | None, ...],
    *,
    is_within: bool,
    strategy: str,
) -> Task:
    """The task of the clause with these bits and conditions of its labels."""
    clause = context.clause
    task = MatchTask(
        program=program,
        bits=bits,
        conditions=conditions,
        skip=skip_of(context),
        output=_output_of(clause),
        is_within=is_within,
        strategy=strategy,
    )
    if not context.needs_cep:
        return task
    is_between = clause.within is not None and clause.within.between_rows
    return cep_task(task, compile_nfa(clause.pattern, clause.labels), is_between=is_between)


def plan_of(
    context: Context, conditions: DefineLowering, measures: Measures, task: Task, names: tuple[str, ...]
) -> MatchPlan:
    """The plan with this task and these carried columns. It shows nothing yet, and nothing bounds its matches."""
    return MatchPlan(
        clause=context.clause,
        relation=context.source.of(context.clause.relation),
        columns=tuple(context.columns),
        carried=names,
        masks=tuple(conditions.masks),
        partition_by=partition_by(context),
        order_by=order_by(context),
        task=task,
        operands=tuple(conditions.operands),
        slots=tuple(measures.slots),
        shown=(),
        bounds=(),
        needs_window=conditions.needs_window,
        input_types=context.relation.columns,
        pushable=Pushable(frozenset(name.lower() for name in context.relation.names)),
        chars=context.relation.chars,
        settings=context.relation.settings,
    )


def _check_columns_unique(clause: MatchClause, relation: InputRelation) -> None:
    """Raise BindError for two columns of one name that the result shows, or whose names differ only in case.

    Other such columns, for example the keys of a join, can be qualified by their relation: `a.k`.
    """
    hidden = relation.unread if clause.rows_per_match.is_all_rows else relation.ambiguous
    spellings: dict[str, str] = {}
    for name in relation.names:
        first = spellings.get(name.lower())
        if first is not None and (first != name or name.lower() not in hidden or relation.is_static):
            raise BindError(
                "DUPLICATE_COLUMN",
                f'the input has two columns "{name}"',
                place=clause.relation.place,
                hint="name its columns in a subquery, or give the relation column aliases.",
            )
        spellings[name.lower()] = name


def _needs_row_time(clause: MatchClause) -> bool:
    return any("match_rowtime" in names_in(m.expression) for m in clause.measures)


def needs_cep(clause: MatchClause) -> bool:
    """True if the clause requires more than preferred matches whose rows are neighbours."""
    return (
        not is_contiguous(clause.pattern)
        or clause.skip_mode.lists_all
        or (clause.within is not None and clause.within.between_rows)
        or clause.rows_per_match.shows_timeouts
    )


def program_of(clause: MatchClause) -> Program:
    """The program of the pattern. Raises UnsupportedError with its place."""
    try:
        return compile_pattern(skeleton(clause.pattern), clause.labels)
    except SqlExtError as e:
        raise e.with_(place=e.place or clause.pattern_text.place) from None


def skip_of(context: Context) -> Skip:
    """The Skip of the AFTER MATCH part."""
    after = context.clause.after_match
    if after is None:
        return Skip()
    labels = context.label_sets[after.target.key] if after.target else ()
    return Skip(after.mode, labels, after.else_next_row)


def _output_of(clause: MatchClause) -> Output:
    rows = clause.rows_per_match
    return Output(
        is_all_rows=rows.is_all_rows,
        shows_empty=rows.empty != "OMIT",
        shows_unmatched=rows.empty == "UNMATCHED",
        shows_timeouts=rows.shows_timeouts,
    )


def ask_ahead(context: Context, conditions: DefineLowering, defined: Defined, measures: Measures) -> None:
    """Let the resolver find the types of keys, of WITHIN, of DEFINE and of the arguments of aggregates in one query.

    One query takes some 20 ms, however many types it resolves. The resolver stores them, so the steps of lowering
    request the types again without a further query. If Spark refuses a part, nothing is stored, and the step of that
    part reports the error.
    """
    if context.relation.is_static:
        return
    texts = [*partition_by(context), *texts_of_order(context), *texts_of_within(context)]
    with suppress(SqlExtError):
        context.relation.resolver.types([*texts, *conditions.texts_to_type(defined), *measures.texts_to_type()])
