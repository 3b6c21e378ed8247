"""The errors a user can meet, each with a place in the user's own text.

>>> print(BindError("UNKNOWN_PATTERN_VARIABLE", 'SKIP TO names "Z", which PATTERN does not use',
...                 place=Place("SELECT 1\\nSKIP TO Z", 17, 18), hint="pattern variables are A, B."))
SQLEXT_UNKNOWN_PATTERN_VARIABLE: SKIP TO names "Z", which PATTERN does not use
  2 | SKIP TO Z
    |         ^
Hint: pattern variables are A, B.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlext.error_pages import page_name

E = TypeVar("E", bound="SqlExtError")
Item = TypeVar("Item")
Result = TypeVar("Result")

BYTE_ORDER_MARK = "\ufeff"
_WITHOUT_WIDTH = frozenset({"Mn", "Me", "Cf"})  # accents, joiners and selectors
_LONGEST_LINE, _AROUND = 400, 120  # characters; a longer line is cut around its error
_SECRET = re.compile(  # the value of an option of Kafka's client that may be a secret
    r"""(kafka\.[\w.`]*(?:password|passphrase|secret|jaas|private\.key|keystore\.key)[\w.`]*['"`]?\s*=?\s*)
    ('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Place:
    """Characters `start` to `stop` (exclusive) of a user's statement `text`, or of the text in an argument of a Python
    function, which `argument` names as its caller does: `define["down"]`."""

    text: str
    start: int
    stop: int
    argument: str = ""

    @property
    def written(self) -> str:
        """What the user wrote there."""
        return self.text[self.start : self.stop]

    @property
    def line(self) -> int:
        """1-based."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """1-based, in characters; a byte order mark is none.

        >>> Place("\\ufeffSELECT x", 8, 9).column
        8
        """
        return self.start - self._line_start() + 1

    def _line_start(self) -> int:
        start = self.text.rfind("\n", 0, self.start) + 1
        return start + (start < self.start and self.text[start] == BYTE_ORDER_MARK)

    def excerpt(self) -> str:
        """The offending line with carets under it, below the name of the argument; a long line is cut around them.

        >>> print(Place("SELECT '東京' AS x y", 17, 18).excerpt())
          1 | SELECT '東京' AS x y
            |                    ^
        """
        first = self._line_start()
        line = without_secrets(self.text)[first:].partition("\n")[0].rstrip()
        start = self.start - first
        stop = max(start + 1, min(self.stop - first, len(line)))
        lo, hi = 0, len(line)
        if hi > _LONGEST_LINE:
            lo, hi = max(0, start - _AROUND), min(hi, start + _AROUND)
        before, after = "…" * (lo > 0), "…" * (hi < len(line))
        pad = "".join("\t" if c == "\t" else " " * _columns(c) for c in before + line[lo:start])
        carets = "^" * max(1, sum(map(_columns, line[start : min(stop, hi)])))
        number = f"{self.line:3}"
        argument = f"in {self.argument}\n" if self.argument else ""
        return f"{argument}{number} | {before}{line[lo:hi]}{after}\n{' ' * len(number)} | {pad}{carets}"


def without_secrets(text: str) -> str:
    """The text of a statement with a star for each character of a value that may be a secret of Kafka's client.

    >>> print(without_secrets("OPTIONS ('kafka.ssl.key.password' = 'x', kafka.sasl.jaas.config 'u=\\"a\\"', a = 't')"))
    OPTIONS ('kafka.ssl.key.password' = '*', kafka.sasl.jaas.config '*****', a = 't')
    """
    return _SECRET.sub(lambda match: f"{match[1]}{match[2][0]}{'*' * (len(match[2]) - 2)}{match[2][0]}", text)


def characters(line: str, columns: int) -> int:
    """The number of characters at the beginning of a line that take this many columns in a terminal.

    >>> characters("'東京' AS x", 8)
    6
    """
    n = 0
    while columns > 0 and n < len(line):
        columns -= _columns(line[n])
        n += 1
    return n


def _columns(character: str) -> int:
    """The columns that a character takes in a terminal; a tab counts as one.

    >>> [_columns(character) for character in ("a", "京", "\u0301", "\u200d", "\ufe0f")]
    [1, 2, 0, 0, 0]
    """
    if unicodedata.category(character) in _WITHOUT_WIDTH and character != "\u00ad":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class SqlExtError(Exception):
    """The base class of all errors of the extended language.

    `error_class` is a stable name for programs, `place` the place in the user's text (None for errors in rows that a
    worker reads), `hint` what to write instead.
    """

    def __init__(self, error_class: str, message: str, *, place: Place | None = None, hint: str | None = None):
        self._name, self.error_class = error_class, f"SQLEXT_{error_class}"
        self.message, self.place, self.hint = message, place, hint
        super().__init__(error_class, message, place, hint)

    def with_(self: E, *, place: Place | None = None, hint: str | None = None) -> E:
        """The same error with another place or hint; None keeps what the error has.

        >>> print(BindError("UNKNOWN_COLUMN", "there is no column x").with_(hint="the columns are a, b."))
        SQLEXT_UNKNOWN_COLUMN: there is no column x
        Hint: the columns are a, b.
        """
        return self.each(lambda e: type(e)(e._name, e.message, place=place or e.place, hint=hint or e.hint))

    def each(self: E, change: Callable[[E], E]) -> E:
        """The changed error; of several errors, which are reported together, each is changed."""
        return change(self)

    def placed(self: E, place: Place) -> E:
        """The same error, with this place if it has none."""
        return self.each(lambda e: e if e.place is not None else e.with_(place=place))

    def at(self: E, place: Place | None) -> E:
        """The same error at another place, or (None) at none."""
        return self.each(lambda e: type(e)(e._name, e.message, place=place, hint=e.hint))

    def in_text(self: E, text: str) -> E:
        """The same error with its place in another text, in which the offsets are the same."""
        return self.each(lambda e: e.with_(place=e.place and replace(e.place, text=text)))

    def moved(self: E, text: str, by: int) -> E:
        """The same error about a longer `text`, in which the statement begins at character `by`.

        >>> error = BindError("UNKNOWN_COLUMN", "there is no column x", place=Place("SELECT x", 7, 8))
        >>> print(error.moved("EXPLAIN MATCH SELECT x", 14).place.excerpt())
          1 | EXPLAIN MATCH SELECT x
            |                      ^
        """
        return self.each(lambda e: e.with_(place=e.place and Place(text, e.place.start + by, e.place.stop + by)))

    def as_data_error(self) -> DataError:
        """The same error about one row: a pattern that a column has, for example, and that is not built."""
        return DataError(self._name, self.message, place=self.place, hint=self.hint)

    def __str__(self) -> str:
        lines = [f"{self.error_class}: {self.message}"]
        if self.place is not None:
            lines.append(self.place.excerpt())
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter show instead of a traceback, whose lines are all ours and Spark's."""
        return with_pages(str(self)).splitlines()

    def __reduce__(self):
        return _rebuild, (type(self), self._name, self.message, self.place, self.hint)


def _rebuild(kind, error_class, message, place, hint):
    return kind(error_class, message, place=place, hint=hint)


class ParseError(SqlExtError):
    """The text breaks the grammar of the extended language."""


class BindError(SqlExtError):
    """A name, a type or a rule of the standard is violated."""


class UnsupportedError(SqlExtError):
    """The text is legal, but not built; the hint says what to write instead."""


class DataError(SqlExtError):
    """An error in the data, known only when rows are read."""


class SetupError(SqlExtError):
    """Spark could not be started: because of Java, Delta's jar, or a session that runs already."""


class SqlExtErrors(ParseError):
    """Several errors of one statement, reported together; `errors` are in the order of the text, and those in arguments
    of a function as they are given."""

    def __init__(self, errors: list[SqlExtError]):
        self.errors = sorted(errors, key=lambda e: e.place.start if e.place and not e.place.argument else -1)
        first = self.errors[0]
        super().__init__(first._name, first.message, place=first.place, hint=first.hint)

    def __str__(self) -> str:
        return "\n\n".join(str(e) for e in self.errors)

    def each(self, change: Callable[[SqlExtError], SqlExtError]) -> SqlExtErrors:  # type: ignore[override]
        return SqlExtErrors([change(error) for error in self.errors])

    def __reduce__(self):
        return SqlExtErrors, (self.errors,)


def file_fault(error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read or written, in words: without Python's numbers.

    >>> file_fault(FileNotFoundError(2, "No such file or directory", "a.sql"))
    'no such file or directory'
    """
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def with_pages(message: str) -> str:
    """The message as people see it: with a line that says how to read the pages of the errors in it that have one.

    >>> print(with_pages(str(BindError("UNRESOLVED_COLUMN", "there is no column x"))))
    SQLEXT_UNRESOLVED_COLUMN: there is no column x
    For more: sqlext explain-error UNRESOLVED_COLUMN
    """
    written = re.findall(r"^SQLEXT_(\w+): ", message, re.MULTILINE)
    names = dict.fromkeys(name for name in map(page_name, written) if name is not None)
    return f"{message}\nFor more: sqlext explain-error {' '.join(names)}" if names else message


def raise_all(errors: list[SqlExtError]) -> None:
    """Raise the one error, or all errors together, or nothing if there is none."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SqlExtErrors(errors)


def all_of(items: Iterable[Item], step: Callable[[Item], Result]) -> list[Result]:
    """The results of `step`, or the errors of all items together."""
    results: list[Result] = []
    errors: list[SqlExtError] = []
    for item in items:
        try:
            results.append(step(item))
        except SqlExtErrors as several:
            errors += several.errors
        except SqlExtError as error:
            errors.append(error)
    raise_all(errors)
    return results


@contextmanager
def placed_at(place: Place) -> Iterator[None]:
    """Errors that are raised inside, and have no place, get this one."""
    try:
        yield
    except SqlExtError as error:
        raise error.placed(place) from None


@contextmanager
def places_after(text: str, part: str, start: int) -> Iterator[None]:
    """Errors that are raised inside about `part`, which begins at character `start` of `text`, get their places in
    `text`. Those about another text, such as that of a stored view, remain as they are."""
    try:
        yield
    except SqlExtError as error:
        if error.place is None or error.place.text != part:
            raise
        raise error.moved(text, start) from None


@contextmanager
def places_in(text: str) -> Iterator[None]:
    """Errors that are raised inside get their places in `text`, of which the text inside is a copy with blanks."""
    try:
        yield
    except SqlExtError as error:
        raise error.in_text(text) from None
