"""The kind of a session: a classic one, whose JVM is on this machine, or the session of a Connect client."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

_MASTERS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def is_connect(spark: Any) -> bool:
    """Return True if the session belongs to a Connect client. Then Spark's files and workers may be on other machines.

    The name of the class's module decides, because `import sqlext` does not load pyspark, and a client without a JVM
    has no classic classes.
    """
    return ".connect." in type(spark).__module__


def master_of(spark: Any) -> str:
    """The master of the session's Spark, which never changes; "" if it is unknown."""
    if spark not in _MASTERS:
        _MASTERS[spark] = str(spark.conf.get("spark.master", "") or "")
    return _MASTERS[spark]
