"""What a process does not load, because a user or a worker would wait for it. Imports inside functions serve this."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = "numpy numba pyarrow pyspark pandas rich IPython matplotlib sqlglot"
NOT_LOADED = {
    "sqlext": HEAVY,  # each worker that finds a function of ours imports it
    "sqlext.cli.main": f"{HEAVY} sqlext.cli.commands",  # nothing but what hands a command to a server
    "sqlext.cli.commands": HEAVY.replace(" sqlglot", ""),  # commands that need no Spark do not wait for PySpark
    "sqlext.cli.check_command": "pyspark numpy",
    "sqlext.language_server.serve": HEAVY.replace(" sqlglot", ""),
    "sqlext.cli.pack_command": "pyspark numba",
    "sqlext.spark.executors": "pyspark",  # workers pickle and load it
    # Plain SQL does not wait for the planner.
    "sqlext.sessions.dispatch": "sqlext.engine.statements.plan_statement numba",
    # The driver plans all that tasks run, without their machine code.
    "sqlext.engine.statements.run_script": "numba pandas",
    "sqlext.engine.match.table_function": "numba",
    "sqlext.notebooks.magics": "matplotlib nbclient numba",
    "sqlext.cli.notebook_command": "nbformat nbclient",
    "sqlext.pattern.strategy": "numba",  # a worker loads the engine that runs
    "sqlext.operators.match.match_rows": "pyspark pandas rich sqlglot",
    "sqlext.operators.match.step": "pyspark pandas rich sqlglot",
    "sqlext.operators.emit.step": "pyspark pandas rich",
}


@pytest.mark.random
@pytest.mark.parametrize("module", NOT_LOADED)
def test_a_module_loads_nothing_that_its_users_need_not_wait_for(module):
    program = f"import sys, {module}; print(*[name for name in {NOT_LOADED[module].split()} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.stderr) == ("", "")
