"""The times at which each version of a rule acts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlext.pattern.task.event_time import BEGINNING, NEVER


@dataclass(frozen=True, kw_only=True)
class TakenVersion:
    """A row of the rules table that a stream has taken up at the watermark `taken_up`.

    `effective_from`: None for at once. A version that has no clause or is not enabled does not act, but ends the
    versions before it. All times are int64 microseconds.
    """

    name: str
    version: int
    clause: str | None
    is_enabled: bool = True
    effective_from: int | None = None
    taken_up: int = 0

    @property
    def first(self) -> int:
        """The version acts on rows later than this time."""
        return self.taken_up if self.effective_from is None else max(self.effective_from, self.taken_up)

    @property
    def matches(self) -> bool:
        return self.is_enabled and self.clause is not None


@dataclass(frozen=True)
class Acting:
    """`version` acts on rows with `version.first < time <= until`."""

    version: TakenVersion
    until: int


def acting(versions: Iterable[TakenVersion]) -> list[Acting]:
    """The times at which each version of some rules acts; versions that never act are left out.

    A version acts until its successor does. Of two versions that begin at one time, the version with the later
    `effective_from` is the successor, or else the version with the greater number. A version that is effective at once
    replaces all versions with smaller numbers, also versions that would become effective later.

    >>> rule = dict(name="r", clause="…")
    >>> versions = [TakenVersion(version=1, **rule), TakenVersion(version=2, effective_from=50, taken_up=10, **rule)]
    >>> [(a.version.version, a.until == NEVER or a.until) for a in acting(versions)]
    [(1, 50), (2, True)]
    >>> removed = TakenVersion(name="r", version=3, clause=None, taken_up=20)
    >>> [(a.version.version, a.until == NEVER or a.until) for a in acting([*versions, removed])]
    [(1, 20), (3, True)]
    """
    by_name: dict[str, list[TakenVersion]] = {}
    for version in versions:
        by_name.setdefault(version.name.lower(), []).append(version)  # as the statements compare names
    return [a for name in sorted(by_name) for a in _of_rule(by_name[name])]


def _of_rule(versions: list[TakenVersion]) -> list[Acting]:
    at_once = [v for v in versions if v.effective_from is None]
    kept = [v for v in versions if not any(a.version > v.version and a.first <= v.first for a in at_once)]
    kept.sort(key=lambda v: (v.first, BEGINNING if v.effective_from is None else v.effective_from, v.version))
    ends = [v.first for v in kept[1:]] + [NEVER]
    return [Acting(v, until) for v, until in zip(kept, ends) if v.first < until]
