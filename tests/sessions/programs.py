"""Python programs in processes of their own, for what must not happen in the session that the tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

# the beginning of a program: `spark` is the session of a Connect client, which is not extended
CONNECT_SESSION = """
    import os
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession
    import sqlext
    from sqlext.formats.delta import DELTA
    import pyspark
    delta = DELTA.package(pyspark.__version__)
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).set("spark.jars.packages", delta))
    os.environ["SPARK_TESTING"] = "1"  # of PySpark alone, as Java runs: it takes a free port, no longer 15002
    spark = SparkSession.builder.remote("local[2]").config(map={
        "spark.jars.packages": delta,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": "here",
        "spark.databricks.delta.snapshotPartitions": "2",  # instead of 50 tasks for each list of files
        "spark.sql.streaming.stateStore.providerClass":
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "spark.sql.shuffle.partitions": "2",
    }).getOrCreate()
"""


def run_program(source: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished process of a program that runs in `folder`."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        cwd=folder,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,  # a busy machine is no failure
    )


def printed(source: str, folder: Path, **environment: str) -> list[str]:
    """The lines that a program prints; it must end well."""
    done = run_program(source, folder, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
