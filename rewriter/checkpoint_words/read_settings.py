"""The settings of Spark on which the rows of a query depend, as far as its text shows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

from sqlext.expressions.function import (
    BINARY_AS_STRING,
    COMPLEX_TO_STRING,
    CONSECUTIVE_STRINGS,
    ESCAPED_STRINGS,
    EXPONENT_IS_DECIMAL,
    FEWER_FRACTIONAL_DIGITS,
    FEWEST_DIGITS,
    LOWER_PERCENTILES,
    MAP_KEYS,
    NAN_OF_ZERO_DIVISORS,
    PADDED_IS_STRING,
    PADDED_READS,
    PATTERN_FUNCTIONS,
    SIZE_OF_NULL,
    STRINGS_FOR_CHARS,
    TIME_PARSER,
    UNPADDED_PREDICATES,
)
from sqlext.rewriter.checkpoint_words.resumed_words import resumed_tokens, word_of
from sqlext.rewriter.text.lexemes import BEFORE_ALL_COLUMNS
from sqlext.rewriter.text.tokens import NUMBER, STRING, Token, tokenize

# They decide what CHAR columns hold and whether comparisons pad them; the text of a query does not show which are CHAR.
SETTINGS_OF_CHARS = frozenset({STRINGS_FOR_CHARS, UNPADDED_PREDICATES, PADDED_READS})
_ALWAYS = frozenset({"spark.sql.ansi.enabled", *SETTINGS_OF_CHARS})  # any query may depend on them
_PATTERNS = (
    " ".join(sorted(PATTERN_FUNCTIONS)).upper() + " TO_TIMESTAMP_LTZ TO_TIMESTAMP_NTZ TO_CSV FROM_CSV TO_JSON FROM_JSON"
)
_AS_TEXT = "STRING || CONCAT CONCAT_WS FORMAT_STRING PRINTF LISTAGG STRING_AGG"
# The functions and types whose values a setting changes.
_WORDS = {
    BINARY_AS_STRING: "|| CONCAT",
    "spark.sql.function.eltOutputAsString": "ELT",
    "spark.sql.jsonGenerator.ignoreNullFields": "TO_JSON",
    COMPLEX_TO_STRING: f"{_AS_TEXT} VARCHAR CHAR",
    "spark.sql.legacy.followThreeValuedLogicInArrayExists": "EXISTS",
    PADDED_IS_STRING: "LPAD RPAD",
    "spark.sql.legacy.negativeIndexInArrayInsert": "ARRAY_INSERT",
    LOWER_PERCENTILES: "PERCENTILE_DISC",
    SIZE_OF_NULL: "SIZE CARDINALITY",
    NAN_OF_ZERO_DIVISORS: ("STDDEV STD STDDEV_SAMP VARIANCE VAR_SAMP SKEWNESS KURTOSIS COVAR_SAMP CORR"),
    TIME_PARSER: _PATTERNS,
    "spark.sql.legacy.truncateForEmptyRegexSplit": "SPLIT",
    MAP_KEYS: "MAP MAP_CONCAT MAP_FROM_ARRAYS MAP_FROM_ENTRIES STR_TO_MAP TRANSFORM_KEYS",
}
_SETTINGS_OF_WORDS = {
    word: frozenset(name for name, words in _WORDS.items() if word in words.split())
    for word in itertools.chain.from_iterable(words.split() for words in _WORDS.values())
}
_EXPONENT = re.compile(r"[\d.]+E[+-]?\d+$", re.IGNORECASE)
# The tokens that have another meaning with a setting.
_TOKENS: dict[str, Callable[[Token], bool]] = {
    ESCAPED_STRINGS: lambda token: token.kind == STRING and "\\" in token.text,
    CONSECUTIVE_STRINGS: lambda token: token.kind == STRING and "''" in token.text[1:-1],
    EXPONENT_IS_DECIMAL: lambda token: token.kind == NUMBER and _EXPONENT.match(token.text) is not None,
}
_OF_DECIMALS = frozenset({FEWER_FRACTIONAL_DIGITS, FEWEST_DIGITS})
ALL_SETTINGS = frozenset({*_ALWAYS, *_WORDS, *_TOKENS, *_OF_DECIMALS})
_WITHOUT_PARENTHESES = frozenset({"||", "STRING", "VARCHAR", "CHAR"})


def read_settings(text: str) -> frozenset[str]:
    r"""The names of the settings on which the values of a query depend: those of any query, and those of its words.

    >>> def of_words(text):
    ...     return [name.split(".")[-1] for name in sorted(read_settings(text) - read_settings(""))]
    >>> of_words("SELECT count(*) FROM t WHERE size(a) = size AND ts > u - INTERVAL 1 HOUR")
    ['sizeOfNull']
    >>> of_words("PATTERN (A+ B) DEFINE B AS A.a * B.b")
    ['allowPrecisionLoss', 'pickMinimumPrecision']
    >>> of_words("PATTERN (A+ B) DEFINE B AS v RLIKE '\\d' AND w < 1e3")
    ['enabled', 'escapedStringLiterals']
    """
    tokens = _without_patterns(resumed_tokens(tokenize(text)))
    words = ["", *map(word_of, tokens), ""]
    names = set(_ALWAYS)
    for token, before, word, after in zip(tokens, words, words[1:], words[2:]):
        if after == "(" or word in _WITHOUT_PARENTHESES:
            names |= _SETTINGS_OF_WORDS.get(word, frozenset())
        names |= {name for name, is_read in _TOKENS.items() if is_read(token)}
        if _is_arithmetic(before, word, after):
            names |= _OF_DECIMALS
    return frozenset(names)


def _without_patterns(tokens: Sequence[Token]) -> list[Token]:
    """The tokens that are not between the parentheses of PATTERN, where * and + are no operators of numbers."""
    result: list[Token] = []
    end = 0
    for before, token in zip((None, *tokens), tokens):
        if token.start < end:
            continue
        if before is not None and before.word == "PATTERN" and token.closed_at is not None:
            end = token.closed_at
        result.append(token)
    return result


def _is_arithmetic(before: str, word: str, after: str) -> bool:
    """Return True if a word is an operator of numbers. Times have INTERVAL after it."""
    if word == "*":
        return before not in BEFORE_ALL_COLUMNS
    return word in ("/", "%", "DIV") or (word in ("+", "-") and after != "INTERVAL")
