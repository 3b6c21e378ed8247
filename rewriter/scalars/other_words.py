"""Replaces words of other systems inside the clause by the words of the standard with the same meaning.

| written | system | read as |
|---|---|---|
| `LAG(x, n)`, `LEAD(x, n)` | Snowflake | `PREV(x, n)`, `NEXT(x, n)` |
| `CLASSIFIER`, `MATCH_NUMBER` without parentheses | Snowflake, Oracle | `CLASSIFIER()`, `MATCH_NUMBER()` |
| `MEASURES x name` | Snowflake, Flink | `MEASURES x AS name` |
| `"a".price`, where the variable a is quoted | all of these systems | `` `a`.price `` |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlext.rewriter.scalars.references import FIELD_MARKS, Scope
from sqlext.rewriter.text.lexemes import Lexeme
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.tokens import QUOTED, WORD, Tokens
from sqlext.rewriter.tree.keywords import ends_operand

_NAVIGATIONS = {"LAG": "PREV", "LEAD": "NEXT"}
_WITHOUT_PARENTHESES = frozenset({"CLASSIFIER", "MATCH_NUMBER", "MATCH_SEQUENCE_NUMBER"})
_BEFORE_LAST = frozenset({"COLLATE", "TO", "ZONE", "::", "."})


def in_standard_words(parts: Sequence[Lexeme], scope: Scope) -> list[Lexeme]:
    """The words of an expression in the standard's form; a column named CLASSIFIER or MATCH_NUMBER remains a column.

    >>> from sqlext.rewriter.text.fragments import Fragment
    >>> from sqlext.rewriter.text.lexemes import lexemes
    >>> from sqlext.rewriter.text.splice import Source
    >>> text = "LAG(price, 2) + lag, classifier"
    >>> scope = Scope(source=Source(text), variables={}, columns=("price", "lag"))
    >>> " ".join(x.raw for x in in_standard_words(lexemes(Fragment(text, 0, len(text))), scope))
    'PREV ( price , 2 ) + lag , classifier ( )'
    >>> text = 'FIRST("a".price)'
    >>> scope = Scope(source=Source(text), variables={"a": None}, columns=("price",))
    >>> "".join(x.raw for x in in_standard_words(lexemes(Fragment(text, 0, len(text))), scope))
    'FIRST(`a`.price)'
    """
    result: list[Lexeme] = []
    for i, part in enumerate(parts):
        before = parts[i - 1].raw if i else ""
        after = parts[i + 1].raw if i + 1 < len(parts) else ""
        is_argument = before == "(" and i > 1 and parts[i - 2].word == "CLASSIFIER"
        is_quoted = part.raw[0] == '"' and part.declared_at is None
        if is_quoted and (after == "." or is_argument) and part.raw[1:-1] in scope.variables:
            part = replace(part, raw=quoted(part.raw[1:-1]))
        if part.word in _NAVIGATIONS and after == "(" and before not in FIELD_MARKS:
            part = replace(part, raw=_NAVIGATIONS[part.word])
        result.append(part)
        is_bare = part.word in _WITHOUT_PARENTHESES and after not in ("(", ".") and before not in (*FIELD_MARKS, "`")
        if is_bare and not part.is_parameter and scope.column(part) is None:
            result += [Lexeme(raw=raw, start=part.stop, stop=part.stop) for raw in "()"]
    return result


def ends_in_name(tokens: Tokens, lo: int, hi: int) -> bool:
    """True if the measure in tokens `lo` to `hi` ends in its name, without AS before it.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> measures = "LAST(x) y", "LAST(x) end", "CASE WHEN a THEN 1 END", "a IS NULL", "ts + INTERVAL 5 DAY", "A.x", "x"
    >>> [ends_in_name(tokenize(text), 0, len(tokenize(text))) for text in measures]
    [True, True, False, False, False, False, False]
    """
    name, before = hi - 1, hi - 2
    if before < lo or tokens[name].kind not in (WORD, QUOTED) or tokens[before].word in _BEFORE_LAST:
        return False
    if not ends_operand(tokens, before) or _ends_expression(tokens, lo, name):
        return False
    return not any(tokens[i].word == "INTERVAL" for i in range(max(lo, hi - 3), before))


def _ends_expression(tokens: Tokens, lo: int, last: int) -> bool:
    """True if the word at `last`, which follows an operand, ends the expression that begins at `lo`, as the END of CASE
    and the NULLS of IGNORE NULLS do."""
    if tokens[last].word == "NULLS":
        return tokens[last - 1].word in ("IGNORE", "RESPECT")
    words = [tokens[i].word for i in range(lo, last) if tokens[i - 1].word != "."]
    return tokens[last].word == "END" and words.count("CASE") > words.count("END")
