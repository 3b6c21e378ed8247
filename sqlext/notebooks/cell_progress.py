"""The progress of the Spark jobs of a cell, which is shown below it while they run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from sqlext.notebooks.theme import in_theme
from sqlext.sessions.shown_progress import FAST, TerminalLine
from sqlext.sessions.watched import Display, Progress, counted_tasks, duration


class Canceled(KeyboardInterrupt):
    """Ends a cell that was interrupted, and those that wait behind it, as every error does; but it is not shown as
    one."""


@dataclass(frozen=True)
class ShownProgress:
    """The progress at one time, as a bar and a sentence.

    >>> ShownProgress(Progress(12.0, 3, 4), "canceled")
    canceled after 12 s, when 3 of 4 tasks had ended
    >>> ShownProgress(Progress(75.0, 4, 4), "done")
    4 tasks in 1 min 15 s
    """

    progress: Progress
    state: str

    def __repr__(self) -> str:
        tasks, seconds = counted_tasks(self.progress.tasks), duration(self.progress.seconds)
        if self.state == "canceled":
            ended = f", when {self.progress.done:,} of {tasks} had ended" if self.progress.tasks else ""
            return f"canceled after {seconds}{ended}"
        return f"{tasks} in {seconds}" if self.state == "done" else str(self.progress)

    def _repr_html_(self) -> str:
        bar = ""
        if self.state == "running" and self.progress.tasks:
            bar = f'<progress value="{self.progress.done}" max="{self.progress.tasks}"></progress> '
        return in_theme(f'<div class="note">{bar}{escape(repr(self))}</div>')


class CellProgress(Display):
    """Shows the progress of a statement below its cell, unless it is fast, and what became of it."""

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, progress: Progress) -> None:
        if progress.seconds >= FAST:
            self._publish(ShownProgress(progress, "running"))

    def end(self, progress: Progress, *, is_canceled: bool) -> None:
        if self.handle is not None or is_canceled:
            self._publish(ShownProgress(progress, "canceled" if is_canceled else "done"))

    def _publish(self, shown: ShownProgress) -> None:
        if self.handle is None:
            self.handle = display(shown, display_id=True)
        else:
            self.handle.update(shown)


def cell_display() -> Display:
    """What shows the progress of a statement in this kernel, or on the terminal of IPython."""
    if hasattr(get_ipython(), "kernel"):
        return CellProgress()
    return TerminalLine(sys.stderr) if sys.stderr.isatty() else Display()


def show_no_traceback_of_canceled(shell: InteractiveShell) -> None:
    """Let a shell show nothing of Canceled, and all other errors as before."""
    if Canceled in shell.custom_exceptions:
        return
    others, show_other = shell.custom_exceptions, shell.CustomTB

    def show(_: Any, kind: Any, error: Any, trace: Any, tb_offset: Any = None) -> Any:
        if not isinstance(error, Canceled):
            return show_other(kind, error, trace, tb_offset)
        if not hasattr(shell, "kernel"):
            print("canceled", file=sys.stderr)
        return None

    shell.set_custom_exc((Canceled, *others), show)
