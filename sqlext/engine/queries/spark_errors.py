"""Errors of Spark's analysis and parser, converted into errors in the user's text and in the user's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import pairwise

from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException, PySparkException

from sqlext.catalog.streams import root_cause
from sqlext.engine.queries.places_of_words import place_of_word
from sqlext.engine.queries.sent_texts import HELPER, HELPER_NAME, HELPER_OF_SPARK, QUALIFIER, place_of_fragment
from sqlext.errors import BindError, Place
from sqlext.rewriter.checkpoint_words.resumed_words import after_interval, word_of
from sqlext.rewriter.scalars.analyse import CLAUSE_FUNCTIONS, NAVIGATIONS, OUTCOMES
from sqlext.rewriter.scalars.foreign_words import (
    hint_of_arguments,
    hint_of_function,
    hint_of_name,
    hint_of_syntax,
    hint_of_time_travel,
)
from sqlext.rewriter.text.fragments import in_line
from sqlext.rewriter.text.names import QUOTED_HINT, Parts, name_at, split_name, tokens_of
from sqlext.rewriter.text.splice import Piece, Text
from sqlext.rewriter.tree.keywords import is_at

# The errors of a text that Spark analyses; the last one is for intervals.
ERRORS = (AnalysisException, ParseException, IllegalArgumentException)

# a generated column, such as `__c2`
_COLUMN = re.compile(r"""(["`]?)\b(?:__[a-z]+_?\d+|__nothing|commonexpressionref\(\))(?!\w)\1""")
_SUGGESTED = re.compile(r" Did you mean one of the following\? \[(.*?)\]\.")
_NUMBER = re.compile(r"(?<=\w)#\d+L?\b")  # Spark's own number of a column
# a generated name, a plan, or the number of a column
_INTERNAL = re.compile(rf"{HELPER_OF_SPARK}|\n *\+- |{_NUMBER.pattern}", re.IGNORECASE)
_POSITION = re.compile(r"\(line (\d+), pos (\d+)\)|; line (\d+) pos (\d+)")
_NEAR = re.compile(r"at or near '(.+?)'(?=[.:]|$)")
# conditions of Spark, and what an error without one is called
_NO_CONDITION = "ANALYSIS"
_SYNTAX_ERROR, _NOT_ORDERABLE = "PARSE_SYNTAX_ERROR", "EXPRESSION_TYPE_IS_NOT_ORDERABLE"
_OWN_FUNCTIONS = frozenset({*CLAUSE_FUNCTIONS, *OUTCOMES})
_NAVIGATIONS = NAVIGATIONS - {"FIRST", "LAST"}  # which Spark has too
_HINTS = {
    # Spark Declarative Pipelines: docs/jobs.md
    "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION": "a clause needs the types of its input before it runs: call "
    "spark.sql(…) outside of the function of the pipeline, and return its DataFrame there.",
    "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING": "write it where you read the streaming table; the best row of each "
    "window is max_by(…) in a second window over the firings.",
    _NOT_ORDERABLE: "write its parts, such as m['key'], or to_json(m).",
    "INVALID_WHERE_CONDITION": "aggregates are computed after WHERE: write them in HAVING, or in a subquery.",
    "MISSING_AGGREGATION": "add it to GROUP BY, or write any_value(…) for its value on any row of the group.",
    "UNSUPPORTED_FEATURE.TIME_TRAVEL": "write VERSION AS OF or TIMESTAMP AS OF after the name of the table, in the "
    "query of the view.",
    "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION": "write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS, and "
    "group by the windows of ts.",
}
_SENTENCES = {
    "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING": "functions OVER rows need all of them, and a stream has no end",
    "UNSUPPORTED_FEATURE.TIME_TRAVEL": "only tables have versions, and this is a view or the result of a clause",
    "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION": "without a watermark the groups of a stream are never complete",
}
_DAYS_HINT = (
    "a number is no length of time: write ts + INTERVAL '5' DAY, ts + INTERVAL '1' HOUR for ts + 1/24, or "
    "ts + make_dt_interval(n) for n days."
)
_WHOLE_DAYS_HINT = "a date and a number are whole days: write CAST(d AS TIMESTAMP) + INTERVAL '1' HOUR for d + 1/24."
_TIME_TRAVEL = re.compile(r"\b(?:SYSTEM_)?(?:VERSION|TIME|TIMESTAMP)\s+AS\s+OF\b", re.IGNORECASE)
_STREAM_OF_VIEW = re.compile(
    r"(?P<view>[^\s\]]+) is (?P<kind>not a temp view of streaming logical plan|a permanent view, which is not)"
)
_QUERY = re.compile(r"\s*\(*\s*(?:SELECT|WITH|FROM)\b", re.IGNORECASE)
_IS_NUMBER = re.compile(r"(?:TINY|SMALL|BIG)?INT$|DOUBLE$|FLOAT$|DECIMAL\b")
_HAS_CLEAR_NAME = re.compile(r"(?!_LEGACY)[A-Z]")


def user_error(
    e: PySparkException, text: Text, user_text: str, functions: Callable[[], Iterable[str]] = tuple
) -> BindError:
    """Spark's error about `text` with its place in the user's text.

    `functions` returns the names of all functions; it is called only if one is unknown.
    """
    if "delay threshold" in str(e):
        return _negative_delay(user_text)
    condition = e.getCondition() or _NO_CONDITION
    name = condition.replace(".", "_") if _HAS_CLEAR_NAME.match(condition) else _NO_CONDITION
    place = place_of(e, text, user_text)
    if condition == "UNRESOLVED_ROUTINE":
        return _unknown_function(e, name, place, user_text, functions)
    if refused := _STREAM_OF_VIEW.search(str(e)):
        return _no_stream(refused, user_text)
    message = _SENTENCES.get(condition) or _message(e, place, user_text)
    return BindError(name, message, place=place, hint=_hint(e, condition, place, user_text))


def failure_of_spark(e: Exception, text: Text, user_text: str) -> BindError:
    """The error of a text on which Spark's analysis fails by itself, without a condition and a place."""
    origins = (text.origin(i) for i in range(len(str(text))))
    place = word_at(user_text, next((origin for origin in origins if origin is not None), 0))
    return BindError(_NO_CONDITION, f"Spark cannot analyse this: {root_cause(str(e))}", place=place)


def word_at(text: str, start: int) -> Place:
    """The place of the first word at character `start` or after it."""
    start += len(text[start:]) - len(text[start:].lstrip())
    return Place(text, start, _end_of_word(text, start))


def shows_internals(e: PySparkException) -> bool:
    """True if Spark's message has names that sqlext generated, a plan, or Spark's numbers of columns."""
    return _INTERNAL.search(str(e)) is not None


def about_other_system(e: PySparkException, user_text: str) -> BindError | None:
    """Spark's error about plain SQL, with what to write instead of the words of another system; None for others."""
    error = user_error(e, Text((Piece(user_text, 0),)), user_text)
    is_foreign = error.hint is not None and error.hint == _foreign_hint(e, error.place, user_text)
    return error.placed(word_at(user_text, 0)) if is_foreign else None


def _negative_delay(user_text: str) -> BindError:
    """The error of a DELAY that is negative; that of Spark has neither a name nor a place."""
    tokens = tokens_of(user_text)
    words = list(map(word_of, tokens))
    starts = [i + 2 for i in range(len(tokens) - 3) if is_at(tokens, i, "DELAY", "OF")]
    stops = [max(after_interval(words, start), start + 2) for start in starts]
    places = [Place(user_text, tokens[a].start, tokens[b - 1].stop) for a, b in zip(starts, stops)]
    place = next((place for place in places if "-" in place.written), places[0] if places else None)
    message = "the DELAY of a watermark is negative, and rows do not come before their time"
    return BindError("WATERMARK_DELAY", message, place=place, hint="write DELAY OF INTERVAL 10 SECONDS.")


def about_call(text: str) -> BindError | None:
    """The error of a statement that ends in an error of Java because it calls a function of another system that has
    other arguments in Spark; None if it calls none.

    >>> print(about_call("SELECT to_timestamp_ltz(0, 3)").hint)
    write timestamp_millis(n) or timestamp_seconds(n).
    """
    for name, following in pairwise(tokens_of(text)):
        hint = hint_of_arguments(name.word) if following.text == "(" else None
        if hint is not None:
            place = Place(text, name.start, name.stop)
            return BindError("WRONG_ARGUMENTS", f"{name.text} has other arguments in Spark", place=place, hint=hint)
    return None


def _message(e: PySparkException, place: Place | None, user_text: str) -> str:
    """The first line of the error, without the error's name and without generated names."""
    first_line = str(e).strip().split("\n")[0]
    message = re.sub(r"^\[[A-Z0-9_.]+\] ?|;? ?SQLSTATE: \w+.*$", "", first_line).rstrip("; ")
    message = _without_numbers(QUALIFIER.sub("", message), user_text)
    message = _SUGGESTED.sub(lambda m: _suggestion(m[1], user_text), message)
    if place is not None and _COLUMN.search(message):  # Cannot resolve "(__s0 < 5)" due to …
        written = in_line(place.written)
        message = re.sub(r'"\([^"]*"', lambda m: f'"{written}"' if _COLUMN.search(m[0]) else m[0], message, count=1)
    return _COLUMN.sub("it", message)


def _without_numbers(message: str, user_text: str) -> str:
    """Spark's message without its numbers of columns, but with all that the user wrote.

    >>> _without_numbers("k#12 is not 'room#7'", "SELECT k = 'room#7'")
    "k is not 'room#7'"
    """
    return _NUMBER.sub(lambda number: number[0] if number[0] in user_text else "", message)


def _suggestion(suggested: str, user_text: str) -> str:
    """Spark's suggestion without generated names, which all begin with two underscores.

    >>> _suggestion("`k`, `__number`, `__own`", "SELECT kk, __own"), _suggestion("`__number`", "SELECT kk")
    (' Did you mean one of the following? [`k`, `__own`].', '')
    """
    names = [name for name in suggested.split(", ") if "`__" not in name or name.strip("`") in user_text]
    return f" Did you mean one of the following? [{', '.join(names)}]." if names else ""


# hints


def _unknown_function(
    e: PySparkException, name: str, place: Place | None, user_text: str, functions: Callable[[], Iterable[str]]
) -> BindError:
    routine = (e.getMessageParameters() or {}).get("routineName", "").replace("`", "")
    if _COLUMN.fullmatch(routine):
        return _call_of_value(place)
    word = routine.upper()
    if word in _OWN_FUNCTIONS | _NAVIGATIONS:
        call = f"{word}({'…' * (word in _NAVIGATIONS)})"
        hint = f"write it in MEASURES of the clause, {call} AS name, and read the name here."
        message = f"{word}() has a value only inside MATCH_RECOGNIZE"
        return BindError("OUTSIDE_MATCH_RECOGNIZE", message, place=place, hint=hint)
    foreign = hint_of_function(routine, user_text)
    if foreign is not None:
        return BindError(name, f"there is no function {routine}", place=place, hint=foreign)
    close = get_close_matches(word, [*NAVIGATIONS, *_OWN_FUNCTIONS], n=1, cutoff=0.7)
    close = close or get_close_matches(routine.lower(), {f.lower() for f in functions()}, n=1, cutoff=0.7)
    meant = f"did you mean {close[0]}?" if close else None
    return BindError(name, f"there is no function {routine}", place=place, hint=meant)


def _call_of_value(place: Place | None) -> BindError:
    """The error of a parenthesis after a value, such as the second one of `MAX(v) (1)`: Spark receives the value as a
    column, and reads a call of a function."""
    tokens = [] if place is None else tokens_of(place.written)
    starts = [place.start + token.start for token in tokens if place and token.text == "(" and token.depth == 0]
    opening = Place(place.text, starts[-1], starts[-1] + 1) if place and starts else place
    return BindError(_SYNTAX_ERROR, "Syntax error at or near '('.", place=opening)


def _hint(e: PySparkException, condition: str, place: Place | None, user_text: str) -> str | None:
    if place is not None and user_text[place.start] == '"':
        return QUOTED_HINT
    return (
        _HINTS.get(condition)
        or _foreign_hint(e, place, user_text)
        or _result_name_hint(e)
        or _watermark_hint(e, condition, place)
        or _types_hint(e, condition)
        or _column_names_hint(e)
    )


def _foreign_hint(e: PySparkException, place: Place | None, user_text: str) -> str | None:
    condition = e.getCondition() or ""
    if "Invalid time travel spec" in str(e):
        return hint_of_time_travel(user_text)
    if condition == _SYNTAX_ERROR:
        return hint_of_syntax(user_text, place.stop) if place else None
    return hint_of_name(condition, e.getMessageParameters() or {}, user_text) or _argument_hint(e, condition)


def _types_hint(e: PySparkException, condition: str) -> str | None:
    """The hint for `ts - PREV(ts) < 600`, for dates whose difference is compared with a number, for `ts > 600`, and for
    `ts + 5`, `ts - 5` and `d + 1/24`, which are days in Oracle."""
    parameters = e.getMessageParameters() or {}
    if condition == "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE":
        is_number = _IS_NUMBER.match(parameters.get("inputType", "").strip('"'))
        if is_number and re.match(r'"?\(?date_(add|sub)\(', parameters.get("sqlExpr", "")):
            return _WHOLE_DAYS_HINT
        is_of_time = "TIMESTAMP" in parameters.get("requiredType", "") and " - " in parameters.get("sqlExpr", "")
        return _DAYS_HINT if is_number and is_of_time else None
    if condition != "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES":
        return None
    types = [parameters.get("left", "").strip('"'), parameters.get("right", "").strip('"')]
    if "INTERVAL DAY" in types:
        return "the difference of two dates is an interval: write datediff(a, b) < 6, or < INTERVAL 6 DAYS."
    if any(t.startswith("INTERVAL") for t in types):
        return (
            "the difference of two times is an interval: write < INTERVAL 10 MINUTES, or timestampdiff(HOUR, a, b) < 9."
        )
    if any(t.startswith("TIMESTAMP") for t in types) and any(_IS_NUMBER.match(t) for t in types):
        if not re.search("[<>=]", parameters.get("sqlExpr", "")):
            return _DAYS_HINT
        return "a time is compared with a time: write timestamp_seconds(n), or unix_seconds(ts) for its number."
    return None


def _column_names_hint(e: PySparkException) -> str | None:
    """The hint for `year(ts)` without an alias, which is no name of a column of a Delta table."""
    names = re.search(r"^Invalid column names: (.*)\.$", str(e), re.MULTILINE)
    return f"a Delta table cannot have columns of these names, so name them with AS: {names[1]}." if names else None


def _argument_hint(e: PySparkException, condition: str) -> str | None:
    """The hint for Oracle's TRUNC, which takes a number or a date alone."""
    name = (e.getMessageParameters() or {}).get("functionName", "").strip("`").lower()
    if name == "trunc" and condition.startswith("WRONG_NUM_ARGS"):
        return "write trunc(day, 'MONTH') or date_trunc('DAY', ts) for a time, and CAST(x AS BIGINT) for a number."
    return None


def _no_stream(refused: re.Match[str], user_text: str) -> BindError:
    view = refused["view"].removeprefix("spark_catalog.")
    match = re.search(rf"\bSTREAM\b[\s(]*[\w`.]*?`?{re.escape(view.rpartition('.')[2])}`?", user_text, re.IGNORECASE)
    place = Place(user_text, match.start(), match.end()) if match else None
    if refused["kind"].startswith("a permanent"):
        message = f"{view} is a stored view, and STREAM reads tables and temporary views"
        hint = f"leave STREAM out here: {view} is a stream if its own text says FROM STREAM."
    else:
        message = f"{view} is a temporary view of rows that do not grow"
        hint = f"leave STREAM out, or write it inside the view: CREATE TEMPORARY VIEW {view} AS SELECT … FROM STREAM …."
    return BindError("NOT_A_STREAM", message, place=place, hint=hint)


def _result_name_hint(e: PySparkException) -> str | None:
    """The hint for `SELECT t.k FROM t MATCH_RECOGNIZE (…)`: the result is not t."""
    parameters = e.getMessageParameters() or {}
    qualifier, _, column = parameters.get("objectName", "").replace("`", "").rpartition(".")
    if not qualifier or not re.search(HELPER_OF_SPARK, parameters.get("proposal", "")):
        return None
    alias = qualifier.rpartition(".")[2]
    return f"the result of MATCH_RECOGNIZE has no name yet: write {column} alone, or MATCH_RECOGNIZE (…) AS {alias}."


def cast_hint(time: str) -> str:
    """The hint for an event time that is a DATE, a TIMESTAMP_NTZ or a text."""
    return f"write WATERMARK CAST({time} AS TIMESTAMP) AS event_time DELAY OF …, and read event_time."


def _watermark_hint(e: PySparkException, condition: str, place: Place | None) -> str | None:
    if condition == "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE":
        return cast_hint((e.getMessageParameters() or {}).get("eventName", "ts").strip("`"))
    if condition != _SYNTAX_ERROR or place is None:
        return None
    before = place.text[: place.stop].upper().rpartition("WATERMARK")
    if not before[1] or re.search(r"\bDELAY\s+OF\s+INTERVAL\b|\bMATCH_RECOGNIZE\b", before[2]):
        return None
    return "write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 SECONDS."


# places


def place_of(e: PySparkException, text: Text, user_text: str) -> Place | None:
    """The place in the user's text of Spark's error about `text`; None if Spark names none, or one of ours."""
    contexts = [c for c in e.getQueryContext() or [] if c.contextType().name == "SQL"]
    if (e.getCondition() or "").startswith("INVALID_INTERVAL_FORMAT") and not contexts:
        written = (e.getMessageParameters() or {}).get("input", "").strip(" '")
        start = user_text.find(written)
        return Place(user_text, start, start + len(written)) if written and start >= 0 else None
    travel = _TIME_TRAVEL.search(user_text) if "Time travel on the relation" in str(e) else None
    if travel is not None:
        return Place(user_text, travel.start(), travel.end())
    fragment = contexts[0].fragment() if contexts else ""
    near = contexts[0].startIndex() if contexts else 0
    is_about_query = not contexts or _QUERY.match(fragment) is not None
    word = None
    if e.getCondition() == _NOT_ORDERABLE:  # whose position is that of another column
        word = place_of_word(e, text, user_text, "", 0)
    elif is_about_query:
        word = place_of_word(e, text, user_text, fragment, near)
    if word is not None or not contexts:
        return word or _place_of_syntax(str(e), text, user_text)
    place = place_of_fragment(fragment, near, text, user_text, _missing_name(e, fragment))
    if place is None or not is_about_query or not user_text[place.start].isalpha():
        return place
    return word_at(user_text, place.start)


def _missing_name(e: PySparkException, fragment: str) -> slice | None:
    """The name of the relation that Spark did not find, in the text of the whole relation; None for other errors."""
    if e.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
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
    near = _NEAR.search(message.strip().split("\n")[0])
    position = _POSITION.search(message)
    if position is None:  # Spark gives none for a word too much
        return _last_place(near[1], text, user_text) if near else None
    line, column = int(position[1] or position[3]), int(position[2] or position[4])
    lines = str(text).splitlines(keepends=True)[:line]
    if not lines:
        return None
    at = len("".join(lines[:-1])) + _own_column(message, lines[-1], column)
    starts = [m.start() for m in re.finditer(re.escape(near[1]), str(text))] if near else []
    if near and starts:
        start = min(starts, key=lambda s: abs(s - at))  # Spark's position is sometimes that of the previous word
        first = text.origin(start)
        if first is not None and user_text[first : first + len(near[1])] == near[1]:
            return Place(user_text, first, first + len(near[1]))
    origins = (text.origin(i) for i in range(min(at, len(str(text)) - 1), -1, -1))
    origin = next((o for o in origins if o is not None and not user_text[o].isspace()), None)
    return None if origin is None else Place(user_text, origin, origin + 1 if near else _end_of_word(user_text, origin))


def _last_place(word: str, text: Text, user_text: str) -> Place | None:
    """The last place of a word of the user; None if there is none."""
    origins = (text.origin(m.start()) for m in re.finditer(re.escape(word), str(text)))
    own = [o for o in origins if o is not None and user_text.startswith(word, o)]
    return Place(user_text, own[-1], own[-1] + len(word)) if own else None


def _own_column(message: str, line: str, column: int) -> int:
    """Maps a column of Spark's line to one of our line. The names of helpers differ in length."""
    spark_name = HELPER_NAME.search(message)
    length = len(spark_name[0].strip("`")) if spark_name else 0
    for helper in HELPER.finditer(line):
        if length and helper.start() + length <= column:
            column += len(helper[0]) - length
    return column


def _end_of_word(text: str, start: int) -> int:
    match = re.compile(r"\w+|.", re.DOTALL).match(text, start)
    return match.end() if match else start + 1
