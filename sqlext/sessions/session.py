"""A Spark session that reads Delta or Iceberg tables and understands the extended language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlext.sessions.hook import extend, is_extended, restore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT = "sqlext.format"  # a setting with which commands choose the format of the tables

__all__ = ["extend", "is_extended", "restore", "session"]


def session(
    app_name: str = "sqlext",
    master: str | None = None,
    warehouse: str | Path | None = None,
    *,
    format: Any = None,  # a str; type checkers let `**{"spark.x": 4}` fill every named parameter
    **conf: Any,
) -> SparkSession:
    """Start Spark with tables and the extended language, or use the session that is already running.

    Without `master` Spark runs on all cores of this machine or, if spark-submit started this program, on the master of
    spark-submit. `warehouse` is the folder of the tables (None: `spark-warehouse` in the current folder, as in Spark).
    All Delta tables in it are entered into the catalog, so a process finds the tables of the previous process. It may
    be a URI such as hdfs://host/tables, whose tables only a metastore remembers. `conf` are settings of Spark, which
    override ours: `session(**{"spark.sql.shuffle.partitions": "4"})`. A session that is already running keeps its
    settings, except the settings in `conf`.

    `format` is that of the tables: "delta", unless the setting `sqlext.format` is another one. With "iceberg" they are
    in the catalog `local`, which is the current one and keeps them for the next process. With "parquet" Spark starts
    without any jar, for example in a version for which no format has one: the catalog forgets the tables with the
    process, as in Spark. Clauses, joins and windows work, on streams too; views over them, streaming tables and pattern
    rules end with SQLEXT_SESSION_WITHOUT_DELTA.

    The first start downloads the format's jar from Maven Central (Delta's are 87 MB, kept in ~/.ivy2.5.2), unless
    Spark's folder `jars` has it. The output of Spark on stderr while it starts is shown only if the start fails.

    Raises SetupError if there is no suitable Java, if the jar cannot be downloaded, or if a session without the format
    or with another warehouse runs.

    >>> import sqlext
    >>> spark = sqlext.session(master="local[2]")                                           # doctest: +SKIP
    >>> spark.sql("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS B.x > A.x)")  # doctest: +SKIP
    """
    # they need pyspark, or are loaded while it starts, and workers that import sqlext load neither
    from sqlext.formats.known_formats import DELTA, FORMATS, format_named
    from sqlext.sessions import start

    format = format or conf.get(FORMAT, "delta")
    tables = format_named(str(format))
    if tables is None:
        names = ", ".join(known.name for known in FORMATS)
        raise TypeError(f"format is one of {names}, not {format!r}")
    if wrong := next((key for key in conf if "." not in key), None):
        raise TypeError(f"session() has no argument {wrong}, and a setting of Spark has a dot in its name")
    user_conf = {key: str(value) for key, value in conf.items()}
    if warehouse is not None:
        user_conf.setdefault("spark.sql.warehouse.dir", _location(str(warehouse)))
    running = start.running_session()
    spark = start.adopt(running, user_conf, tables) if running else start.start(app_name, master, user_conf, tables)
    if tables is DELTA:
        start.register_tables(spark)
    return extend(spark)


def _location(folder: str) -> str:
    """A folder in the form that Spark expects.

    >>> _location("hdfs://host/tables"), _location("/srv/tables")
    ('hdfs://host/tables', '/srv/tables')
    """
    return folder if "://" in folder else str(Path(folder).expanduser().absolute())
