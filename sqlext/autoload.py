"""Extends the sessions that another program starts, where their configuration has `spark.sqlext.enabled = true`.

`sqlext hook --install` copies this file into an environment, with a .pth file through which every Python there runs it
at its start. So it imports nothing heavy, and does nothing until pyspark's sessions are imported.
"""

import sys
from typing import Any

ENABLED = "spark.sqlext.enabled"
SESSIONS = "pyspark.sql.session"  # the module whose import is waited for


class _Sessions:
    """A finder of modules that finds one: the module of sessions, whose builder is hooked when it has been loaded."""

    def find_spec(self, name, path=None, target=None):
        if name != SESSIONS:
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec: Any = find_spec(name)
        load = spec.loader.exec_module

        def load_and_hook(module):
            load(module)
            hook(module.SparkSession.Builder)

        spec.loader.exec_module = load_and_hook
        return spec


def hook(builder):
    """Let `getOrCreate` of a builder's class extend the sessions that are configured so."""
    own = builder.getOrCreate

    def getOrCreate(self):
        spark = own(self)
        if str(spark.conf.get(ENABLED, "false")).lower() == "true":
            import sqlext

            sqlext.extend(spark)
        return spark

    getOrCreate.__doc__ = own.__doc__
    builder.getOrCreate = getOrCreate


def wait_for_sessions():
    """Hook the builder now, or as soon as the module of sessions is imported."""
    if SESSIONS in sys.modules:
        hook(sys.modules[SESSIONS].SparkSession.Builder)
    else:
        sys.meta_path.insert(0, _Sessions())
