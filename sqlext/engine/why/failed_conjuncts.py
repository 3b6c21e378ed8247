"""The conjuncts of a condition that do not hold, with the values that they compare. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlext.engine.why.shown_values import shown
from sqlext.errors import DataError
from sqlext.expressions.function import ExecutionSettings
from sqlext.pattern.conditions.conditions import Path, evaluate
from sqlext.pattern.task.task import Condition
from sqlext.rewriter.lowering.lower_conjuncts import Conjunct

_FAILED = "cannot be computed"


def failed_texts(conjuncts: Iterable[Conjunct], tested: Path, settings: ExecutionSettings) -> Iterator[str]:
    """What is said of each conjunct that does not hold: `v > PREV(v) is false (v = 8, PREV(v) = 8)`."""
    for conjunct in conjuncts:
        verdict = value(conjunct.condition, tested)
        if verdict is True:
            continue
        is_what = verdict if isinstance(verdict, str) else "is NULL" if verdict is None else "is false"
        yield f"{conjunct.text} {is_what}{_operands(conjunct, tested, settings)}"


def value(condition: Condition, tested: Path) -> object:
    """The value of a condition, or what kept it from being computed."""
    try:
        return evaluate(condition, tested)
    except DataError as error:
        return f"{_FAILED} ({error.message})"


def _operands(conjunct: Conjunct, tested: Path, settings: ExecutionSettings) -> str:
    values = []
    for operand in conjunct.operands:
        if operand.text == conjunct.text:
            continue
        found = value(operand.value, tested)
        is_error = isinstance(found, str) and found.startswith(_FAILED)
        values.append(f"{operand.text} = {found if is_error else shown(found, operand.value.type, settings)}")
    return f" ({', '.join(values)})" if values else ""
