"""The model of windows is Flink's own operator as long as none of our rules is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .model import OURS, answer

CASES = json.loads((Path(__file__).parents[2] / "conformance" / "flink_windows.json").read_text())


def order(firing: dict) -> tuple:
    return firing["at"], firing["key"], firing["start"] or 0, firing["end"] or 0


def seen(result: dict) -> tuple:
    """What Flink tells of a result; the order of windows and keys that fire at one moment is open."""
    fields = ("at", "key", "start", "end", "ids", "timing")
    firings = [{name: firing[name] for name in fields} for firing in sorted(result["firings"], key=order)]
    return firings, result["late"], bool(result["error"])


@pytest.mark.random(few=10)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_without_our_rules_the_model_is_flink(number):
    assert seen(answer(CASES[number])) == seen(CASES[number])


@pytest.mark.random(few=10)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_with_our_rules_every_row_is_in_its_windows_or_late(number):
    case = CASES[number]
    result = answer(case, OURS)
    if result["error"] or case["assigner"][0] in ("hop", "global") or case["discarding"] or case["evict"]:
        return
    rows = {item[4] for item in case["script"] if item[0] == "row"}
    complete = {i for f in result["firings"] if f["timing"] != "EARLY" for i in f["ids"]}
    assert complete | set(result["late"]) == rows


@pytest.mark.random(few=10)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_with_our_rules_firings_do_not_depend_on_when_the_watermark_moves(number):
    case = CASES[number]
    if any(kind.endswith("proc") for kind, *_ in case["triggers"]):
        return
    rows = [item for item in case["script"] if item[0] == "row"]
    last = max([item[1] for item in case["script"] if item[0] == "watermark"], default=0)
    batch = {**case, "script": [*rows, ["watermark", last]]}
    script = [x for row in sorted(rows, key=lambda r: r[2]) for x in (["watermark", row[2] - 1], row)]
    on_time = {**case, "script": [*script, ["watermark", last]]}
    firings = [{k: v for k, v in f.items() if k != "at"} for f in answer(batch, OURS)["firings"]]
    stream = [{k: v for k, v in f.items() if k != "at"} for f in answer(on_time, OURS)["firings"]]
    assert sorted(map(str, firings)) == sorted(map(str, stream))
