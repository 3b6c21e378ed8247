"""Regular expressions and LIKE: all engines find the same matches, those of Spark, in bounded time."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from sqlext.errors import DataError
from sqlext.expressions import regex
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.function_table import bind
from sqlext.expressions.java_regex import read_java_regex
from sqlext.expressions.like import like_pattern
from sqlext.expressions.regex import Regex, java_regex
from sqlext.expressions.regex_machine import RegexSearch, Steps

from ..sampling import SAMPLE
from .random_regexes import random_pattern, random_text

SEED = 0 if SAMPLE == "all" else int(SAMPLE)
SETTINGS = ExecutionSettings(is_ansi=True, time_zone="UTC")
CALLS = {
    "rlike(t, p)": ("RLIKE", ()),
    "regexp_extract(t, p, 0)": ("regexp_extract", (0,)),
    "regexp_extract_all(t, p, 0)": ("regexp_extract_all", (0,)),
    "regexp_count(t, p)": ("regexp_count", ()),
    "regexp_instr(t, p)": ("regexp_instr", ()),
    "regexp_replace(t, p, '<$0>')": ("regexp_replace", ("<$0>",)),
}


def _called(name: str, text: str, pattern: str, *others):
    types = ("string", "string", *("int" if isinstance(x, int) else "string" for x in others))
    return bind(name, types, "void", SETTINGS)(text, pattern, *others)


@pytest.mark.random
@pytest.mark.parametrize("part", range(5))
def test_all_engines_find_the_same_matches(part):
    rng, engines = random.Random(SEED + part), Counter()
    for _ in range(600):
        pattern, text = rng.choice(["", "", "", "(?i)"]) + random_pattern(rng), random_text(rng)
        usual, without_re, machine = (Regex(pattern, read_java_regex(pattern)) for _ in range(3))
        without_re._python = machine._python = machine.__dict__["_re2"] = None
        expected = _matches(machine, text)
        for engine in (usual, without_re):
            engines[type(engine._engine(text)[0])] += 1
            assert _matches(engine, text) == expected, (pattern, text)
    assert engines[bytes] > 200  # by RE2


def _matches(expression: Regex, text: str):
    return [(m.start, [m.group(g) for g in range(len(m.spans))]) for m in expression.all(text)]


def test_random_patterns_have_the_matches_of_spark(spark):
    rng = random.Random(SEED)
    rows = [(random_pattern(rng, has_boundaries=False), random_text(rng)) for _ in range(600)]
    rows += [("(?i)" + pattern, text) for pattern, text in rows[:60]]
    frame = spark.createDataFrame(rows, "p string, t string").selectExpr("p", "t", *CALLS)
    differences = [
        (call, pattern, text, of_spark)
        for pattern, text, *values in frame.collect()
        for (call, (name, others)), of_spark in zip(CALLS.items(), values)
        if _called(name, text, pattern, *others) != of_spark
    ]
    assert differences == []


# Patterns with a group in a lookaround, texts, the text of the match and that of the group, as Java 17 finds them.
GROUPS_IN_LOOKS = [
    ("(?:(?=(a))b|a)", "a", "a", "a"),
    ("(?:(?!x|(a))b|(?:a))\\1", "aa", "aa", "a"),
    ("(?<=(a))b|c|\\1", "ac", "c", "a"),
    ("(?!(a))x|b\\1", "aba", "ba", "a"),
    ("(?:(?<!(a))b|b)\\1", "aba", "ba", "a"),
]


@pytest.mark.parametrize(("pattern", "text", "found", "group"), GROUPS_IN_LOOKS)
def test_groups_of_lookarounds_stay_as_in_java(pattern, text, found, group):
    match = java_regex(pattern).first(text)
    assert (match.group(0), match.group(1)) == (found, group)


HOSTILE = [
    ("RLIKE", "a" * 100_000 + "!", "^(a+)+$", False),
    ("RLIKE", "a" * 30_000 + "\n", "^(a+)+b$", False),
    ("RLIKE", "a" * 3_000 + "!", "(a*)*c", False),
    ("RLIKE", "a" * 30_000, "(?=a*b)a", False),
    ("RLIKE", "a" * 300_000, "(?=a*b)a", None),
    ("RLIKE", "a" * 60 + "b", r"(a*)(a*)(a*)(a*)(a*)(a*)\1\2\3\4\5\6c", None),
    ("RLIKE", "ab" * 500_000, "(?:[ab]*a[ab]{900}){1}c", None),
    ("LIKE", "ab" * 50_000, "%a%b%c%", False),
    ("LIKE", "a" * 2_000, "%a%a%a%a%b", False),
    ("LIKE", "a" * 1_000_000, "%" + "_a" * 1_000 + "b%", None),
    ("regexp_replace", "a" * 100_000, "(a|a)*b", "a" * 100_000),
    ("regexp_count", "ab" * 50_000 + "c", "a(?:.*d)?", None),
]


@pytest.mark.random
@pytest.mark.parametrize(("name", "text", "pattern", "expected"), HOSTILE)
def test_a_hostile_pattern_ends(name, text, pattern, expected):
    others = ("x",) if name == "regexp_replace" else ()
    if expected is None:
        with pytest.raises(DataError) as failure:
            _called(name, text, pattern, *others)
        assert failure.value.error_class == "SQLEXT_EXPRESSION_BUDGET"
    else:
        assert _called(name, text, pattern, *others) == expected


@pytest.mark.slow
def test_the_machine_of_steps_alone_ends_too():
    """Where a worker lacks RE2."""
    for pattern in {pattern for name, _, pattern, _ in HOSTILE if name.startswith("R")}:
        expression = java_regex(pattern)
        with pytest.raises(DataError):
            RegexSearch(expression._program, "a" * 1_000_000, Steps("it")).find(0)


def test_like_is_the_regular_expression_of_its_pattern():
    rng = random.Random(SEED)
    for _ in range(20_000):
        pattern = "".join(rng.choices(["a", "b", "_", "%", "\\_", "\\%", "\\\\", "."], k=rng.randrange(7)))
        text = "".join(rng.choices("aab_%\\.\n", k=rng.randrange(9)))
        translated = re.sub(r"\\?.", lambda m: {"_": ".", "%": ".*"}.get(m[0], re.escape(m[0][-1])), pattern)
        expected = re.fullmatch(translated, text, re.DOTALL) is not None
        assert like_pattern(pattern, "\\").matches(text) == expected, (pattern, text)


def test_the_engine_depends_on_no_clock():
    assert "time" not in vars(regex)
