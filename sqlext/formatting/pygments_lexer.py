"""A lexer for Pygments, so that Sphinx, Jupyter, the shell and the documentation highlight the extended language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, Punctuation, String, Whitespace

from sqlext.formatting.keywords import FUNCTIONS, phrases
from sqlext.rewriter.text.tokens import SPARK_KEYWORDS, SPARK_TYPES

_GAP = [
    (r"\s+", Whitespace),
    (r"--[^\n]*", Comment.Single),
    (r"/\*", Comment.Multiline, "comment"),
]


def _phrase(alternatives: Iterable[str]) -> str:
    """A regular expression for these phrases, the longest first, with any gaps between their words."""
    longest_first = sorted(alternatives, key=len, reverse=True)
    return r"\b(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in longest_first) + r")\b"


class SqlextLexer(RegexLexer):
    """SQL of Spark with MATCH_RECOGNIZE and its relatives.

    >>> [text for kind, text in SqlextLexer().get_tokens("PATTERN (a b{2,}?)") if kind is Name.Variable]
    ['a', 'b']
    """

    name = "sqlext SQL"
    aliases = ("sqlext", "match_recognize")
    filenames = ()  # *.sql belongs to all dialects
    mimetypes = ("text/x-sqlext",)
    flags = re.IGNORECASE

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            *_GAP,
            (r"r?'(?:[^'\\]|\\.|'')*'", String.Single),
            (r'r?"(?:[^"\\]|\\.)*"', String.Double),
            (r"(\.)(\s*)([^\W\d]\w*)", bygroups(Punctuation, Whitespace, Name)),
            (r"(PATTERN)(\s*)(\()", bygroups(Keyword, Whitespace, Punctuation), "pattern"),
            (r"(?:RUNNING|FINAL)(?=\s+\w+\s*\()", Keyword),
            (_phrase(FUNCTIONS) + r"(?=\s*\()", Name.Builtin),
            (r"\b(AS)(\s+)(" + _phrase(SPARK_TYPES) + r")(?=\s*[()])", bygroups(Keyword, Whitespace, Keyword.Type)),
            (_phrase(phrases()) + r"(?!\s*\.)", Keyword),
            (_phrase(SPARK_TYPES) + r"(?=\s*['(])|(?<=::)" + _phrase(SPARK_TYPES), Keyword.Type),
            (_phrase(SPARK_KEYWORDS - SPARK_TYPES) + r"(?!\s*\.)", Keyword),
            (r":[^\W\d]\w*|\?", Name.Variable.Global),
            (r"[^\W\d]\w*(?=\s*\()", Name.Function),
            (r"`(?:[^`]|``)*`|[^\W\d]\w*", Name),
            (r"\d+(?:\.\d*)?(?:e[+-]?\d+)?(?:[LSYFD]|BD)?\b|\.\d+(?:e[+-]?\d+)?", Number),
            (r"[()\[\]{},;.]", Punctuation),
            (r"\|>|<=>|[<>=!]=|<>|::|\|\||->|[-+*/%<>=!&|^~:]", Operator),
        ],
        "comment": [
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[^*/]+|[*/]", Comment.Multiline),
        ],
        "pattern": [
            *_GAP,
            (r"\{-|-\}", Keyword.Reserved),
            (r"(?:[*+?]|\{\s*\d*\s*(?:,\s*\d*\s*)?\})[?+]?", Literal),
            (r"!?->>?|[!|^$]", Operator),
            (r"PERMUTE(?=\s*\()|UNTIL\b", Keyword),
            (r"`[^`]*`|\"[^\"]*\"|[^\W\d]\w*", Name.Variable),
            (r"\(", Punctuation, "#push"),
            (r"\)", Punctuation, "#pop"),
            (r",", Punctuation),
        ],
    }
