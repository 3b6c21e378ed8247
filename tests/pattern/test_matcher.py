from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from sqlext.errors import UnsupportedError
from sqlext.pattern.strategy import choose, match
from sqlext.pattern.task.task import Literal

from .pattern_harness import joined, rows_of, task_of

LONG = "A{65}"
ALWAYS = Literal(True, "bool")

CHOICES = [
    ("A B+", {}, "two_pass", "2 positions, at most 64"),
    ("A{64}", {}, "two_pass", "64 positions, at most 64"),
    (LONG, {}, "lazy_dfa", "65 positions, over 64"),
    ("A B+", {"is_within": True}, "bounded", "WITHIN"),
    ("A B+", {"conditions": (None, ALWAYS)}, "threads", "condition of B"),
    ("A B+", {"conditions": (None, ALWAYS), "is_within": True}, "threads", "condition of B"),
    ("A B+", {"strategy": "lazy_dfa"}, "lazy_dfa", "was asked for"),
    ("A B+", {"strategy": "bounded"}, "bounded", "was asked for"),
    ("A B+", {"strategy": "reference", "conditions": (None, ALWAYS)}, "reference", "was asked for"),
]


@pytest.mark.parametrize("pattern, changes, strategy, reason", CHOICES)
def test_the_cheapest_applicable_strategy_runs(pattern, changes, strategy, reason):
    name, why = choose(replace(task_of(pattern), **changes))
    assert name == strategy
    assert reason in why and why.endswith(".")


REFUSALS = [
    (LONG, {"strategy": "two_pass"}, "65 positions, over 64"),
    ("A", {"strategy": "two_pass", "is_within": True}, "WITHIN"),
    ("A", {"strategy": "lazy_dfa", "is_within": True}, "WITHIN"),
    ("A", {"strategy": "two_pass", "conditions": (ALWAYS,)}, "condition of A"),
    ("A", {"strategy": "lazy_dfa", "conditions": (ALWAYS,)}, "condition of A"),
    ("A", {"strategy": "bounded", "conditions": (ALWAYS,)}, "condition of A"),
    ("A", {"strategy": "quantum"}, "there are only two_pass, lazy_dfa, bounded, threads, interpreted, cep, reference"),
]


@pytest.mark.parametrize("pattern, changes, refusal", REFUSALS)
def test_a_strategy_that_cannot_run_the_task_is_refused(pattern, changes, refusal):
    with pytest.raises(UnsupportedError) as error:
        choose(replace(task_of(pattern), **changes))
    assert error.value.error_class == "SQLEXT_STRATEGY_NOT_APPLICABLE"
    assert refusal in str(error.value)


@pytest.mark.parametrize("strategy", ["auto", "two_pass", "lazy_dfa", "bounded", "threads", "interpreted", "reference"])
def test_every_strategy_runs_by_name(strategy):
    task = replace(task_of("A B+"), strategy=strategy)
    assert joined(match(task, rows_of(task, ["ABBA", "AB"])))["length"] == [3, 2]


PATTERNS_WITHOUT_MACHINE_CODE = """
from dataclasses import replace
from sqlext.pattern.strategy import match
from tests.pattern.pattern_harness import joined, rows_of, task_of

for pattern, strategy in [("A{2} B?", "two_pass"), ("A{33}", "two_pass"), ("A B+", "lazy_dfa"), ("A B+", "threads")]:
    task = replace(task_of(pattern), strategy=strategy)
    print(joined(match(task, rows_of(task, ["A" * 34 + "B"])))["length"])
"""


def test_kernels_run_as_plain_python_where_numba_compiles_nothing():
    """Then a debugger can step through them, and `coverage` counts their lines."""
    command = [sys.executable, "-c", PATTERNS_WITHOUT_MACHINE_CODE]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == [str([2] * 16 + [3]), "[33]", "[2]", "[2]"], run.stderr
