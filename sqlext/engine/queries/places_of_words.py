"""The words that Spark's errors are about which have no position, or the position of a whole query."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from sqlext.engine.queries.sent_texts import QUALIFIER, starts_of
from sqlext.errors import Place
from sqlext.rewriter.text.names import tokens_of, unquoted
from sqlext.rewriter.text.splice import Text

# the words of errors whose parameters name none
_WORDS = {"MISSING_GROUP_BY": "HAVING", "QUALIFY_REQUIRES_WINDOW_FUNCTION": "QUALIFY"}
# the parameters that name a word, or begin with it; an error has at most one of them
_PARAMETERS = (
    "expressionList", "expression", "filter", "operator", "clauseName", "colName", "funcName", "windowName",
    "functionName", "duplicateNames", "expr",
)  # fmt: skip
_ABOUT_WHERE = ("condition", "filter")  # parameters of errors about WHERE
_NAME = re.compile(r"[A-Za-z_]\w*")


def place_of_word(e: PySparkException, text: Text, user_text: str, query: str, near: int) -> Place | None:
    """The place in the user's text of the word that an error about a whole query is about; None if there is none.

    `query`: the query in Spark's text, about `near` characters from its beginning, or "" for the whole text. A set
    operator is the last one of its query, another word the first one; one outside of the query's parentheses goes
    first.
    """
    word = _word(e)
    if word is None:
        return None
    start, stop = next(starts_of(query, near, text), (0, len(str(text))))
    tokens = [t for t in tokens_of(str(text)) if start <= t.start < stop]
    parameters = e.getMessageParameters() or {}
    if any(name in parameters for name in _ABOUT_WHERE):
        where = next((i for i, token in enumerate(tokens) if token.word == "WHERE"), 0)
        tokens = tokens[where:]
    found = [token for token in tokens if token.is_name and unquoted(token.text).lower() == word.lower()]
    found.sort(key=lambda token: token.depth)
    if not found:
        return None
    outermost = [token for token in found if token.depth == found[0].depth]
    token = outermost[-1] if "operator" in parameters else outermost[0]
    return text.place(token.start, token.stop, user_text)


def _word(e: PySparkException) -> str | None:
    """The word that the error is about: the first name in one of its parameters, or a keyword."""
    parameters = e.getMessageParameters() or {}
    condition = e.getCondition() or ""
    named = next((parameters[name] for name in _PARAMETERS if name in parameters), "")
    match = _NAME.search(QUALIFIER.sub("", named))
    return match[0] if match else _WORDS.get(condition)
