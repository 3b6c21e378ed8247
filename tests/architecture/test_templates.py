"""The templates of `splice.sql`: literals, whose names are those of their values, so no text of a user is one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from .source import MODULES, Module

USERS = [module for module in MODULES.values() if re.search(r"splice import .*\bsql\b", module.text)]


def literals(module: Module) -> dict[str, list[str | None]]:
    """The values that are assigned to each name, or to the items of a table; None for one that is no literal."""
    found: dict[str, list[str | None]] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values = node.value.values if isinstance(node.value, ast.Dict) else [node.value]
            found.setdefault(node.targets[0].id, []).extend(getattr(value, "value", None) for value in values)
    return found


def calls(module: Module) -> Iterator[tuple[ast.Call, list[str | None]]]:
    """The calls of `sql`, each with the templates that it may have."""
    assigned = literals(module)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sql":
            first = node.args[0].value if isinstance(node.args[0], ast.Subscript) else node.args[0]
            yield node, [first.value] if isinstance(first, ast.Constant) else assigned.get(getattr(first, "id", ""), [])


@pytest.mark.parametrize("module", USERS, ids=str)
def test_each_template_is_a_literal_with_the_names_of_its_values(module):
    for call, templates in calls(module):
        assert templates and all(isinstance(template, str) for template in templates), ast.unparse(call)
        given = {keyword.arg for keyword in call.keywords}
        wanted = [set(re.findall(r"\{([a-z]\w*)\}", template)) for template in templates if template]
        assert given in wanted or given == set().union(*wanted), ast.unparse(call)


def test_templates_are_used():
    assert sum(1 for module in USERS for _ in calls(module)) > 80
