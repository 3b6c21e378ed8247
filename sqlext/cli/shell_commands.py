"""The commands of the shell that are no statements, such as `.tables`, and what psql calls them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from sqlext.errors import ParseError, Place

ON, OFF = "on", "off"


@dataclass(frozen=True)
class Command:
    """`psql`: the name of the same command in psql, or ""; `argument`: in brackets if it may be left out."""

    name: str
    psql: str
    argument: str
    purpose: str

    def __str__(self) -> str:
        return f"{self.name} {self.argument}".rstrip()


HELP = Command(".help", r"\?", "", "list these commands")
TABLES = Command(".tables", r"\dt", "", "list tables and views")
COLUMNS = Command(".columns", r"\d", "NAME", "list the columns of a table or view")
READ = Command(".read", r"\i", "FILE", "run the statements of a file")
EDIT = Command(".edit", r"\e", "[FILE]", "change the last statement, or a file, in $EDITOR, and run it")
LIMIT = Command(".limit", "", "N", "show at most N rows of a result")
EXPANDED = Command(".expanded", r"\x", "[on|off|auto]", "one line for each column; auto: where a table is too wide")
PAGER = Command(".pager", "", "[on|off]", "show what is longer than the screen in $PAGER")
MODE = Command(".mode", "", "[table|csv|json]", "how rows are written: as a table, as CSV, or a JSON object a line")
OUTPUT = Command(".output", r"\o", "[FILE]", "write the rows that follow into a file; without FILE on the screen again")
TIMING = Command(".timing", r"\timing", "[on|off]", "show how long a statement took")
QUIT = Command(".quit", r"\q", "", "leave the shell, as Ctrl-D does")
COMMANDS = (HELP, TABLES, COLUMNS, READ, EDIT, LIMIT, EXPANDED, PAGER, MODE, OUTPUT, TIMING, QUIT)
_WORDS = {"help": HELP, "?": HELP, "exit": QUIT, "quit": QUIT}  # what people type who do not know the commands
NAMES = {name: command for command in COMMANDS for name in (command.name, command.psql) if name}


def is_command(text: str) -> bool:
    """Return True if a text is a command and no statement.

    >>> [is_command(text) for text in (".help", r" \\d t", "exit;", "SELECT 1;", "help me")]
    [True, True, True, False, False]
    """
    return text.lstrip().startswith((".", "\\")) or _bare(text).lower() in _WORDS


def _bare(text: str) -> str:
    return text.strip().removesuffix(";").rstrip()


def read_command(text: str) -> tuple[Command, str]:
    """The command of a line, and its argument. Raises ParseError (SHELL_COMMAND).

    >>> command, argument = read_command(r"\\d ticks;")
    >>> command.name, argument
    ('.columns', 'ticks')
    >>> read_command(r"\\d")[0].name
    '.tables'
    """
    line = _bare(text)
    if line.lower() in _WORDS:
        return _WORDS[line.lower()], ""
    name, _, argument = line.partition(" ")
    argument = argument.strip()
    command = NAMES.get(name.lower())
    if command is None:
        close = get_close_matches(name.lower(), NAMES, n=1)
        raise _error(line, name, f"there is no command {name}", f"did you mean {close[0]}? " if close else "")
    if command is COLUMNS and name == COLUMNS.psql and not argument:
        return TABLES, ""
    if not _is_right(command, argument):
        raise _error(line, argument or name, f"{name} does not go like this", f"write {command}. ")
    return command, argument


def _is_right(command: Command, argument: str) -> bool:
    if not argument:
        return not command.argument or command.argument.startswith("[")
    if "|" in command.argument:
        return argument in choices(command)
    return argument.isdecimal() if command is LIMIT else command.argument != ""


def choices(command: Command) -> tuple[str, ...]:
    """The words that the argument of a command may be.

    >>> choices(TIMING), choices(READ)
    (('on', 'off'), ())
    """
    return tuple(command.argument.strip("[]").split("|")) if "|" in command.argument else ()


def _error(line: str, word: str, message: str, hint: str) -> ParseError:
    start = line.rindex(word)
    return ParseError(
        "SHELL_COMMAND", message, place=Place(line, start, start + len(word)), hint=f"{hint}.help lists the commands."
    )


def help_lines() -> list[str]:
    """What `.help` prints."""
    width = max(len(str(command)) for command in COMMANDS)
    lines = [f"{command!s:{width}}  {command.psql:8} {command.purpose}" for command in COMMANDS]
    return [*lines, "Statements end with a semicolon. Tab completes, Ctrl-C cancels, the arrows bring back statements."]
