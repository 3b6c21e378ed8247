"""Rules for names, files and classes of the package that no linter has."""

from __future__ import annotations

from collections import Counter

from .source import MODULES

MOST_LINES = 450


def test_no_file_name_stands_for_two_modules():
    counts = Counter(module.path.name for module in MODULES.values())
    assert [name for name, n in counts.items() if n > 1 and name != "__init__.py"] == []


def test_a_file_can_be_read_at_one_sitting():
    assert [str(module) for module in MODULES.values() if len(module.text.splitlines()) > MOST_LINES] == []
