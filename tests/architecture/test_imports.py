"""Imports go one way. The layers themselves are contracts of import-linter in pyproject.toml, run by `make lint`."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache

from .source import MODULES, ROOT, Import, imports

_JUPYTER = ("IPython", "jupyter_client", "nbclient", "nbconvert", "nbformat", "traitlets")
# What the modules of a package import of other distributions. A module of the first package that fits decides.
LIBRARIES = {
    "sqlext.expressions": {"numpy", "pyarrow", "re2"},
    "sqlext.pattern": {"numpy", "numba"},
    "sqlext.rewriter.rules.plan_rule": {"numpy", "pyarrow"},
    "sqlext.rewriter": {"sqlglot"},
    "sqlext.catalog": set(),
    "sqlext.formats": set(),
    "sqlext.aggregates": {"numpy", "pyarrow"},
    "sqlext.operators.stateful.parcels": {"numpy", "pyarrow", "pyspark"},  # a task knows its attempt
    "sqlext.operators": {"numpy", "pyarrow"},
    "sqlext.engine": {"numpy", "pandas", "pyarrow", "pyspark"},
    "sqlext.spark.versions": {"pyarrow", "pyspark"},
    "sqlext.spark.void_columns": {"pyspark"},
    "sqlext.spark.worker_functions": {"pyspark"},
    "sqlext.spark.java_errors": {"py4j"},
    "sqlext.sessions.start": {"pyspark"},
    "sqlext.sessions.catalog_methods": {"pyspark"},
    "sqlext.sessions.dispatch": {"pyspark"},
    "sqlext.spark.quiet_probes": {"pyspark"},
    "sqlext.cli.demo": {"pyspark", "rich"},
    "sqlext.sessions.results": {"pyarrow", "pyspark", "rich"},
    "sqlext.sessions.text_tables": {"rich"},
    "sqlext.cli.shell": {"prompt_toolkit", "pyspark", "rich"},
    "sqlext.cli": {"prompt_toolkit", "pygments", "pyspark"},
    "sqlext.formatting.pygments_lexer": {"pygments"},
    "sqlext.formatting": {"sqlfluff"},
    "sqlext.sessions.failures": {"pyspark"},
    "sqlext.notebooks": {*_JUPYTER, "matplotlib", "pandas", "pyspark", "rich"},
    "sqlext.server.attach": {"pyspark"},
    "sqlext.server.spark_process": {"pyspark"},
    "sqlext.sessions.warm": {"numpy", "pyarrow", "pyspark"},
    "sqlext.playground": {"numpy", "pyarrow"},
    "sqlext.pandas": {"numpy", "pandas", "pyspark"},
    "sqlext": set(),  # what workers load by `import sqlext`
}
# The modules that import pickle or cloudpickle. Only the first of them reads what another process may have written.
PICKLES = {
    "sqlext.aggregates.stored_states": "reads checkpoints, by a table of allowed names",
    "sqlext.expressions.python_functions": "unpickles UDFs in a task, which the driver of the query sent",
    "sqlext.engine.queries.python_functions": "pickles the UDFs of the session",
    "sqlext.engine.streams.shipped": "unpickles the operator that the driver of the query sent",
    "sqlext.spark.worker_functions": "unpickles the function that the driver of the query sent",
}


@cache
def all_imports() -> list[Import]:
    return [entry for module in MODULES.values() for entry in imports(module)]


def libraries_of(name: str) -> set[str]:
    """The distributions that a module may import at its top."""
    return next(names for package, names in LIBRARIES.items() if f"{name}.".startswith(f"{package}."))


def test_a_package_imports_only_the_libraries_that_it_may_know():
    known = sys.stdlib_module_names
    foreign = (e for e in all_imports() if not e.imported.startswith("sqlext") and e.imported not in known)
    wrong = [
        str(e) for e in foreign if not e.in_function and not e.for_types and e.imported not in libraries_of(e.importer)
    ]
    assert wrong == []


def test_what_workers_run_is_in_operators_or_pickled_by_its_code():
    """Workers have only what is sent to them, which is not the driver's part of `engine`. A nested function is pickled
    by its code, and what it reads of its module by name."""
    wrong = []
    for name, module in MODULES.items():
        if "map_in_arrow(" not in module.text:
            continue
        top = {node.name for node in module.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        top |= {
            alias.asname or alias.name
            for node in module.tree.body
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("sqlext.")
            and not (node.module or "").startswith("sqlext.operators")
            for alias in node.names
        }
        functions = {node.name: node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef)}
        calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        for call in calls:
            if isinstance(call.func, ast.Name) and call.func.id == "map_in_arrow":
                sent = ast.unparse(call.args[1].args[0] if isinstance(call.args[1], ast.Call) else call.args[1])
                nodes = [] if sent in top or sent not in functions else ast.walk(functions[sent])
                read = {sent, *(node.id for node in nodes if isinstance(node, ast.Name))}
                wrong += [f"{name}: {sent} reads {word}" for word in read & top]
    assert wrong == []


def test_only_what_the_driver_sends_and_the_states_of_aggregates_are_pickles():
    pattern = re.compile(r"^\s*(import|from)\b.*\b(cloud)?pickle\b", re.MULTILINE)
    assert {name for name, module in MODULES.items() if pattern.search(module.text)} == set(PICKLES)


def test_a_folder_holds_files_or_folders_but_not_both():
    folders = {name.rpartition(".")[0] for name in MODULES}
    parents = {name.rpartition(".")[0] for name in folders}
    top = {f"sqlext.{name}" for name in ("__main__", "error_pages", "errors", "host_folder", "version")}
    faces = {"sqlext", "sqlext.pandas", *top, "sqlext.pattern.strategy"}
    files = {name for name in MODULES if name not in folders and name.rpartition(".")[0] in parents}
    assert sorted(files - faces) == []


def test_the_wheel_lists_the_package_of_every_module():
    """The tests of the wheel build it and imply this, but `make check` does not run them."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    listed = re.search(r"^packages = \[\n(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    packages = {m.name if m.path.name == "__init__.py" else m.name.rpartition(".")[0] for m in MODULES.values()}
    assert packages - set(re.findall(r'"(.+)"', listed[1])) == set()
