"""Imports go one way. The layers themselves are contracts of import-linter in pyproject.toml, run by `make lint`."""

from __future__ import annotations

import sys

from .source import MODULES, imports

IMPORTS = [entry for module in MODULES.values() for entry in imports(module)]
# What the modules of a package import of other distributions. A module of the first package that fits decides.
LIBRARIES = {
    "sqlext.pattern": {"numpy", "numba"},
    "sqlext.rewriter": {"sqlglot"},
    "sqlext.catalog": set(),
    "sqlext.engine.worker": {"numpy", "pyarrow"},
    "sqlext.engine": {"numpy", "pandas", "pyarrow", "pyspark"},
    "sqlext": set(),
}


def libraries_of(name: str) -> set[str]:
    """The distributions that a module may import at its top."""
    return next(names for package, names in LIBRARIES.items() if f"{name}.".startswith(f"{package}."))


def test_a_package_imports_only_the_libraries_that_it_may_know():
    foreign = (e for e in IMPORTS if not e.imported.startswith("sqlext") and e.imported not in sys.stdlib_module_names)
    wrong = [
        str(e) for e in foreign if not e.in_function and not e.for_types and e.imported not in libraries_of(e.importer)
    ]
    assert wrong == []
