"""Extended text as plain Spark SQL: every clause becomes a readable call of `sqlext_match`.

The table argument computes values that depend on one row alone, and the query around the call computes values that
depend on measures. The rest of the clause is passed to the call as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlext.engine.match.run_batch import aggregated, shown_query
from sqlext.engine.match.table_function import NAME
from sqlext.errors import UnsupportedError
from sqlext.expressions.scalar_tree import Constant, Read, ScalarCall
from sqlext.expressions.spark_types import COLLATED, FLOATS, MAX_DIGITS, decimal_of
from sqlext.operators.match.plan import Slot
from sqlext.operators.rows.columns import CLASSIFIER_FIELD, IS_MATCHED
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.conditions.condition_reads import is_interpreted
from sqlext.pattern.task.task import (
    CLASSIFIERS,
    MATCH_NUMBER,
    Aggregate,
    Condition,
    InterpretedAggregate,
    Literal,
    LiteralValue,
    MachineCall,
    Navigation,
    Operand,
)
from sqlext.rewriter.lowering.match_plan import MatchPlan
from sqlext.rewriter.lowering.total_sums import last_value
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.splice import Text, join

_LAST = last_value("timestamp")
_ROW, _NUMBER, _ONE, _PARTITION = "__row", "__number", "__one", "__partition"
# Calls of compiled conditions that are not written f(a, b), by the name of the function.
_COMPILED_FORMS = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "remainder": "({0} % {1})",
    "less": "({0} < {1})",
    "less_equal": "({0} <= {1})",
    "equal": "({0} = {1})",
    "not_equal": "({0} <> {1})",
    "null_safe_equal": "({0} <=> {1})",
    "and": "({0} AND {1})",
    "or": "({0} OR {1})",
    "not": "(NOT {0})",
    "is_null": "({0} IS NULL)",
    "negate": "(- {0})",
    "float": "CAST({0} AS double)",
}
# Calls of Spark's functions that are not written f(a, b), by the name of the function.
_SPARK_FORMS = {
    "BETWEEN": "({0} BETWEEN {1} AND {2})",
    "[]": "{0}[{1}]",
    ".": "{0}.{1}",
    "IS NULL": "({0} IS NULL)",
    "IS NOT NULL": "({0} IS NOT NULL)",
    "NOT": "(NOT {0})",
    "negate": "(- {0})",
}
_OUTCOMES = {  # measures without an argument, by the kind of their slots
    "rowtime": "MATCH_ROWTIME()",
    "match number": "MATCH_NUMBER()",
    "timed out": "MATCH_TIMED_OUT()",
    "sequence number": "MATCH_SEQUENCE_NUMBER()",
}


def portable_query(plan: MatchPlan, prefix: Text, key_types: Sequence[str]) -> Text:
    """A query in plain Spark SQL for the clause's result. `key_types`: the types of PARTITION BY."""
    plan = replace(plan, slots=tuple(_as_members(slot) for slot in plan.slots))
    for part in _unknown(plan):
        place = plan.clause.keyword.place
        raise UnsupportedError("NOT_IN_TABLE_FUNCTION", f"sqlext_match does not know {part}", place=place)
    matches = join(NAME, "(\n    ", join(*_arguments(plan, prefix, key_types), separator=",\n    "), ")")
    passed = [*plan.carried, *(s.name for s in plan.slots if s.kind != "members")]
    if plan.task.output.shows_unmatched:
        matches = join(f"(SELECT *, {_NUMBER} IS NOT NULL AS {IS_MATCHED} FROM ", matches, ")")
        passed.append(IS_MATCHED)
    arrays = {f"{s.name}_rows": s for s in plan.slots if s.kind == "members"}
    return shown_query(plan, aggregated(matches, passed, arrays, keeps_chars=bool(plan.chars)))


def _unknown(plan: MatchPlan) -> Iterator[str]:
    """The parts of the clause for which `sqlext_match` has no argument."""
    task = plan.task
    if isinstance(task, CepTask) and task.is_between:
        yield "WITHIN … BETWEEN ROWS"
    if plan.task.output.shows_timeouts or any(slot.kind == "timed out" for slot in plan.slots):
        yield "time-outs"
    if isinstance(task, CepTask) and any(end.waits_for_bound for end in task.nfa.ends):
        yield "an absence at the end of a pattern"
    if any(map(is_interpreted, plan.task.conditions)):
        yield "functions of several rows in DEFINE other than comparisons, arithmetic and CASE"
    if any((decimal_of(operand.spark_type) or (0,))[0] > MAX_DIGITS for operand in plan.operands):
        yield f"decimals of more than {MAX_DIGITS} digits in DEFINE"
    if any(slot.kind == "rowtime" for slot in plan.slots):
        yield "MATCH_ROWTIME()"
    if any(slot.by_label or CLASSIFIER_FIELD in slot.columns for slot in plan.slots):
        yield "CLASSIFIER() or MATCH_NUMBER() in an expression that an aggregate reads"
    if any(slot.kind == "fold" for slot in plan.slots):
        yield "ORDER BY or a constant among the arguments of an aggregate"


def _as_members(slot: Slot) -> Slot:
    """The slot, changed so that Spark computes an aggregate that workers compute row by row, if Spark can."""
    if (
        slot.fold is None
        or not slot.call
        or (slot.fold.order_by and slot.aggregate.function not in ("listagg", "string_agg"))
    ):
        return slot
    return replace(slot, kind="members", fold=None)


def _arguments(plan: MatchPlan, prefix: Text, key_types: Sequence[str]) -> list[Text]:
    """The arguments of the call, without the empty ones."""
    are_odd = any(word in kind for kind in key_types for word in (*FLOATS, COLLATED))
    printer, clause = Printer(plan), plan.clause
    named: list[tuple[str, str]] = [
        ("pattern", clause.pattern_text.text),
        ("define", ", ".join(printer.definitions(plan))),
        ("measures", ", ".join(printer.measures(plan))),
        ("rows_per_match", clause.rows_per_match.fragment.text if clause.rows_per_match.fragment else ""),
        ("after_match", clause.after_match.fragment.text if clause.after_match else ""),
        (
            "subset",
            ", ".join(
                s.name.fragment.text + " = (" + ", ".join(m.fragment.text for m in s.members) + ")"
                for s in clause.subsets
            ),
        ),
        ("within", "".join(f"{b.key} {'<=' if b.is_inclusive else '<'} {b.end}" for b in plan.bounds)),
    ]
    partitioning = f"PARTITION BY ({_PARTITION})" if are_odd else _partitioning(plan)
    arguments = [join("TABLE(", _table(plan, prefix, are_odd=are_odd), f") {partitioning} ORDER BY ({_ROW})")]
    arguments += [join(f"{name} => ", string_literal(text)) for name, text in named if text]
    arguments.append(join("columns => ", string_literal(", ".join(plan.carried))))
    return arguments if plan.settings.is_ansi else [*arguments, join("ansi => false")]


def _partitioning(plan: MatchPlan) -> str:
    keys = ", ".join(plan.carried[: len(plan.partition_by)])
    return f"PARTITION BY ({keys})" if keys else "WITH SINGLE PARTITION"


def _table(plan: MatchPlan, prefix: Text, *, are_odd: bool) -> Text:
    """The query of the table argument: the plan's columns, in types that the call can use in conditions, the bits and,
    if `are_odd`, the number of the partition, since Python compares -0.0, NaN and collated strings otherwise."""
    texts = {c.name: c.computed for c in plan.columns}
    for name in (name for bound in plan.bounds if bound.last == _LAST for name in (bound.key, bound.end)):
        texts[name] = join("unix_micros(", texts[name], ")")  # Python gets local times, which two instants may share
    columns = [join(text, f" AS {name}") for name, text in texts.items()]
    numbers = {_operand(*operand): operand for operand in plan.operands if _operand(*operand) != operand.name}
    columns += [join(_number(texts[o.name], o.spark_type), f" AS {name}") for name, o in numbers.items()]
    columns += [join(mask.text, f" AS __is_{b}") for b, mask in enumerate(plan.masks)]
    columns += [join(_struct(s, plan), f" AS {s.name}_row") for s in plan.slots if s.kind == "members"]
    columns += [join(f"TRUE AS {_ONE}")] if any(map(_has_missing, plan.task.conditions)) else []
    columns.append(join("row_number() OVER __rows AS ", _ROW))
    if are_odd:
        keys = join(*(join("(", key, ")") for key in plan.partition_by), separator=", ")
        columns.append(join("dense_rank() OVER (ORDER BY ", keys, f") AS {_PARTITION}"))
    selected = join(*columns, separator=",\n        ")
    window = join("\n      WINDOW __rows AS (", plan.window, ")")
    return join(prefix, "\n      SELECT\n        ", selected, "\n      FROM ", plan.input, window)


def _has_missing(condition: Condition | None) -> bool:
    """Return True if the condition has a value for rows that do not exist, so that the call must distinguish them from
    NULL."""
    if isinstance(condition, MachineCall):
        return any(map(_has_missing, condition.arguments))
    return isinstance(condition, Operand) and condition.missing is not None


def _struct(slot: Slot, plan: MatchPlan) -> Text:
    texts = {c.name: c.text for c in plan.columns}
    return join(
        "named_struct(", join(*(join(f"'a{i}', ", texts[c]) for i, c in enumerate(slot.columns)), separator=", "), ")"
    )


def _operand(name: str, spark_type: str, kind: str) -> str:
    """The column that conditions read; for types that are computed as numbers, the column that holds the number."""
    return f"{name}_number" if kind != "object" and str(_number(Text(), spark_type)) else name


def _number(text: Text, spark_type: str) -> Text:
    """A value as the integer that conditions use; empty for types that need no conversion."""
    epoch = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
    if spark_type.startswith("decimal"):
        return join("CAST((", text, f") * {10 ** int(spark_type[:-1].split(',')[1])} AS BIGINT)")
    if spark_type == "date":
        return join("CAST(unix_date(", text, ") AS BIGINT)")
    if spark_type == "timestamp":
        return join("unix_micros(", text, ")")
    if spark_type == "timestamp_ntz":
        return join(f"timestampdiff(MICROSECOND, {epoch}, ", text, ")")
    if spark_type.startswith("interval"):
        return join(f"timestampdiff(MICROSECOND, {epoch}, {epoch} + (", text, "))")
    return Text()


class Printer:
    """Writes navigations, aggregates and conditions as text of the clause."""

    def __init__(self, plan: MatchPlan):
        self.labels = plan.task.program.labels
        self.operands = [_operand(*operand) for operand in plan.operands]
        self.sets: dict[tuple[int, ...], str] = {
            (i,): name.fragment.text for i, name in enumerate(plan.clause.pattern_variables)
        }
        for subset in plan.clause.subsets:
            members = tuple(sorted({self.labels.index(m.key) for m in subset.members}))
            self.sets.setdefault(members, subset.name.fragment.text)

    def definitions(self, plan: MatchPlan) -> list[str]:
        definitions = []
        for definition in plan.clause.definitions:
            label = self.labels.index(definition.variable.key)
            bit, condition = plan.task.bits[label], plan.task.conditions[label]
            parts = ([] if bit is None else [f"__is_{bit}"]) + (
                [] if condition is None else [self.condition(condition)]
            )
            definitions.append(f"{definition.variable.fragment.text} AS {' AND '.join(parts)}")
        return definitions

    def measures(self, plan: MatchPlan) -> list[str]:
        measures = [
            f"{self.measure(slot)} AS {slot.name}{'_rows' if slot.kind == 'members' else ''}" for slot in plan.slots
        ]
        # a result needs at least one column
        is_counted = plan.task.output.shows_unmatched or not (measures or plan.carried)
        return [*measures, f"MATCH_NUMBER() AS {_NUMBER}"] if is_counted else measures

    def measure(self, slot: Slot) -> str:
        if slot.kind in _OUTCOMES:
            return _OUTCOMES[slot.kind]
        if slot.kind in ("value", "classifier"):
            return self.navigation(slot.navigation, slot.columns[0] if slot.columns else "")
        if slot.kind == "members":  # the call over the rows applies DISTINCT
            rows = replace(slot.aggregate, function="array_agg", is_distinct=False)
            return self.aggregate(rows, f"{slot.name}_row")
        return self.aggregate(slot.aggregate, slot.columns[0] if slot.columns else "")

    def navigation(self, navigation: Navigation, column: str) -> str:
        if navigation.argument == MATCH_NUMBER:
            return "MATCH_NUMBER()"
        if navigation.expression is not None:
            column = f"({self.condition(navigation.expression)})"
        argument = (
            self.variable(navigation.labels, column)
            if navigation.argument not in CLASSIFIERS
            else f"CLASSIFIER({self.set_name(navigation.labels)})"
        )
        final = "FINAL " if navigation.is_final else ""
        offset = f", {navigation.offset}" if navigation.offset else ""
        text = f"{final}{'FIRST' if navigation.from_first else 'LAST'}({argument}{offset})"
        if navigation.step:
            text = f"{'PREV' if navigation.step < 0 else 'NEXT'}({text}, {abs(navigation.step)})"
        return text

    def aggregate(self, aggregate: Aggregate, column: str) -> str:
        if aggregate.argument in CLASSIFIERS:
            argument = f"CLASSIFIER({self.set_name(aggregate.labels)})"
        else:
            argument = self.variable(aggregate.labels, column or "*")
        distinct = "DISTINCT " if aggregate.is_distinct else ""
        return f"{'FINAL ' if aggregate.is_final else ''}{aggregate.function}({distinct}{argument})"

    def interpreted_aggregate(self, source: InterpretedAggregate) -> str:
        """An aggregate as EXPLAIN MATCH shows it. Arguments are evaluated on the rows that are aggregated."""
        rows = "" if source.labels is None else f"{self.set_name(source.labels)}: "
        call = source.call
        distinct = "DISTINCT " if call.is_distinct else ""
        constants = [_value_text(value) for _, value in call.constants]
        arguments = [self.condition(argument) for argument in source.arguments]
        where = f" FILTER (WHERE {self.condition(source.filter)})" if source.filter else ""
        return f"{call.function}({rows}{distinct}{', '.join([*arguments, *constants])}){where}"

    def variable(self, labels: tuple[int, ...] | None, column: str) -> str:
        return column if labels is None else f"{self.set_name(labels)}.{column}"

    def set_name(self, labels: tuple[int, ...] | None) -> str:
        """The pattern variable or SUBSET with these labels; "" for all rows."""
        return "" if labels is None else self.sets[labels]

    def condition(self, condition: Condition) -> str:
        if isinstance(condition, Literal):
            return _literal(condition.value, condition.kind)
        if isinstance(condition, Constant):
            return _value_text(condition.value)
        if isinstance(condition, (Operand, Read)):
            return self.operand(condition)
        assert isinstance(condition, (MachineCall, ScalarCall))
        arguments = [self.condition(a) for a in condition.arguments]
        if isinstance(condition, ScalarCall):
            return _call_text(condition, arguments)
        if condition.function in _COMPILED_FORMS:
            return _COMPILED_FORMS[condition.function].format(*arguments)
        return f"{condition.function}({', '.join(arguments)})"

    def operand(self, operand: Operand | Read) -> str:
        source = operand.source
        if isinstance(source, InterpretedAggregate):
            return self.interpreted_aggregate(source)
        name = self.operands[source.argument] if source.argument is not None and source.argument >= 0 else ""
        if isinstance(source, Aggregate):
            return self.aggregate(source, name)
        text = self.navigation(source, name)
        if isinstance(operand, Read) or operand.missing is None:
            return text
        return f"IF({self.navigation(source, _ONE)} IS NULL, {_literal(operand.missing, operand.kind)}, {text})"


def _literal(value: LiteralValue, kind: str) -> str:
    if value is None:
        return f"CAST(NULL AS {({'bool': 'BOOLEAN', 'int': 'BIGINT', 'float': 'DOUBLE'})[kind]})"
    if isinstance(value, bool):
        return str(value).upper()
    return f"{value!r}D" if kind == "float" else f"{value}L"


def _call_text(call: ScalarCall, arguments: list[str]) -> str:
    """The SQL of a call whose arguments have these texts.

    >>> from sqlext.expressions.function import ExecutionSettings
    >>> from sqlext.expressions.scalar_tree import Constant
    >>> one = Constant(1, "int")
    >>> settings = ExecutionSettings(is_ansi=True, time_zone="UTC")
    >>> call = ScalarCall(function="+", arguments=(one, one), type="int", settings=settings)
    >>> _call_text(call, ["1", "LAST(A.v)"])
    '(1 + LAST(A.v))'
    """
    name = call.function
    if name in _SPARK_FORMS:
        return _SPARK_FORMS[name].format(*arguments)
    if name in ("CAST", "TRY_CAST"):
        return f"{name}({arguments[0]} AS {call.type})"
    if name == "CASE":
        return f"CASE {_branches(arguments)} END"
    if name == "IN":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if name == "extract":
        return f"extract({arguments[0].strip(chr(39))} FROM {arguments[1]})"
    if name in ("LIKE", "ILIKE", "RLIKE") and len(arguments) == 3:
        return f"({arguments[0]} {name} {arguments[1]} ESCAPE {arguments[2]})"
    if not name[0].islower() or name == "div":
        return f"({f' {name} '.join(arguments)})"
    return f"{name}({', '.join(arguments)})"


def _branches(arguments: list[str]) -> str:
    pairs = zip(arguments[0::2], arguments[1::2])
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"{whens} ELSE {arguments[-1]}" if len(arguments) % 2 else whens


def _value_text(value: Any) -> str:
    """The value of a literal as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, bool):
        return str(value).upper()
    return f"{value}BD" if isinstance(value, Decimal) else f"{value!r}D" if isinstance(value, float) else str(value)
