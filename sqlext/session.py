"""A Spark session that reads Delta tables and understands the extended language."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlext.errors import SetupError
from sqlext.hook import extend, is_extended, restore, unhooked
from sqlext.quiet import StderrRelay, quiet_probes
from sqlext.startup import diagnose

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["extend", "is_extended", "restore", "session"]

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"  # for PySpark 4.2; 4.4.1 is on PyPI, its jar was not on Maven Central
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": _DELTA_CATALOG,
    # A table that is not Delta would be lost to the next process: see catalog.tables.
    "spark.sql.sources.default": "delta",
    # 50 tiny tasks for each read otherwise: 59 s instead of 25 s for a small script.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Delta's extension makes Spark 4.2 drop all parameters (delta-io/delta issue 7640); this way they survive.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
    # transformWithState refuses the default provider.
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    # A micro-batch writes what has changed, and not a snapshot: 0.8 s of processor time instead of 1.0 for 10,000 rows.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # With a limit Spark adds up the bytes of all columns for each row: 10 M rows of two columns reached the Python
    # workers in 2.9 s, without one in 0.9 s. Batches end after 10,000 rows anyway.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}  # fmt: skip

# On a local file system Spark's other manager starts processes to read links and set rights, some seventy in each
# micro-batch (0.6 s of processor time instead of 0.8). Both rename files into place.
_LOCAL_SETTINGS = {
    "spark.sql.streaming.checkpointFileManagerClass":
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
}  # fmt: skip


def session(
    app_name: str = "sqlext", master: str = "local[*]", warehouse: str | Path | None = None, **conf: Any
) -> SparkSession:
    """Start Spark with Delta tables and the extended language, or take the session that runs already.

    `warehouse` is the folder of the tables (None: `spark-warehouse` here, as Spark has it). Every Delta table in it is
    in the catalog, so that a process finds the tables of the one before. `conf` are settings of Spark; they win over
    ours: `session(**{"spark.sql.shuffle.partitions": "4"})`. A session that runs already keeps its settings but for
    those named in `conf`.

    The first start downloads Delta's jar from Maven Central (87 MB, kept in ~/.ivy2.5.2). What Spark writes to stderr
    while it starts is shown only if it fails.

    Raises SetupError if Java or the jar cannot be had, or if a session without Delta or with another warehouse runs.

    >>> import sqlext
    >>> spark = sqlext.session(master="local[2]")                                           # doctest: +SKIP
    >>> spark.sql("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS B.x > A.x)")  # doctest: +SKIP
    """
    asked = {key: str(value) for key, value in conf.items()}
    if warehouse is not None:
        asked.setdefault("spark.sql.warehouse.dir", str(Path(warehouse).expanduser().absolute()))
    running = _running_session()
    spark = _start(app_name, master, asked) if running is None else _adopt(running, asked)
    _register_tables(spark)
    return extend(spark)


def _register_tables(spark: SparkSession) -> None:
    """Enter the warehouse's tables into the catalog; one that Spark cannot read does not keep the others out."""
    from pyspark.errors import PySparkException

    from sqlext.catalog import warehouse

    folder = _warehouse_folder(spark)
    if folder is None:
        return
    spark.conf.set(warehouse.WAREHOUSE, str(folder))
    sql = unhooked(spark)
    for table in warehouse.warehouse_tables(folder):
        try:
            with quiet_probes():
                for statement in table.statements():
                    sql(statement)
        except PySparkException as error:
            reason = str(error).splitlines()[0]
            warnings.warn(f"sqlext: {table.folder} is not in the catalog: {reason}", stacklevel=3)


def _running_session() -> SparkSession | None:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _adopt(running: SparkSession, asked: dict[str, str]) -> SparkSession:
    """A running session with the settings `asked`; those that Spark fixes at its start must be as they are."""
    from pyspark.sql import SparkSession

    from sqlext.catalog.warehouse import local_path

    remedy = "call stop() on the running session first, or keep it and call sqlext.extend(spark)."
    if running.conf.get("spark.sql.catalog.spark_catalog", "") != _DELTA_CATALOG:
        raise SetupError("SESSION_WITHOUT_DELTA", "a Spark session without Delta is running", hint=remedy)
    theirs, ours = running.conf.get("spark.sql.warehouse.dir", ""), asked.get("spark.sql.warehouse.dir")
    if ours is not None and local_path(ours) != local_path(str(theirs)):
        raise SetupError(
            "SESSION_WITH_OTHER_WAREHOUSE", f"a Spark session with the warehouse {theirs} is running", hint=remedy
        )
    return SparkSession.builder.config(map=dict(asked)).getOrCreate()


def _start(app_name: str, master: str, asked: dict[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # Workers take `python3` from PATH otherwise, which fails on `import pyarrow`; read when the JVM starts.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.master": master, "spark.app.name": app_name, **_SETTINGS, **asked}
    if settings["spark.master"].startswith("local"):
        settings = _LOCAL_SETTINGS | settings
    settings["spark.jars.packages"] = _packages(asked)
    settings.setdefault("spark.sql.shuffle.partitions", _shuffle_partitions(settings["spark.master"]))
    relay = StderrRelay()
    try:
        with relay.capture():
            spark = SparkSession.builder.config(map={k: v for k, v in settings.items() if v}).getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise diagnose(relay.last_words(), error, settings["spark.jars.packages"]) from None
    return spark


def _packages(asked: dict[str, str]) -> str:
    """`spark.jars.packages` with Delta, unless the user brings Delta or says explicitly that there is none to load."""
    packages = asked.get("spark.jars.packages")
    brings_delta = packages == "" or "delta-spark" in f"{packages},{asked.get('spark.jars', '')}"
    return packages or "" if brings_delta else ",".join(filter(None, [DELTA, packages]))


def _shuffle_partitions(master: str) -> str:
    """Two a core on a local master; Spark's own 200 elsewhere.

    >>> _shuffle_partitions("local[3]"), _shuffle_partitions("spark://host:7077")
    ('6', '')
    """
    if not master.startswith("local"):
        return ""
    cores = master.removeprefix("local").strip("[]").split(",")[0] or "1"
    return str(2 * (int(cores) if cores.isdecimal() else os.cpu_count() or 1))


def _warehouse_folder(spark: SparkSession) -> Path | None:
    """The folder to register; None where a metastore remembers the tables, or where it is not on this machine."""
    from sqlext.catalog.warehouse import local_path

    if spark.conf.get("spark.sql.catalogImplementation") != "in-memory":
        return None
    return local_path(str(spark.conf.get("spark.sql.warehouse.dir")))
