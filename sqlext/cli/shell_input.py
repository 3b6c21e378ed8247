"""What the shell finds in a text while it is typed: whether it is complete, and which words may come next."""

from __future__ import annotations

from collections.abc import Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from sqlext.cli.shell_commands import NAMES, is_command
from sqlext.errors import ParseError
from sqlext.formatting.completions import CompletionNames, completions
from sqlext.rewriter.statements.script import semicolons
from sqlext.rewriter.text.tokens import tokenize


def is_complete(text: str) -> bool:
    """Return True if Enter runs the text: a command, an empty text, or statements with a semicolon after the last.

    >>> [is_complete(text) for text in ("SELECT 1", "SELECT ';", "SELECT 1; -- end", "BEGIN SELECT 1;", ".help", "")]
    [False, False, True, False, True, True]
    """
    if not text.strip() or is_command(text):
        return True
    try:
        tokens = tokenize(text)
    except ParseError:
        return False
    if not tokens:
        return False
    first = max((i + 1 for i, token in enumerate(tokens[:-1]) if token.word == ";"), default=0)
    scripts = [i for i, token in enumerate(tokens) if token.word == "BEGIN" and (i == 0 or tokens[i - 1].word == ";")]
    start = scripts[0] if scripts else first
    return tokens[-1].word == ";" and len(tokens) - 1 - start in set(semicolons(tokens[start:]))


class SqlCompleter(Completer):
    """Completes commands, keywords, functions, tables, the columns of the tables that the text names, and the variables
    of its PATTERN."""

    def __init__(self, names: CompletionNames):
        self.names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """The words that begin with the word before the cursor."""
        text = document.text_before_cursor
        if is_command(text) and " " not in text.strip():
            yield from (Completion(c, -len(text.lstrip())) for c in NAMES if c.startswith(text.lstrip()))
            return
        asked = complete_event.completion_requested
        for name, kind, length in completions(self.names, document.text, text, is_asked=asked):
            yield Completion(name, -length, display_meta=kind)
