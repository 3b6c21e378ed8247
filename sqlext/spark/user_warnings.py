"""Warnings for the user: one sentence, at the line of the user's code that caused it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence


class SqlExtWarning(UserWarning):
    """A warning of the extended language."""


def warn(sentences: Sequence[str]) -> None:
    """Warn at the line of the user's code, which is the first one outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "sqlext":
        level, frame = level + 1, frame.f_back
    for sentence in sentences:
        warnings.warn(sentence, SqlExtWarning, stacklevel=level)


def show_warnings_by(show: Callable[[str], None]) -> None:
    """From now on pass the sentence of each warning of ours to `show`, instead of printing a path and a line of code.

    For notebooks and the command line, where the user has no file of Python. Other warnings are shown as before.
    """
    others = warnings.showwarning

    def showwarning(message: Warning | str, category: type[Warning], *where: object, **options: object) -> None:
        if issubclass(category, SqlExtWarning):
            show(str(message))
        else:
            others(message, category, *where, **options)  # type: ignore[arg-type]

    warnings.showwarning = showwarning
