"""Warnings at the line of the user's code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence


def warn(sentences: Sequence[str]) -> None:
    """Warn at the line of the user's code, the first one outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "sqlext":
        level, frame = level + 1, frame.f_back
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=level)
