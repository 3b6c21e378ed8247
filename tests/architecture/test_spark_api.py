"""Spark is used through its public API, so that classic sessions and Connect behave alike."""

from __future__ import annotations

import ast

from .source import MODULES

PRIVATE = {"_jvm", "_jdf", "_jsc", "_jsparkSession", "_jreader", "_jwrite", "_sc", "sparkContext", "_gateway"}
ALLOWED = {
    "sqlext.sessions.start": {"_gateway"}
}  # before a session exists: whether this process has started Spark's JVM


def test_no_module_reaches_behind_the_public_api_of_spark():
    used = {
        name: names & PRIVATE
        for name, module in MODULES.items()
        if (names := {node.attr for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)}) & PRIVATE
    }
    assert used == ALLOWED
