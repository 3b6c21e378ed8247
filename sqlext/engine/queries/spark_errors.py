"""Errors of Spark's analysis and parser, converted into errors in the user's text and in the user's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from pyspark.errors import PySparkException

from sqlext.errors import BindError, Place
from sqlext.rewriter.scalars.analyse import CLAUSE_FUNCTIONS, NAVIGATIONS, OUTCOMES
from sqlext.rewriter.text.names import Parts, name_at, split_name, tokens_of
from sqlext.rewriter.text.splice import Text

HELPER = re.compile(r"__sqlext_helper_\d+__")
_HELPER_OF_SPARK = r"`?(?:_pyspark_[0-9a-f]{32}|__sqlext_helper_\d+__)`?"
_QUALIFIER = re.compile(rf"{_HELPER_OF_SPARK}\.")
_COLUMN = re.compile(r"""(["`]?)\b__[a-z]+_?\d+\b\1""")  # a generated column, such as `__c2`
_NEAR = re.compile(r"at or near '(.+?)'(?=[.:]|$)")
_OWN_FUNCTIONS = frozenset({*CLAUSE_FUNCTIONS, *OUTCOMES})
_QUOTED_HINT = (
    'Spark reads "…" as a string: write the name in backticks, or SET spark.sql.ansi.doubleQuotedIdentifiers = true.'
)
_HINTS = {
    # Spark Declarative Pipelines: docs/jobs.md
    "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION": "a clause needs the types of its input before it runs: call "
    "spark.sql(…) outside of the function of the pipeline, and return its DataFrame there.",
    "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING": "write it where you read the streaming table; the best row of each "
    "window is max_by(…) in a second window over the firings.",
    "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION": "write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS, and "
    "group by the windows of ts.",
}
_SENTENCES = {
    "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING": "functions OVER rows need all of them, and a stream has no end",
    "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION": "without a watermark the groups of a stream are never complete",
}
_HAS_CLEAR_NAME = re.compile(r"(?!_LEGACY)[A-Z]")


def user_error(
    e: PySparkException, text: Text, user_text: str, functions: Callable[[], Iterable[str]] = tuple
) -> BindError:
    """Spark's error about `text` with its place in the user's text.

    `functions` returns the names of all functions; it is called only if one is unknown.
    """
    condition = getattr(e, "getCondition", e.getErrorClass)() or "ANALYSIS"
    name = condition.replace(".", "_") if _HAS_CLEAR_NAME.match(condition) else "ANALYSIS"
    place = place_of(e, text, user_text)
    if condition == "UNRESOLVED_ROUTINE":
        return _unknown_function(e, name, place, functions)
    if "is not a temp view of streaming logical plan" in str(e):
        return _no_stream(e, text, user_text)
    quoted_hint = _QUOTED_HINT if place is not None and user_text[place.start] == '"' else None
    hint = quoted_hint or _HINTS.get(condition) or _result_name_hint(e) or _watermark_hint(e, condition, place)
    return BindError(name, _SENTENCES.get(condition) or _message(e), place=place, hint=hint)


def _message(e: PySparkException) -> str:
    """The first line of the error, without the error's name and without generated names."""
    first_line = str(e).strip().split("\n")[0]
    message = re.sub(r"^\[[A-Z0-9_.]+\] ?|;? ?SQLSTATE: \w+.*$", "", first_line).rstrip("; ")
    return _COLUMN.sub("it", _QUALIFIER.sub("", message))


# hints


def _unknown_function(
    e: PySparkException, name: str, place: Place | None, functions: Callable[[], Iterable[str]]
) -> BindError:
    routine = (e.getMessageParameters() or {}).get("routineName", "").replace("`", "")
    word = routine.upper()
    if word in _OWN_FUNCTIONS:
        hint = f"write it in MEASURES of the clause, {word}() AS name, and read the name here."
        return BindError(name, f"{word}() has a value only inside MATCH_RECOGNIZE", place=place, hint=hint)
    close = get_close_matches(word, [*NAVIGATIONS, *_OWN_FUNCTIONS], n=1, cutoff=0.7)
    close = close or get_close_matches(routine.lower(), {f.lower() for f in functions()}, n=1, cutoff=0.7)
    meant = f"did you mean {close[0]}?" if close else None
    return BindError(name, f"there is no function {routine}", place=place, hint=meant)


def _no_stream(e: PySparkException, text: Text, user_text: str) -> BindError:
    view = str(e).strip().split(" is not a temp view")[0].rpartition("] ")[2].rpartition(" ")[2]
    match = re.search(rf"\bSTREAM\b[\s(]*`?{re.escape(view)}`?", user_text, re.IGNORECASE)
    place = Place(user_text, match.start(), match.end()) if match else None
    hint = f"leave STREAM out, or make {view} a view of spark.readStream.table(…)."
    return BindError("NOT_A_STREAM", f"{view} is a temporary view of rows that do not grow", place=place, hint=hint)


def _result_name_hint(e: PySparkException) -> str | None:
    """The hint for `SELECT t.k FROM t MATCH_RECOGNIZE (…)`: the result is not t."""
    parameters = e.getMessageParameters() or {}
    qualifier, _, column = parameters.get("objectName", "").replace("`", "").rpartition(".")
    if not qualifier or not re.search(_HELPER_OF_SPARK, parameters.get("proposal", "")):
        return None
    alias = qualifier.rpartition(".")[2]
    return f"the result of MATCH_RECOGNIZE has no name yet: write {column} alone, or MATCH_RECOGNIZE (…) AS {alias}."


def cast_hint(time: str) -> str:
    """The hint for an event time that is a DATE, a TIMESTAMP_NTZ or a text."""
    return f"write WATERMARK CAST({time} AS TIMESTAMP) AS event_time DELAY OF …, and read event_time."


def _watermark_hint(e: PySparkException, condition: str, place: Place | None) -> str | None:
    if condition == "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE":
        return cast_hint((e.getMessageParameters() or {}).get("eventName", "ts").strip("`"))
    if condition != "PARSE_SYNTAX_ERROR" or place is None:
        return None
    before = place.text[: place.stop].upper().rpartition("WATERMARK")
    if not before[1] or re.search(r"\bDELAY\s+OF\s+INTERVAL\b|\bMATCH_RECOGNIZE\b", before[2]):
        return None
    return "write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS."


# places


def place_of(e: PySparkException, text: Text, user_text: str) -> Place | None:
    """The place in the user's text of Spark's error about `text`; None if Spark names none, or one of ours."""
    contexts = [c for c in e.getQueryContext() or [] if c.contextType().name == "SQL"]
    if not contexts:
        return _place_of_syntax(str(e), text, user_text)
    fragment, near = contexts[0].fragment(), contexts[0].startIndex()
    starts = [m.start() for m in re.finditer(re.escape(fragment), str(text))]  # helper names change the offsets
    for start in sorted(starts, key=lambda s: abs(s - near)):
        part = _missing_name(e, fragment) or slice(0, len(fragment))
        origins = [o for i in range(start + part.start, start + part.stop) if (o := text.origin(i)) is not None]
        if origins:
            return Place(user_text, origins[0], max(origins) + 1)
    return None


def _missing_name(e: PySparkException, fragment: str) -> slice | None:
    """The name of the relation that Spark did not find, in the text of the whole relation; None for other errors."""
    if getattr(e, "getCondition", e.getErrorClass)() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    return place_of_name(fragment, split_name((e.getMessageParameters() or {}).get("relationName", "")))


def place_of_name(text: str, parts: Parts) -> slice | None:
    """The characters of a name in the text of a relation; None if it is not written there.

    >>> text = "STREAM db . `no such` WATERMARK ts DELAY OF INTERVAL 1 SECOND"
    >>> text[place_of_name(text, ("db", "no such"))]
    'db . `no such`'
    """
    tokens = tokens_of(text)
    names = (name for i in range(len(tokens)) if (name := name_at(tokens, i)) is not None)
    wanted = [part.lower() for part in parts]
    return next((slice(n.start, n.stop) for n in names if [part.lower() for part in n.parts] == wanted), None)


def _place_of_syntax(message: str, text: Text, user_text: str) -> Place | None:
    """The word at which Spark's parser stopped. If the user did not write that word, the last character before it that
    the user wrote."""
    position = re.search(r"\(line (\d+), pos (\d+)\)", message)
    if position is None:
        return None
    lines = str(text).splitlines(keepends=True)[: int(position[1])]
    if HELPER.search(lines[-1][: int(position[2])]):  # Spark knows it by another name, of another length
        return None
    at = len("".join(lines[:-1])) + int(position[2])
    near = _NEAR.search(message.strip().split("\n")[0])
    starts = [m.start() for m in re.finditer(re.escape(near[1]), str(text))] if near else []
    if near and starts:
        start = min(starts, key=lambda s: abs(s - at))  # Spark's position is sometimes that of the previous word
        first = text.origin(start)
        if first is not None and user_text[first : first + len(near[1])] == near[1]:
            return Place(user_text, first, first + len(near[1]))
    origins = (text.origin(i) for i in range(min(at, len(str(text)) - 1), -1, -1))
    origin = next((o for o in origins if o is not None and not user_text[o].isspace()), None)
    return None if origin is None else Place(user_text, origin, origin + 1)
