"""The strategy `lead`: Spark's window functions alone find patterns of a fixed length, without Python workers.

relation → keys, order, conditions, arguments → one window: whether a match starts here, what measures read → filter

It is exact only where no two candidates overlap (`refusal`): AFTER MATCH SKIP is sequential, and no window function can
know where the previous match ended. `A B B` on 200,000 rows had 12,676 candidates for 9,156 matches.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from sqlext.engine.match.run_batch import shown_query
from sqlext.engine.queries.queries import Queries
from sqlext.operators.match.plan import Bound, Slot
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.program.program import Done, Jump, MatchLabel, Program
from sqlext.pattern.task.skip import numbered, resume_row
from sqlext.pattern.task.task import Navigation, Skip
from sqlext.rewriter.conditions.contradiction import contradict
from sqlext.rewriter.lowering.match_plan import WINDOW, MatchPlan
from sqlext.rewriter.lowering.operator_plan import sort_keys
from sqlext.rewriter.scalars.row_filter import evaluated
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, TextLike, join

NAME = "lead"
MAX_ROWS = 8  # the most rows of a match: Spark keeps a frame for each distance
MAX_DISTANCE = (1 << 31) - 1  # the greatest distance for lead(); no partition is longer
MASK, IS_MATCH = "__mask", "__is_match"
Labels = tuple[int, ...]


def run_lead(plan: MatchPlan, queries: Queries, prefix: Text) -> DataFrame:
    """The clause's result. `prefix`: the WITH clause that the relation may need."""
    return queries.run(lead_query(plan, prefix))


def reason(plan: MatchPlan) -> str:
    """The reason why lead can run a plan that it does not refuse."""
    labels = fixed_labels(plan.task.program) or ()
    if len(labels) == 1:
        return "PATTERN is a single row: Spark decides it without Python."
    every_row = resume_distance(plan.task.skip, labels) == 1
    why = "from every row" if every_row else "whose candidates cannot overlap"
    return f"PATTERN is a fixed sequence of {len(labels)} rows {why}: Spark's lead() decides it without Python."


def needs_window(plan: MatchPlan) -> bool:
    """Return True if the query needs a window.

    A pattern of a single row that reads no neighbours does not need one: nothing is shuffled or sorted.
    """
    return f" OVER {WINDOW}" in str(lead_query(plan, Text()))


# whether lead is exact


def refusal(plan: MatchPlan) -> str | None:
    """The reason why lead cannot run a plan, as a sentence, or None."""
    return next((reason for rule in RULES if (reason := rule(plan))), None)


def _is_clause(plan: MatchPlan) -> str | None:
    return "a window has a match for each of its rows." if plan.task.frame is not None else None


def _is_fixed(plan: MatchPlan) -> str | None:
    if isinstance(plan.task, CepTask):
        return "the rows of a match need not be neighbours, or every match is returned."
    labels = fixed_labels(plan.task.program)
    if not labels:
        return "PATTERN is not one fixed sequence of variables."
    if len(labels) > MAX_ROWS:
        return f"PATTERN is a sequence of {len(labels):,} rows, over {MAX_ROWS}."
    return None


def _is_one_row(plan: MatchPlan) -> str | None:
    return "lead returns ONE ROW PER MATCH only." if plan.task.output.is_all_rows else None


def _is_row_local(plan: MatchPlan) -> str | None:
    task = plan.task
    dependent = [name for name, condition in zip(task.program.labels, task.conditions) if condition is not None]
    return f"the condition of {', '.join(dependent)} depends on the rows matched so far." if dependent else None


def _has_no_overlaps(plan: MatchPlan) -> str | None:
    labels, skip = fixed_labels(plan.task.program) or (), plan.task.skip
    distance = resume_distance(skip, labels)
    if distance is None:
        return f"AFTER MATCH {skip.mode.text} would be an error at the first match."
    for shift in range(1, distance):
        if not any(_exclude(plan, labels[j + shift], labels[j]) for j in range(len(labels) - shift)):
            apart = "1 row" if shift == 1 else f"{shift} rows"
            return f"two candidates may begin {apart} apart, as far as is known, and {skip.mode.text} takes only one."
    return None


def _has_simple_measures(plan: MatchPlan) -> str | None:
    labels = fixed_labels(plan.task.program) or ()
    for slot in plan.slots:
        if slot.kind == "match number":
            return "MATCH_NUMBER() counts matches."
        if slot.kind == "rowtime":
            return "MATCH_ROWTIME() depends on all earlier matches."
        if _slot_value(slot, plan.task.program, labels) is None:
            distinct = "DISTINCT " if slot.aggregate.is_distinct else ""
            return f"lead does not compute {slot.aggregate.function}({distinct}…) of {_rows(slot, labels)}."
    return None


def _rows(slot: Slot, labels: Labels) -> str:
    n = len(_members(slot.aggregate.labels, labels))
    return "1 row" if n == 1 else f"{n} rows"


RULES: tuple[Callable[[MatchPlan], str | None], ...] = (
    _is_clause,
    _is_fixed,
    _is_one_row,
    _is_row_local,
    _has_no_overlaps,
    _has_simple_measures,
)


def fixed_labels(program: Program) -> Labels | None:
    """The labels of a match's rows if all matches have the same labels; None for branches, anchors and hidden rows.

    >>> fixed_labels(Program((MatchLabel(0), MatchLabel(1), MatchLabel(1), Done()), ("A", "B")))
    (0, 1, 1)
    """
    labels: list[int] = []
    at = 0
    for _ in program.instructions:
        instruction = program.instructions[at]
        if isinstance(instruction, Done):
            return tuple(labels)
        if isinstance(instruction, MatchLabel) and not instruction.is_hidden:
            labels.append(instruction.label)
            at += 1
        elif isinstance(instruction, Jump):
            at = instruction.target
        else:
            return None
    return None


def resume_distance(skip: Skip, labels: Labels) -> int | None:
    """How many rows after the start row of a match the search resumes, None where AFTER MATCH SKIP fails.

    >>> from sqlext.pattern.task.skip_mode import SKIP_TO_LAST
    >>> resume_distance(Skip(SKIP_TO_LAST, (1,)), (0, 1, 1, 2))
    2
    """
    distance = resume_row(skip, 0, numbered(0, labels))
    return distance if isinstance(distance, int) else None


def _exclude(plan: MatchPlan, one: int, other: int) -> bool:
    """Return True if no row can satisfy both labels."""
    return contradict(_condition(plan, one), _condition(plan, other), dict(plan.input_types))


def _condition(plan: MatchPlan, label: int) -> str:
    bit = plan.task.bits[label]
    return "TRUE" if bit is None else str(plan.masks[bit].text)


def _members(labels: Labels | None, of: Labels) -> list[int]:
    """The rows of a match with the labels `of` that have a label in `labels` (None: all rows), counted from 0."""
    return [j for j, label in enumerate(of) if labels is None or label in labels]


# the query


def lead_query(plan: MatchPlan, prefix: Text) -> Text:
    """The whole plan as one query, if lead does not refuse it: the filter is directly above the window."""
    program = plan.task.program
    labels = fixed_labels(program) or ()
    columns: list[TextLike] = list(plan.carried)
    columns += [join(_slot_value(slot, program, labels) or "", f" AS {slot.name}") for slot in plan.slots]
    columns.append(f"{' AND '.join(_tests(plan, labels))} AS {IS_MATCH}")
    keys = ", ".join(plan.carried[: len(plan.partition_by)])
    order = ", ".join(name + direction for name, _, direction in sort_keys(plan))
    window = (f"PARTITION BY {keys} " if keys else "") + f"ORDER BY {order}"
    rows = join("(SELECT ", join(*columns, separator=",\n       "), "\nFROM (", row_query(plan), ")\n")
    # Of a single row, Spark can see through IS_MATCH to the conditions, and push them into the scan.
    are_pushed = plan.pushable.are_safe(conditions(plan))
    is_match = join(IS_MATCH) if are_pushed else evaluated(IS_MATCH)
    return join(prefix, shown_query(plan, join(rows, f"WINDOW {WINDOW} AS ({window}))")), " WHERE ", is_match)


def conditions(plan: MatchPlan) -> list[Text]:
    """What decides whether a match starts at a row."""
    ends = {name for bound in plan.bounds for name in (bound.key, bound.end)}
    return [*(plan.masks[b].text for b in _bits(plan)), *(c.text for c in plan.columns if c.name in ends)]


def row_query(plan: MatchPlan) -> Text:
    """The query below the window: the values that each row determines alone."""
    columns = [join(_shown(c.computed), f" AS {c.name}") for c in plan.columns]
    columns += [join(text, f" AS {name}") for name, text, _ in sort_keys(plan) if name not in _names(plan)]
    masks = [plan.masks[b] for b in _bits(plan)]
    columns += [join(_packed([m.text for m in masks]), f" AS {MASK}")] if masks else []
    query = join("SELECT ", join(*columns, separator=",\n       "), "\nFROM ", plan.input)
    reads_neighbours = any(str(m.text) != str(m.rest) for m in masks)
    return join(query, f"\nWINDOW {WINDOW} AS (", plan.window, ")") if reads_neighbours else query


def _packed(conditions: list[Text]) -> Text:
    """The conditions as one integer with a bit for each: in the shuffle every column takes eight bytes of each row."""
    parts = [join("IF(", text, f", {1 << n}S, 0S)") for n, text in enumerate(conditions)]
    return join(*parts, separator=" | ")


def _names(plan: MatchPlan) -> set[str]:
    return {c.name for c in plan.columns}


def _bits(plan: MatchPlan) -> list[int]:
    """The bits of the task that the pattern needs."""
    bits = (plan.task.bits[label] for label in fixed_labels(plan.task.program) or ())
    return list(dict.fromkeys(b for b in bits if b is not None))


def _tests(plan: MatchPlan, labels: Labels) -> list[str]:
    """The conditions under which a match starts at a row."""
    bits, masks = [plan.task.bits[label] for label in labels], _bits(plan)
    tests = [f"({_at(MASK, row)} & {1 << masks.index(b)}S) <> 0S" for row, b in enumerate(bits) if b is not None]
    if bits[-1] is None and len(labels) > 1:
        tests.append(_at("TRUE", len(labels) - 1))  # there must be such a row
    return [*tests, *(t for bound in plan.bounds for t in _within(bound, len(labels)))] or ["TRUE"]


def _within(bound: Bound, n: int) -> list[str]:
    """Conditions that the last key is within the bound, and that each key before it is, unless it is NULL."""
    first = 1 if bound.admits_start else 0
    if first == n:
        return []
    key = _at(bound.key, n - 1)
    compared = f"{key} {'<=' if bound.is_inclusive else '<'} {bound.end}"
    if bound.last and not bound.is_inclusive:
        compared = f"({compared} OR ({bound.end} = {bound.last} AND {key} IS NOT NULL))"
    return [compared] if first == n - 1 else [compared, f"{_at(bound.key, first)} IS NOT NULL"]


def _at(name: str, row: int) -> str:
    """A column's value `row` rows after the current row, NULL outside the partition."""
    if row == 0:
        return name
    return f"{'lead' if row > 0 else 'lag'}({name}, {abs(row)}) OVER {WINDOW}"


# measures


def _slot_value(slot: Slot, program: Program, labels: Labels) -> TextLike | None:
    """The expression of a slot over the rows of the window, None if lead cannot compute it."""
    if slot.kind == "value":
        row = reached_row(slot.navigation, labels)
        return f"IF(TRUE, NULL, {slot.columns[0]})" if row is None else _at(slot.columns[0], row)
    if slot.kind == "classifier":
        row = reached_row(slot.navigation, labels)
        is_mapped = row is not None and 0 <= row < len(labels)
        return _shown(string_literal(program.labels[labels[row or 0]])) if is_mapped else "CAST(NULL AS STRING)"
    if slot.kind == "sequence number":
        return _shown(f"{len(labels)}L")
    if slot.kind != "aggregate" or slot.by_label:
        return None
    return _aggregate_value(slot, _members(slot.aggregate.labels, labels))


def _aggregate_value(slot: Slot, rows: list[int]) -> TextLike | None:
    """The expression of an aggregate, None if its value could differ: sums and averages of several rows overflow and
    round in Spark's own way."""
    function, is_single = slot.aggregate.function, len(rows) == 1
    if function == "count" and not slot.columns:
        return _shown(f"{len(rows)}L")
    values = [_at(slot.columns[0], row) for row in rows]
    if function == "count" and (is_single or not slot.aggregate.is_distinct):
        return _shown(" + ".join(f"IF({v} IS NULL, 0L, 1L)" for v in values) or "0L")
    if function in ("min", "max") and rows:
        return values[0] if is_single else f"{'least' if function == 'min' else 'greatest'}({', '.join(values)})"
    if function == "avg" and is_single:
        return f"CAST({values[0]} AS DOUBLE) + 0D"  # a sum begins at 0.0, so a single -0.0 becomes 0.0
    return None


def _shown(value: TextLike) -> Text:
    """A value that is nullable in the result's schema, as all columns from workers are."""
    return join("IF(FALSE, NULL, ", value, ")")


def reached_row(navigation: Navigation, labels: Labels) -> int | None:
    """The row that a navigation reaches, counted from the start row, None if there is no such row.

    PREV and NEXT may leave the match.

    >>> reached_row(Navigation(argument=0, labels=(1,), from_first=True, offset=1, step=-3), (0, 1, 1))
    -1
    """
    rows = _members(navigation.labels, labels)
    if navigation.offset >= len(rows):
        return None
    row = rows[navigation.offset if navigation.from_first else -1 - navigation.offset] + navigation.step
    return row if abs(row) <= MAX_DISTANCE else None
