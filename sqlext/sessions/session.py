"""A Spark session that reads Delta tables and understands the extended language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlext.sessions.hook import extend, is_extended, restore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["extend", "is_extended", "restore", "session"]


def session(
    app_name: str = "sqlext",
    master: str | None = None,
    warehouse: str | Path | None = None,
    *,
    delta: Any = True,  # a bool; type checkers let `**{"spark.x": "4"}` fill every named parameter
    **conf: Any,
) -> SparkSession:
    """Start Spark with Delta tables and the extended language, or use the session that is already running.

    Without `master` Spark runs on all cores of this machine or, if spark-submit started this program, on the master of
    spark-submit. `warehouse` is the folder of the tables (None: `spark-warehouse` in the current folder, as in Spark).
    All Delta tables in it are entered into the catalog, so a process finds the tables of the previous process. It may
    be a URI such as hdfs://host/tables, whose tables only a metastore remembers. `conf` are settings of Spark, which
    override ours: `session(**{"spark.sql.shuffle.partitions": "4"})`. A session that is already running keeps its
    settings, except the settings in `conf`.

    With `delta=False` Spark starts without Delta, for example in a version for which Delta has no jar. Tables are then
    Parquet's, and the catalog forgets them with the process, as in Spark. Clauses, joins and windows work, on streams
    too; views over them, streaming tables and pattern rules are kept in Delta tables and end with
    SQLEXT_SESSION_WITHOUT_DELTA.

    The first start downloads Delta's jar from Maven Central (87 MB, kept in ~/.ivy2.5.2), unless Spark's folder `jars`
    has it. The output of Spark on stderr while it starts is shown only if the start fails.

    Raises SetupError if there is no suitable Java, if the jar cannot be downloaded, or if a session without Delta or
    with another warehouse runs.

    >>> import sqlext
    >>> spark = sqlext.session(master="local[2]")                                           # doctest: +SKIP
    >>> spark.sql("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS B.x > A.x)")  # doctest: +SKIP
    """
    from sqlext.sessions import start  # needs pyspark, which workers that import sqlext do not load

    if not isinstance(delta, bool):
        raise TypeError(f"delta is True or False, not {delta!r}")
    user_conf = {key: str(value) for key, value in conf.items()}
    if warehouse is not None:
        user_conf.setdefault("spark.sql.warehouse.dir", _location(str(warehouse)))
    running = start.running_session()
    settings = start.WITH_DELTA if delta else start.WITHOUT_DELTA
    spark = start.adopt(running, user_conf, settings) if running else start.start(app_name, master, user_conf, settings)
    if delta:
        start.register_tables(spark)
    return extend(spark)


def _location(folder: str) -> str:
    """A folder in the form that Spark expects.

    >>> _location("hdfs://host/tables"), _location("/srv/tables")
    ('hdfs://host/tables', '/srv/tables')
    """
    return folder if "://" in folder else str(Path(folder).expanduser().absolute())
