"""The kind of a session: a classic one, whose JVM is on this machine, or the session of a Connect client."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

SESSION = "sqlext.enabled"  # the setting of an extended classic session, whose value identifies the session
_MASTERS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def is_connect(spark: Any) -> bool:
    """Return True if the session belongs to a Connect client. Then Spark's files and workers may be on other machines.

    The name of the class's module decides, because `import sqlext` does not load pyspark, and a client without a JVM
    has no classic classes.
    """
    return ".connect." in type(spark).__module__


def session_of(spark: Any) -> str:
    """The identifier that distinguishes an extended session from others; "" for a classic one that is not extended."""
    return str(spark.session_id if is_connect(spark) else spark.conf.get(SESSION, ""))


def master_of(spark: Any) -> str:
    """The master of the session's Spark, which never changes; "" if it is unknown."""
    if spark not in _MASTERS:
        _MASTERS[spark] = str(spark.conf.get("spark.master", "") or "")
    return _MASTERS[spark]


def is_on_this_machine(master: str) -> bool:
    """Return True if all code of a Spark with this master runs in one JVM on this machine.

    >>> is_on_this_machine("local[2]"), is_on_this_machine("local-cluster[2,1,1024]"), is_on_this_machine("yarn")
    (True, False, False)
    """
    return master.startswith("local") and not master.startswith("local-cluster")
