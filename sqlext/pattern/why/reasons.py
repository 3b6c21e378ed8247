"""The words for why a search could not take a step, in both EXPLAIN MATCH WHY and DESCRIBE … FOR KEY."""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.pattern.batch.recorder import ABSENCE, FALSE, NOT_FIRST, NULL, POSSESSIVE, UNTIL, WITHIN, Stop


def why_refused(stop: Stop, name: str, row: str, failed: Iterable[str], late: str) -> str:
    """The reason why a row, called `row`, could not be taken at a step for the variable `name`; not for PARTITION END.

    `failed`: a sentence for each conjunct that does not hold, read only if a condition failed; `late`: what follows
    the word WITHIN.

    >>> why_refused(Stop(0, 1, 3, FALSE), "B", "Row 4", ["v > 3 is false (v = 2)"], "")
    'Row 4 cannot be B: v > 3 is false (v = 2)'
    >>> why_refused(Stop(0, 1, 3, ABSENCE), "N", "Row 4", [], "")
    'Row 4 satisfies N, which must be absent there'
    """
    if stop.reason in (FALSE, NULL):
        return f"{row} cannot be {name}: {'; '.join(failed)}"
    if stop.reason == WITHIN:
        return f"{row} is too late for WITHIN{late}"
    if stop.reason == ABSENCE:
        return f"{row} satisfies {name}, which must be absent there"
    if stop.reason == UNTIL:
        return f"{row} satisfies {name}, which ends the loop of UNTIL"
    if stop.reason == POSSESSIVE:
        return f"{row} belongs to the possessive loop before {name}, which gives no row back"
    return f"{stop.reason} needs the {'first' if stop.reason == NOT_FIRST else 'last'} row of the partition"
