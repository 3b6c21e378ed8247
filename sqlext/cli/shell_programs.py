"""The programs that the shell starts: an editor for statements, and a pager for long results."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_EDITOR = "notepad" if os.name == "nt" else "vi"


def edited(text: str, file: Path | None) -> str | None:
    """The text after the user has changed it in $VISUAL, $EDITOR or vi (on Windows notepad); None if nothing was saved.

    `file`: the file to edit, whose text it is then; None for a file that is deleted afterwards. Raises OSError.
    """
    if file is not None:
        return _edited_file(file, file.read_text("utf-8-sig") if file.exists() else "")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "statement.sql"  # editors highlight by the ending
        file.write_text(text, encoding="utf-8")
        return _edited_file(file, text)


def _edited_file(file: Path, before: str) -> str | None:
    command = words(os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR, os.name)
    with _interrupts_ignored():
        status = subprocess.run([*command, os.fspath(file)]).returncode
    after = file.read_text("utf-8-sig") if status == 0 and file.exists() else before
    return None if after == before else after


def page(text: str) -> None:
    """Show a text in $PAGER, or in less; print it where there is neither."""
    command = words(os.environ.get("PAGER") or "less", os.name)
    if shutil.which(command[0]) is None:
        sys.stdout.write(text)
        return
    # As git starts less: it shows colours, cuts no line but scrolls to its end, and leaves the text on the screen.
    variables = {"LESS": "-RSX", **os.environ}
    with _interrupts_ignored():
        subprocess.run(command, input=text, text=True, env=variables)


def words(command: str, system: str) -> list[str]:
    r"""The program and its options of a command line; `system`: as `os.name`.

    >>> words("code --wait", "posix"), words(r'"C:\Program Files\vim.exe" -n', "nt")
    (['code', '--wait'], ['C:\\Program Files\\vim.exe', '-n'])
    """
    if system != "nt":
        return shlex.split(command)
    return [word.strip('"') for word in shlex.split(command, posix=False)]  # a backslash is part of a path


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Leave Ctrl-C to the program that has the screen."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
