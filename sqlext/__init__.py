"""MATCH_RECOGNIZE and its relatives for Apache Spark: an ordinary `spark.sql` that understands more.

>>> import sqlext
>>> spark = sqlext.session()                          # doctest: +SKIP
>>> spark = sqlext.extend(your_own_session)           # doctest: +SKIP
"""

from typing import Any

from sqlext.host_folder import unpacked

__path__ = unpacked(__path__)  # before the imports below: they read the folder that replaces a zip

from sqlext.errors import BindError, DataError, ParseError, SetupError, SqlExtError, SqlExtErrors, UnsupportedError

# Workers load this file too, so none of these modules imports pyspark, sqlglot or numba before it is called.
from sqlext.sessions.explain import compile, explain
from sqlext.sessions.session import extend, is_extended, restore, session
from sqlext.spark.progress import StreamState, state

__all__ = [
    "BindError",
    "DataError",
    "ParseError",
    "SetupError",
    "SqlExtError",
    "SqlExtErrors",
    "StreamState",
    "UnsupportedError",
    "compile",
    "explain",
    "extend",
    "is_extended",
    "restore",
    "session",
    "state",
]


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext sqlext` does in IPython and Jupyter: it adds the magics `%sql`, `%%sql` and `%stop`."""
    from sqlext.notebooks import magics  # needs pyspark and IPython, which workers that import sqlext do not load

    magics.load(shell)
