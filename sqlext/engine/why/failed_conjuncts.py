"""The conjuncts of a condition that do not hold, with the values that they compare. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlext.engine.reports.near_equal import difference, text_compared
from sqlext.engine.reports.shown_values import shown, shown_text
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


def refused(condition: str, operands: Iterable[str], values: Sequence[Mapping[str, str]], *, is_null: bool) -> str:
    """A sentence about a condition of Spark that is false or NULL, with the typed texts of the values that it compares.

    >>> refused("c = 'a'", ["c"], [{"text": "A", "spark_type": "string"}], is_null=False)
    "c = 'a' is false (c = 'A'; they differ only in case)"
    """
    texts = [*(value["text"] for value in values), *filter(None, [text_compared(condition)])]
    note = _about_null(condition) or (difference(*texts) if len(texts) == 2 and not is_null else "")
    shown_values = [f"{name} = {shown_text(v['text'], v['spark_type'])}" for name, v in zip(operands, values)]
    return f"{condition} is {'NULL' if is_null else 'false'}{_in_brackets(shown_values, note)}"


def _in_brackets(values: Sequence[str], note: str) -> str:
    return f" ({', '.join(values)}{f'; {note}' if note else ''})" if values else ""


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
    return _in_brackets(values, note)


def _about_null(conjunct: str) -> str:
    """What to write instead of a comparison with NULL.

    >>> _about_null("v = NULL"), _about_null("v <> null"), _about_null("v <=> NULL")
    ('write v IS NULL', 'write v IS NOT NULL', '')
    """
    found = _COMPARES_NULL.fullmatch(conjunct.strip())
    return f"write {found[1].strip()} IS {'' if found[2] == '=' else 'NOT '}NULL" if found else ""


def _difference(conjunct: str, found: object) -> str:
    """How a value differs from the text that it is compared with, if hardly.

    >>> _difference("c = 'Sold'", "sold"), _difference("'a' = c", "a "), _difference("c = 'a'", "b")
    ('they differ only in case', 'they differ only in blanks', '')
    """
    return difference(text_compared(conjunct), found) if isinstance(found, str) else ""
