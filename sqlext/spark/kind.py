"""The kind of a session: a classic one, whose JVM is on this machine, or the session of a Connect client."""

from __future__ import annotations

from typing import Any


def is_connect(spark: Any) -> bool:
    """Return True if the session belongs to a Connect client. Then Spark's files and workers may be on other machines.

    The name of the class's module decides, because `import sqlext` does not load pyspark, and a client without a JVM
    has no classic classes.
    """
    return ".connect." in type(spark).__module__
