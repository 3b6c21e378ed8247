"""The lexemes of a scalar expression by index: brackets, arguments, and which names are columns."""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.errors import Place
from sqlext.rewriter.match.references import Scope
from sqlext.rewriter.text.lexemes import Lexeme
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Text

_KEYWORDS = """
    ALL AND ANTI ANY AS ASC AT BETWEEN BOTH CASE CAST COLLATE CROSS CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER
    DESC DISTINCT DIV ELSE END ESCAPE EXISTS FALSE FILTER FOR FROM GROUP ILIKE IN INTERVAL IS LEADING LIKE NOT
    NULL NULLS OR ORDER OVER REGEXP RESPECT RLIKE SELECT SOME THEN TO TRAILING TRUE USING WHEN
"""
_NOT_COLUMNS = frozenset(_KEYWORDS.split())


class Words:
    """Questions about lexemes, each given by its index; indexes outside of the expression are allowed."""

    def __init__(self, parts: Sequence[Lexeme], scope: Scope):
        self.parts, self.scope = parts, scope
        self.lambda_names = self._lambda_names()

    def raw(self, i: int) -> str:
        return self.parts[i].raw if 0 <= i < len(self.parts) else ""

    def word(self, i: int) -> str:
        return self.raw(i).upper()

    def is_subquery(self, i: int) -> bool:
        return self.raw(i) == "(" and self.word(i + 1) in ("SELECT", "WITH", "FROM", "VALUES", "TABLE")

    def closing(self, i: int) -> int:
        """The index of the parenthesis that closes the one at i."""
        depth = 0
        for j in range(i, len(self.parts)):
            depth += (self.parts[j].raw in ("(", "[", "{")) - (self.parts[j].raw in (")", "]", "}"))
            if depth == 0:
                return j
        return len(self.parts) - 1

    def arguments(self, opening: int, close: int) -> list[tuple[int, int]]:
        """The ranges between the commas of `( … )`; `opening` is the index before the first argument."""
        bounds: list[tuple[int, int]] = []
        start = i = opening + 1
        while i < close:
            if self.parts[i].raw in ("(", "[", "{"):
                i = self.closing(i)
            elif self.parts[i].raw == ",":
                bounds.append((start, i))
                start = i + 1
            i += 1
        return [*bounds, (start, close)] if close > opening + 1 else []

    def slice(self, lo: int, hi: int, trailing: bool = False) -> Text:
        """The text of lexemes lo to hi; `trailing` keeps what stands between the last of them and the next."""
        if lo >= hi:
            return Text()
        stop = self.parts[hi].start if trailing and hi < len(self.parts) else self.parts[hi - 1].stop
        return self.scope.source.slice(self.parts[lo].start, stop)

    def place(self, lo: int, hi: int) -> Place:
        return self.scope.place(self.parts[lo].start, self.parts[min(hi, len(self.parts)) - 1].stop)

    def is_column(self, i: int) -> bool:
        """Does the name at i say an input column, alone or behind the input's alias?"""
        lexeme, before, behind = self.parts[i], self.raw(i - 1), self.raw(i + 1)
        if not lexeme.is_name or before == "." or behind == "(":
            return False
        if not lexeme.raw.startswith("`") and (lexeme.word in _NOT_COLUMNS or self._is_syntax(i, before, behind)):
            return False
        if unquoted(lexeme.raw).lower() in self.lambda_names:
            return False
        if self.scope.column(lexeme):
            return True
        return behind == "." and i + 2 < len(self.parts) and self.scope.column(self.parts[i + 2]) is not None

    def _is_syntax(self, i: int, before: str, behind: str) -> bool:
        """A type (`CAST(x AS date)`), unit (`INTERVAL 5 day`), field (`EXTRACT(year FROM t)`), `date '…'`, `n => 1`."""
        return (
            before.upper() == "AS"
            or before == "::"
            or behind == "=>"
            or behind.upper() == "FROM"
            or (
                before != ""
                and (before[0].isdigit() or before[0] in "'\"")
                and self.word(i - 2) in ("INTERVAL", "+", "-")
            )
            or (
                behind[:1] in ("'", '"')
                and self.word(i) in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X", "TIME")
            )
        )

    def _lambda_names(self) -> frozenset[str]:
        names: set[str] = set()
        for i, lexeme in enumerate(self.parts):
            if lexeme.raw == "->" and i:
                j = i - 1
                if self.parts[j].raw == ")":
                    while self.parts[j].raw != "(":
                        j -= 1
                names |= {unquoted(x.raw).lower() for x in self.parts[j:i] if x.is_name}
        return frozenset(names)
