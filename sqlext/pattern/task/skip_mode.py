"""The modes of AFTER MATCH, and the facts about them that other code asks for.

Code that needs to know a mode asks for a fact, so that a new mode is an entry of MODES. How a match resumes is the rule
of `skip`, and compiled that of `skip_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SkipMode:
    """What AFTER MATCH does after a match.

    - `name`: the words that EXPLAIN MATCH shows. Fingerprints of streams store it, so it never changes.
    - `is_past_last`: no row is in two matches.
    - `has_target`: the search resumes at a row of a variable, which may be missing or the first row of the match.
    - `to_first`: this is the first row of the variable, not the last one.
    - `tries_every_row`: a search starts at every row.
    - `lists_all`: every match from every row is listed, not only the preferred one.
    """

    name: str
    is_past_last: bool = False
    has_target: bool = False
    to_first: bool = False
    tries_every_row: bool = False
    lists_all: bool = False

    @property
    def text(self) -> str:
        """What follows AFTER MATCH, without a variable.

        >>> SKIP_TO_LAST.text, NO_SKIP.text
        ('SKIP TO LAST', 'NO SKIP')
        """
        return self.name if self.lists_all else f"SKIP {self.name}"


SKIP_PAST_LAST_ROW = SkipMode("PAST LAST ROW", is_past_last=True)
SKIP_TO_NEXT_ROW = SkipMode("TO NEXT ROW", tries_every_row=True)
SKIP_TO_FIRST = SkipMode("TO FIRST", has_target=True, to_first=True)
SKIP_TO_LAST = SkipMode("TO LAST", has_target=True)
NO_SKIP = SkipMode("NO SKIP", tries_every_row=True, lists_all=True)

MODES = {m.name: m for m in (SKIP_PAST_LAST_ROW, SKIP_TO_NEXT_ROW, SKIP_TO_FIRST, SKIP_TO_LAST, NO_SKIP)}
