"""The share of an exhaustive set of cases that one run takes: another share each day, so that all are run in turn.

`SQLEXT_SAMPLE=17 make test` repeats the run of sample 17, which is printed at the top of each run;
`SQLEXT_SAMPLE=all` runs every case.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from typing import TypeVar

T = TypeVar("T")
SAMPLE = os.environ.get("SQLEXT_SAMPLE") or str(date.today().toordinal() % 1000)


def sample(cases: Sequence[T], share: int) -> list[T]:
    """One case of every `share` cases, or all of them.

    >>> len(sample(range(100), 5)) in (20, 100)
    True
    """
    return list(cases) if SAMPLE == "all" else list(cases)[int(SAMPLE) % share :: share]
