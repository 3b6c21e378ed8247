"""The `>>>` examples of all modules run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import sqlext

MODULES = ["sqlext", *(m.name for m in pkgutil.walk_packages(sqlext.__path__, "sqlext.") if "__main__" not in m.name)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
