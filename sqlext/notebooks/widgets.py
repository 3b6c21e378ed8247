"""The widgets of a notebook: named texts that SQL reads as `:name`, as in Databricks notebooks.

The statements CREATE WIDGET and REMOVE WIDGET and the methods of `dbutils.widgets` follow Databricks' documentation of
notebook widgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlext.errors import BindError, ParseError, Place
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import string_value
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import STRING, Token, tokenize, words_of

KINDS = ("TEXT", "DROPDOWN", "COMBOBOX", "MULTISELECT")


@dataclass(frozen=True, kw_only=True)
class WidgetStatement:
    """CREATE WIDGET (`kind`, `default`, `choices`: a query or None) or REMOVE WIDGET (`kind` is None)."""

    name: str
    kind: str | None = None
    default: str = ""
    choices: Fragment | None = None


class Widgets:
    """The widgets by name. A value that was passed to the notebook overrides the default of a widget.

    >>> widgets = Widgets({"day": "2026-01-31"})
    >>> widgets.text("day", "2026-01-01"); widgets.dropdown("unit", "h", ["h", "min"])
    >>> widgets.get("day"), widgets.getAll()
    ('2026-01-31', {'day': '2026-01-31', 'unit': 'h'})
    """

    def __init__(self, passed: Mapping[str, str] | None = None):
        self._passed = dict(passed or {})
        self._values: dict[str, str] = {}

    def create(self, kind: str, name: str, default: str, choices: Sequence[Any]) -> None:
        """Create a widget of one of KINDS. Raises BindError (WIDGET_VALUE)."""
        if kind == "TEXT":
            self.text(name, default)
        else:
            getattr(self, kind.lower())(name, default, choices)

    def text(self, name: str, defaultValue: str = "", label: str | None = None) -> None:
        """Create a widget; one that exists keeps its value."""
        self._values.setdefault(name, self._passed.get(name, str(defaultValue)))

    def dropdown(self, name: str, defaultValue: str, choices: Sequence[Any], label: str | None = None) -> None:
        """Create a widget whose value is one of `choices`. Raises BindError (WIDGET_VALUE)."""
        self.text(name, defaultValue)
        self._check(name, [self._values[name]], choices)

    def combobox(self, name: str, defaultValue: str, choices: Sequence[Any] = (), label: str | None = None) -> None:
        """Create a widget whose value may be any text."""
        self.text(name, defaultValue)

    def multiselect(self, name: str, defaultValue: str, choices: Sequence[Any], label: str | None = None) -> None:
        """Create a widget whose value is some of `choices`, separated by commas. Raises BindError (WIDGET_VALUE)."""
        self.text(name, defaultValue)
        self._check(name, self._values[name].split(","), choices)

    def _check(self, name: str, values: Sequence[str], choices: Sequence[Any]) -> None:
        allowed = [str(choice) for choice in choices]
        for value in values:
            if value not in allowed:
                del self._values[name]
                raise BindError(
                    "WIDGET_VALUE",
                    f'"{value}" is no choice of the widget "{name}"',
                    hint=f"the choices are {', '.join(allowed)}.",
                )

    def get(self, name: str) -> str:
        """The value of a widget, or the value that was passed under this name. Raises BindError (UNKNOWN_WIDGET)."""
        value = self.lookup(name)
        if value is None:
            hint = f"create it with dbutils.widgets.text('{name}', '…') or CREATE WIDGET TEXT {name}."
            raise BindError("UNKNOWN_WIDGET", f'there is no widget "{name}"', hint=hint)
        return value

    def getArgument(self, name: str, defaultValue: str | None = None) -> str:
        """The value of a widget, or else the default. Raises BindError (UNKNOWN_WIDGET) if there is neither."""
        value = self.lookup(name)
        return value if value is not None else self.get(name) if defaultValue is None else defaultValue

    def getAll(self) -> dict[str, str]:
        """All widgets with their values."""
        return dict(self._values)

    def lookup(self, name: str) -> str | None:
        """The value of a widget, or the value that was passed under this name, or None."""
        return self._values.get(name, self._passed.get(name))

    def receive(self, passed: Mapping[str, str]) -> None:
        """Pass values to the notebook; they override the values of widgets."""
        self._passed.update(passed)
        self._values.update({name: value for name, value in passed.items() if name in self._values})

    def is_passed(self, name: str) -> bool:
        """Return True if the value of this name is the one that was passed to the notebook."""
        return name in self._passed and self.lookup(name) == self._passed[name]

    def remove(self, name: str) -> None:
        """Remove a widget. Raises BindError (UNKNOWN_WIDGET)."""
        self.get(name)
        self._values.pop(name, None)

    def removeAll(self) -> None:
        """Remove all widgets."""
        self._values.clear()


def parse_widget_statement(text: str) -> WidgetStatement | None:
    """The parsed CREATE WIDGET or REMOVE WIDGET; None for any other statement. Raises ParseError (WIDGET_SYNTAX).

    >>> parse_widget_statement("CREATE WIDGET DROPDOWN cut DEFAULT 'Good' CHOICES SELECT DISTINCT cut FROM d").choices.text
    'SELECT DISTINCT cut FROM d'
    >>> parse_widget_statement("REMOVE WIDGET cut").kind
    """  # noqa: E501
    tokens = tokenize(text)
    words = words_of(tokens[:3])
    if words[:2] == ["REMOVE", "WIDGET"]:
        if len(tokens) != 3:
            raise _error(text, tokens[-1], "REMOVE WIDGET takes one name", "write REMOVE WIDGET name.")
        return WidgetStatement(name=_plain(tokens[2]))
    if words[:2] != ["CREATE", "WIDGET"]:
        return None
    if len(tokens) < 4 or words[2] not in KINDS:
        raise _error(
            text,
            tokens[min(2, len(tokens) - 1)],
            "CREATE WIDGET needs a kind and a name",
            f"write CREATE WIDGET {'|'.join(KINDS)} name DEFAULT 'value'.",
        )
    return _parts(text, tokens)


def _parts(text: str, tokens: Sequence[Token]) -> WidgetStatement:
    default, at = "", 4
    if len(tokens) > at + 1 and tokens[at].word == "DEFAULT":
        default, at = _plain(tokens[at + 1]), at + 2
    choices = None
    if len(tokens) > at + 1 and tokens[at].word == "CHOICES":
        choices, at = Fragment.of_tokens(text, tokens, at + 1, len(tokens)), len(tokens)
    if at < len(tokens):
        raise _error(
            text,
            tokens[at],
            "a widget has a DEFAULT, then CHOICES",
            "write CREATE WIDGET DROPDOWN name DEFAULT 'value' CHOICES SELECT …",
        )
    return WidgetStatement(name=_plain(tokens[3]), kind=tokens[2].word, default=default, choices=choices)


def _plain(token: Token) -> str:
    return string_value(token.text) if token.kind == STRING else unquoted(token.text)


def _error(text: str, token: Token, message: str, hint: str) -> ParseError:
    return ParseError("WIDGET_SYNTAX", message, place=Place(text, token.start, token.stop), hint=hint)
