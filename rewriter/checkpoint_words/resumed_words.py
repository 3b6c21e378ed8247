"""The words of a query on which its checkpoint depends.

Layout, comments and the case of words are left out, but not the case of names in a path into a variant. So are the
words that only say how a source is read: options in `STREAM t WITH (…)` such as `skipChangeCommits`, and the DELAY of a
watermark, which decides which rows are late.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlext.rewriter.text.paths import words_of_paths
from sqlext.rewriter.text.tokens import WORD, Token, tokenize
from sqlext.rewriter.tree.keywords import INTERVAL_UNITS

# Options of the sources of Delta and Iceberg that a query may have from its start, or that may be added or removed
# while it is stopped.
READ_OPTIONS = frozenset({
    "streaming-max-files-per-micro-batch", "streaming-max-rows-per-micro-batch", "streaming-skip-overwrite-snapshots",
    "streaming-skip-delete-snapshots", "stream-from-timestamp", "async-micro-batch-planning-enabled",
    "skipchangecommits", "ignoredeletes", "ignorechanges", "ignorefiledeletion", "failondataloss",
    "maxfilespertrigger", "maxbytespertrigger", "witheventtimeorder", "startingversion", "startingtimestamp",
    "schematrackinglocation", "schemalocation", "streamingsourcetrackingid",
    "allowsourcecolumndrop", "allowsourcecolumnrename", "allowsourcecolumntypechange",
    "allowsourcecolumnrenameanddrop",
})  # fmt: skip


def resumed_words(text: str) -> list[str]:
    """The words of a query, without its layout and without the words that only say how its sources are read.

    >>> resumed_words("select v -- all\\nfrom stream t with (maxFilesPerTrigger = 1) watermark ts delay of interval 9 days")
    ['SELECT', 'V', 'FROM', 'STREAM', 'T', 'WATERMARK', 'TS', 'DELAY', 'OF']
    >>> resumed_words("select v:a")  # not v:A
    ['SELECT', 'V', ':', 'a']
    """  # noqa: E501
    tokens = resumed_tokens(tokenize(text))
    paths = words_of_paths([token.text for token in tokens])
    return [token.text if i in paths else word_of(token) for i, token in enumerate(tokens)]


def resumed_tokens(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a query whose words `resumed_words` returns."""
    return [tokens[i] for i in kept([word_of(token) for token in tokens])]


def word_of(token: Token) -> str:
    """The word as a checkpoint records it."""
    return token.text.upper() if token.kind == WORD else token.text


def kept(words: Sequence[str]) -> list[int]:
    """The indexes of the words of a whole query on which its checkpoint depends."""
    result: list[int] = []
    at = 0
    while at < len(words):
        stop = at + 1
        if words[at] == "STREAM":
            stop = _after_name(words, at + 1)
        elif list(words[at : at + 2]) == ["DELAY", "OF"]:
            stop = at + 2
        result += range(at, stop)
        if words[at] == "STREAM" and list(words[stop : stop + 2]) == ["WITH", "("]:
            options, stop = _options(words, stop + 2)
            result += options
        elif words[at] == "DELAY" and stop > at + 1:
            stop = after_interval(words, stop)
        at = stop
    return result


def without_read_options(text: str) -> str:
    """A text without the options that only say how its streams are read; the rest is unchanged.

    >>> without_read_options("STREAM t WITH (skipChangeCommits = true) WATERMARK ts DELAY OF INTERVAL 1 DAY")
    'STREAM t WATERMARK ts DELAY OF INTERVAL 1 DAY'
    """
    tokens = tokenize(text)
    words = [word_of(token) for token in tokens]
    for at in reversed([i for i, word in enumerate(words) if word == "STREAM"]):
        first = _after_name(words, at + 1)
        if list(words[first : first + 2]) == ["WITH", "("]:
            options, stop = _options(words, first + 2)
            if not options:
                text = text[: tokens[first - 1].stop] + text[tokens[stop - 1].stop :]
    return text


def _after_name(words: Sequence[str], at: int) -> int:
    """The index past `a.b.c` or `(a.b.c)`."""
    if words[at : at + 1] == ["("]:
        return next((i + 1 for i in range(at, len(words)) if words[i] == ")"), len(words))
    at += 1
    while words[at : at + 1] == ["."]:
        at += 2
    return min(at, len(words))


def _options(words: Sequence[str], at: int) -> tuple[list[int], int]:
    """The indexes of the options that decide which rows are read, and the index past the closing parenthesis."""
    stop = next((i for i in range(at, len(words)) if words[i] == ")"), len(words) - 1)
    options: list[list[int]] = [[]]
    for i in range(at, stop):
        options.append([]) if words[i] == "," else options[-1].append(i)
    deciding = [o for o in options if o and words[o[0]].strip("'\"`").lower() not in READ_OPTIONS]
    return [i for option in deciding for i in option], stop + 1


def after_interval(words: Sequence[str], at: int) -> int:
    """The index past `INTERVAL 5 MINUTES` or another interval literal; `at` itself if there is none.

    >>> after_interval(["INTERVAL", "-", "1", "DAY", "2", "HOURS", "+", "TS"], 0)
    6
    """
    if words[at : at + 1] != ["INTERVAL"]:
        return at
    stop = at + 1
    while stop < len(words) and re.match(r"[-+]?['\"\d]", "".join(words[stop : stop + 1 + (words[stop] in "+-")])):
        stop += words[stop] in ("+", "-")
        stop += 1
        if words[stop : stop + 1] and words[stop] in INTERVAL_UNITS:
            stop += 1
            stop += 2 if words[stop : stop + 1] == ["TO"] else 0
    return stop
