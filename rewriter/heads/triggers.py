"""Reads the trigger of a streaming table as users write it."""

from __future__ import annotations

import re

AVAILABLE_NOW = "available-now"
TRIGGER_HINT = "a trigger is available-now, or the time between two micro-batches, such as 10 seconds or 5 minutes."
_NUMBER = r"\+?\d+"
_UNITS = rf"(?:{_NUMBER}\s+(?:week|day|hour|minute|millisecond|microsecond)s?|{_NUMBER}(?:\.\d{{1,9}})?\s+seconds?)"
_DURATION = re.compile(rf"(?:interval\s+)?{_UNITS}(?:\s+{_UNITS})*")


def trigger_of(written: str) -> str | None:
    """AVAILABLE_NOW, or the duration as Spark takes it; None if there is no such trigger.

    >>> [trigger_of(t) for t in ("AVAILABLE-NOW", "availableNow", " 10 Seconds", "1 minute 30 seconds", "1.5 seconds")]
    ['available-now', 'available-now', '10 seconds', '1 minute 30 seconds', '1.5 seconds']
    >>> [trigger_of(t) for t in ("bogus", "-5 seconds", "once", "", "5", "1 month", "10seconds", "1.5 minutes")]
    [None, None, None, None, None, None, None, None]
    """
    trigger = " ".join(written.lower().split())
    if re.sub(r"[-_ ]", "", trigger) == "availablenow":
        return AVAILABLE_NOW
    return trigger if _DURATION.fullmatch(trigger) else None
