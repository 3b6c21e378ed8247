"""Which kind of session it is: a classic one, whose JVM is on this machine, or that of a Connect client."""

from __future__ import annotations

from typing import Any


def is_connect(spark: Any) -> bool:
    """Does the session belong to a Connect client? Then neither Spark's files nor its workers need be on this machine.

    `import sqlext` loads no pyspark, and a client without a JVM has no classic classes, so the module's name decides.
    """
    return ".connect." in type(spark).__module__
