"""A large JSON text has the values that the reader of small ones finds, and takes time in proportion to its length."""

from __future__ import annotations

import json
import random

import pytest

from sqlext.expressions import json_paths
from sqlext.expressions.effort import METER
from sqlext.expressions.json_paths import get_json_object

from ..sampling import SAMPLE
from .extremes import JSON

SEED = 0 if SAMPLE == "all" else int(SAMPLE)
PATHS = ["$.a", "$.b", "$.a.b", "$.a[1]", "$[0]", "$[2].a", "$.a[*]", "$[0][*]", "$.a.b.c", "$", "$['é'].a", "$[*].a"]


def random_json(rng: random.Random, depth: int = 3) -> str:
    kind = rng.random() if depth else 0
    if kind < 0.4:
        scalars = ["1", "-0", "1.50", "1e400", "true", "null", '"x"', '"\\ud83d\\ude00"', '"\\ud800"', '"a]}"', "NaN",
                   "01", "'q'", '"\t"', "9" * 1001, '"[\\""', "tru", "-"]  # fmt: skip
        return rng.choice(scalars[:7] * 6 + scalars)
    inner = [random_json(rng, depth - 1) for _ in range(rng.randrange(4))]
    space = rng.choice(["", "", " ", "\n"])
    if kind < 0.65:
        return f"[{space}{f',{space}'.join(inner)}]"
    names = ['"a"', '"a"', '"b"', '"c"', '"é"', "'a'", '"\\u0061"']
    return "{" + f",{space}".join(f"{rng.choice(names)}{space}:{space}{part}" for part in inner) + space + "}"


def test_parts_of_a_text_have_the_values_of_the_whole(monkeypatch):
    rng, values = random.Random(SEED), 0
    texts = [random_json(rng) for _ in range(3_000)] + list(JSON)
    texts += [rng.choice(["", " "]) + text + rng.choice([" ", "]", "x"]) for text in texts[:500]]
    for text in filter(None, texts):
        for path in rng.sample(PATHS, 4):
            monkeypatch.setattr(json_paths, "_LARGE", 10**9)
            expected = get_json_object(text, path)
            monkeypatch.setattr(json_paths, "_LARGE", 0)
            assert get_json_object(text, path) == expected, (text, path)
            values += expected is not None
    assert values > 1_000


DEEP = "[" * 1001 + "]" * 1001


@pytest.mark.random
@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (lambda: json.dumps({f"k{i}": {"a": i, "b": [1.5, None]} for i in range(150_000)}), "$.k149999.a", "149999"),
        (lambda: json.dumps({"a": list(range(1_000_000)), "b": 1}), "$.b", "1"),
        (lambda: json.dumps({"a": "\n" * 4_000_000, "b": 1}), "$.b", "1"),
        (lambda: f'{{"a": {DEEP}, "b": 1}}', "$.b", None),
        (lambda: f'{{"a": "{DEEP}", "b": {json.dumps(["]"] * 2000)}, "c": 1}}', "$.c", "1"),
        (lambda: f'{{"{"k" * 50_001}": 1, "b": 2}}', "$.b", None),
        (lambda: f'{{"a": [{{"{"k" * 50_001}": 1}}], "b": 2}}', "$.b", None),
    ],
)
def test_a_large_text_takes_work_in_proportion(text, path, expected):
    text, start = text(), METER.total
    assert get_json_object(text, path) == expected
    assert METER.total - start < 10 * len(text) + 10_000_000
