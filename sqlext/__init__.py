"""MATCH_RECOGNIZE and its relatives for Apache Spark: an ordinary `spark.sql` that understands more.

>>> import sqlext
>>> spark = sqlext.session()                          # doctest: +SKIP
>>> spark = sqlext.extend(your_own_session)           # doctest: +SKIP
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlext.host_folder import unpacked

__path__ = unpacked(__path__)  # before the first import of a module: it reads the folder that replaces a zip

from sqlext.version import __version__ as __version__

if TYPE_CHECKING:
    from sqlext.errors import BindError, DataError, ParseError, SetupError, SqlExtError, SqlExtErrors, UnsupportedError
    from sqlext.formatting.automaton_picture import PatternPicture
    from sqlext.frames.joins import asof_join, interval_join
    from sqlext.frames.match import match_recognize
    from sqlext.frames.windows import windows
    from sqlext.sessions.draw import draw
    from sqlext.sessions.explain import compile, explain, why
    from sqlext.sessions.session import extend, is_extended, restore, session
    from sqlext.sessions.stream_state import state
    from sqlext.spark.progress import StreamState

__all__ = [
    "BindError",
    "DataError",
    "ParseError",
    "PatternPicture",
    "SetupError",
    "SqlExtError",
    "SqlExtErrors",
    "StreamState",
    "UnsupportedError",
    "asof_join",
    "compile",
    "draw",
    "explain",
    "extend",
    "interval_join",
    "is_extended",
    "match_recognize",
    "restore",
    "session",
    "state",
    "why",
    "windows",
]

# Executors import this file too, and get neither the modules of the driver nor wait for them.
_MODULES = {
    "sqlext.errors": (
        "BindError", "DataError", "ParseError", "SetupError", "SqlExtError", "SqlExtErrors", "UnsupportedError",
    ),
    "sqlext.formatting.automaton_picture": ("PatternPicture",),
    "sqlext.frames.joins": ("asof_join", "interval_join"),
    "sqlext.frames.match": ("match_recognize",),
    "sqlext.frames.windows": ("windows",),
    "sqlext.sessions.draw": ("draw",),
    "sqlext.sessions.explain": ("compile", "explain", "why"),
    "sqlext.sessions.session": ("extend", "is_extended", "restore", "session"),
    "sqlext.sessions.stream_state": ("state",),
    "sqlext.spark.progress": ("StreamState",),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

# Names that leave the interface: name → (module, the version that said so first, what to use instead). A name stays for
# one more minor version (docs/stability.md).
_DEPRECATED: dict[str, tuple[str, str, str]] = {}


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        """A name of the public interface, from the module that defines it."""
        if name in _DEPRECATED:
            module, version, instead = _DEPRECATED[name]
            sentence = f"sqlext.{name} is deprecated since sqlext {version}: use {instead}"
            warnings.warn(sentence, DeprecationWarning, stacklevel=2)
            return getattr(import_module(module), name)
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext sqlext` does in IPython and Jupyter: it adds the magics `%sql`, `%%sql` and `%stop`."""
    from sqlext.notebooks import magics  # needs pyspark and IPython, which workers that import sqlext do not load

    magics.load(shell)
