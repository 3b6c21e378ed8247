"""Shows the progress of statements on stderr: a line that changes on a terminal, a line a while elsewhere."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from sqlext.sessions.watched import Display, Progress

FAST = 2.0  # seconds; what takes no longer shows nothing
_BAR, _WIDTH = 20, 80  # characters: of a bar, and of a screen whose width is unknown
_SECONDS, _LATER_SECONDS = 10, 60  # between two lines in a pipe: in the first minute, and later
_ERASE = "\r\x1b[K"


@dataclass
class TerminalLine(Display):
    """A bar on the last line of the screen, which is erased before anything else is written."""

    screen: TextIO
    is_drawn: bool = False
    is_over: bool = False

    def show(self, progress: Progress) -> None:
        if progress.seconds < FAST or self.is_over:
            return
        line = f"{bar(progress)}{progress}; Ctrl-C cancels"
        width = _WIDTH
        with suppress(OSError):  # the terminal was closed
            width = os.get_terminal_size(self.screen.fileno()).columns
        self.screen.write(f"{_ERASE}{line[: width - 1]}")
        self.screen.flush()
        self.is_drawn = True

    def end(self, progress: Progress, *, is_canceled: bool) -> None:
        self.erase()

    def erase(self) -> None:
        self.is_over = True
        if self.is_drawn:
            self.screen.write(_ERASE)
            self.screen.flush()
            self.is_drawn = False


def bar(progress: Progress) -> str:
    """The share of the tasks that have ended, as a bar; "" if no task is known.

    >>> bar(Progress(9, done=1, tasks=4))
    '[=====               ] '
    """
    if not progress.tasks:
        return ""
    return f"[{'=' * (_BAR * progress.done // progress.tasks):{_BAR}}] "


@dataclass
class PipeLines(Display):
    """A line every ten seconds, and after the first minute each minute. `name`: what each line begins with."""

    pipe: TextIO
    name: str = ""
    next: float = _SECONDS

    def show(self, progress: Progress) -> None:
        """
        >>> import sys
        >>> lines = PipeLines(sys.stdout, "statement 2 of 3: ")
        >>> for seconds in (1, 9, 10, 11, 19, 20.5):
        ...     lines.show(Progress(seconds, 1, 4))
        statement 2 of 3: 1 of 4 tasks, 10 s
        statement 2 of 3: 1 of 4 tasks, 20 s
        """
        if progress.seconds >= self.next:
            self.next += _SECONDS if progress.seconds < _LATER_SECONDS else _LATER_SECONDS
            print(f"{self.name}{progress}", file=self.pipe, flush=True)


def display_for(screen: TextIO, name: str = "") -> Display:
    """What shows the progress of a statement on stderr. `name`: of the statement, in a pipe."""
    return TerminalLine(screen) if screen.isatty() else PipeLines(screen, name)
