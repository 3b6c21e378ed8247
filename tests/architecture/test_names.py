"""Rules for names, files and classes of the package that no linter has."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from .source import MODULES

PARTICIPLES = {"found", "given", "held", "said", "made", "told", "asks"}  # a value is named by a noun for what it is
MOST_LINES = 450


def defined_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(name, line) of each variable, parameter, attribute, function and class that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name, node.lineno


def test_no_file_name_stands_for_two_modules():
    counts = Counter(module.path.name for module in MODULES.values())
    assert [name for name, n in counts.items() if n > 1 and name != "__init__.py"] == []


def test_a_file_can_be_read_at_one_sitting():
    assert [str(module) for module in MODULES.values() if len(module.text.splitlines()) > MOST_LINES] == []


def test_no_participle_is_the_name_of_a_thing():
    wrong = [
        f"{module}:{line} {name}"
        for module in MODULES.values()
        for name, line in defined_names(module.tree)
        if name.strip("_").lower() in PARTICIPLES
    ]
    assert wrong == []
