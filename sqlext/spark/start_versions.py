"""What the start of a session must know of Spark's version. This module is light: the JVM starts after it is loaded."""

from __future__ import annotations


def checkpointing_package(pyspark_version: str) -> str:
    """The package of Spark's managers of checkpoint files.

    >>> checkpointing_package("4.0.5"), checkpointing_package("4.2.0")
    ('org.apache.spark.sql.execution.streaming', 'org.apache.spark.sql.execution.streaming.checkpointing')
    """
    package = "org.apache.spark.sql.execution.streaming"
    return package if version_of(pyspark_version) < (4, 1) else f"{package}.checkpointing"


def version_of(text: str) -> tuple[int, int]:
    """The first two numbers of a version.

    >>> version_of("4.1.0.dev3"), version_of("4.0.2-SNAPSHOT")
    ((4, 1), (4, 0))
    """
    major, minor, *_ = text.split(".")
    return int(major), int(minor)
