"""Apache DataFusion Comet beside sqlext: the settings with which `make test-comet` and the table of versions start it.

Comet has no build for the Spark of the suite, so both run in an environment with another Spark.
"""

from __future__ import annotations

import os

import pyspark

WITH_COMET = "SQLEXT_TEST_COMET"  # the environment variable with the version of Comet with which tests start Spark
VERSION = os.environ.get(WITH_COMET, "")


def settings() -> dict[str, str]:
    """The settings of docs/deploy.md, which switch Comet on; none if the tests run without it."""
    if not VERSION:
        return {}
    spark = ".".join(pyspark.__version__.split(".")[:2])
    return {
        "spark.jars.packages": f"org.apache.datafusion:comet-spark-spark{spark}_2.13:{VERSION}",
        "spark.plugins": "org.apache.spark.CometPlugin",
        "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
        "spark.comet.exec.pyarrowUDF.enabled": "true",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": "2g",
        "sqlext.read": "spark",  # as on a cluster
    }
