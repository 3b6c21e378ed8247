"""The conjuncts of a condition that do not hold, with the values that they compare. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sqlext.engine.queries.near_equal import difference, text_compared
from sqlext.engine.queries.shown_values import shown
from sqlext.errors import DataError
from sqlext.expressions.function import ExecutionSettings
from sqlext.pattern.conditions.conditions import Path, evaluate
from sqlext.pattern.task.task import Condition
from sqlext.rewriter.lowering.lower_conjuncts import Conjunct

_FAILED = "cannot be computed"
_COMPARES_NULL = re.compile(r"(.*[^<>=!])(=|<>|!=)\s*NULL", re.IGNORECASE | re.DOTALL)


def failed_texts(conjuncts: Iterable[Conjunct], tested: Path, settings: ExecutionSettings) -> Iterator[str]:
    """A sentence for each conjunct that does not hold: `v > PREV(v) is false (v = 8, PREV(v) = 8)`."""
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
    values, note = [], _about_null(conjunct.text)
    for operand in conjunct.operands:
        if operand.text == conjunct.text:
            continue
        found = value(operand.value, tested)
        if isinstance(found, str) and found.startswith(_FAILED):
            continue  # then the conjunct cannot be computed either, for the same reason
        values.append(f"{operand.text} = {shown(found, operand.value.type, settings)}")
        note = note or _difference(conjunct.text, found)
    return f" ({', '.join(values)}{note})" if values else ""


def _about_null(conjunct: str) -> str:
    """What to write instead of a comparison with NULL.

    >>> _about_null("v = NULL"), _about_null("v <> null"), _about_null("v <=> NULL")
    ('; write v IS NULL', '; write v IS NOT NULL', '')
    """
    found = _COMPARES_NULL.fullmatch(conjunct.strip())
    return f"; write {found[1].strip()} IS {'' if found[2] == '=' else 'NOT '}NULL" if found else ""


def _difference(conjunct: str, found: object) -> str:
    """How a value differs from the text that it is compared with, if hardly.

    >>> _difference("c = 'Sold'", "sold"), _difference("'a' = c", "a "), _difference("c = 'a'", "b")
    ('; they differ only in case', '; they differ only in blanks', '')
    """
    text = text_compared(conjunct)
    note = difference(text, found) if isinstance(found, str) else ""
    return f"; {note}" if note else ""
