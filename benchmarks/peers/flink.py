"""Flink's MATCH_RECOGNIZE in batch mode, and its joins of streams, through PyFlink 2.3 on two cores.

It needs Java 11, 17 or 21; a Python of 3.9 to 3.12 (sys.executable, or the first one on the path); `mvn` (Flink's
Parquet reader, 9 MB, from Maven Central); about 0.4 GB from PyPI, once, for a virtual environment of 0.9 GB; and a heap
of up to 8 GB. Tables are exported to Parquet, each about as large as the Delta table.

Its MATCH_RECOGNIZE differs from the standard's in these points, tried with 2.3.0:
- ORDER BY begins with a time attribute. It is `ts`, or `rowtime` if the table has a column ts that is not a time.
- The default of AFTER MATCH is SKIP TO NEXT ROW.
- Many words are reserved that are names in Spark, such as START: they must be quoted by backticks.
- Refused: a greedy quantifier (but `?`) on the last variable, a variable twice, quantified groups, `|`, PERMUTE,
  `{- -}`, patterns that may be empty, `A??`, ALL ROWS PER MATCH, CLASSIFIER, MATCH_NUMBER, RUNNING, COUNT(A.*),
  DISTINCT, NEXT, PREV of the variable's own column (`B AS B.v > PREV(B.v)`).
- Accepted silently with another meaning: greedy loops never give a row back; `?` prefers no row; `^` and `$` hold
  everywhere; measures over a SUBSET are NULL; `PREV(v)` is LAST(v, 1), which sees no row before the match; AVG of
  integers is an integer.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from benchmarks.peers.answering import Answering, environment
from benchmarks.peers.downloads import maven

VERSION = "2.3.0"
_PYTHONS = (sys.executable, "python3.12", "python3.11", "python3.10", "python3.9")
_IS_SUPPORTED = "import sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 12))"
_HADOOP = "hadoop-client-*.jar"  # Parquet readers need Hadoop's classes: PySpark has them

_TYPES = {
    **{name: name.upper() for name in ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double")},
    **{"string": "STRING", "binary": "BYTES", "date": "DATE"},
    **{"timestamp": "TIMESTAMP(6)", "timestamp_ntz": "TIMESTAMP(6)"},  # in UTC; PyFlink cannot fetch TIMESTAMP_LTZ
}
_TIMES = ("timestamp", "timestamp_ntz")

_LOG4J = """rootLogger.level = WARN
rootLogger.appenderRef.file.ref = File
appender.file.name = File
appender.file.type = FILE
appender.file.fileName = ${sys:log.file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %-5p %c - %m%n
"""


class Flink:
    """Queries over exported tables, answered by a process that stays warm until the block ends.

    Exports, logs and Flink's temporary files are in `work`. A query that takes longer than `limit_s` seconds raises
    TimeoutError and ends the process; the next query starts another one. `cores`: the tasks of a stage that run at
    once.

    >>> with Flink(Path("/tmp/flink")) as flink:                                            # doctest: +SKIP
    ...     flink.prepare(spark, "ticker", Path("/tmp/warehouse/ticker"))
    ...     flink.query("SELECT count(*) FROM ticker")
    [(9,)]
    """

    def __init__(self, work: Path, limit_s: float = 600, cores: int = 2):
        self.work, self.cores = Path(work).resolve(), cores
        self.limit_s = limit_s
        self._process: Answering | None = None
        self._tables: dict[tuple[str, bool], str] = {}  # declarations, for a process that is started anew

    def __enter__(self) -> Flink:
        shutil.rmtree(self.work / "tmp", ignore_errors=True)
        (self.work / "tmp").mkdir(parents=True)
        (self.work / "log4j.properties").write_text(_LOG4J)
        python = environment(f"flink-{VERSION}", f"apache-flink=={VERSION}", _PYTHONS, _IS_SUPPORTED)
        script = str(Path(__file__).with_name("flink_server.py"))
        command, errors = [str(python), script], self.work / "flink.err"
        self._process = Answering("Flink", command, errors, self.limit_s, self._variables())
        self._process.start()
        return self

    def __exit__(self, *_) -> None:
        if self._process is not None:
            self._process.stop()
        shutil.rmtree(self.work / "tmp", ignore_errors=True)

    @property
    def pid(self) -> int:
        """The process that answers; its JVM is a child of it."""
        assert self._process is not None and self._process.server is not None
        return self._process.server.pid

    def prepare(self, spark, table: str, path: Path, order: str = "i") -> None:
        """Export the Delta table at `path` and declare it as `table`, with `order` as milliseconds of its time.

        All columns keep their names and types. The export is kept until the Delta table changes.

        Raises ValueError: a column's type has no counterpart, or there is neither a time called ts nor `order`.
        """
        rows = spark.read.format("delta").load(str(path))
        files = self.work / f"{table}-{_newest_commit(path)}"
        declaration = declare(table, rows.dtypes, files, order)
        if not (files / "_SUCCESS").exists():
            rows.write.mode("overwrite").parquet(str(files))
        self._tables[table, False] = declaration
        self._declare(table, is_stream=False)

    def prepare_stream(self, spark, table: str, path: Path, order: str, key: str | None = None) -> None:
        """The same for streaming mode: one file with the rows in the order of `order`, the milliseconds of the time.

        A column ts is dropped, because the time attribute has its name. With a primary key `key`, temporal joins read
        the table as versions of its rows.
        """
        rows = spark.read.format("delta").load(str(path)).drop("ts")
        files = self.work / f"{table}-{_newest_commit(path)}-sorted"
        if not (files / "_SUCCESS").exists():
            rows.coalesce(1).sortWithinPartitions(order).write.mode("overwrite").parquet(str(files))
        self._tables[table, True] = declare(table, rows.dtypes, files, order, key)
        self._declare(table, is_stream=True)

    def query(self, sql: str, *, is_stream: bool = False) -> list[tuple]:
        """All rows of the result. Values other than numbers, text, Booleans and NULL are text, times to about 1 µs.

        `is_stream`: streaming mode, in which the rows are all changes of the result, in order.

        Raises PeerError: Flink refuses the statement or fails. TimeoutError: it took longer than the limit.
        """
        process = self._process
        assert process is not None, "inside the with block only"
        if process.server is None:  # a new process does not know the tables
            process.start()
            for name, declared_as_stream in self._tables:
                self._declare(name, is_stream=declared_as_stream)
        return process.ask({"sql": sql, "is_stream": is_stream})

    def _declare(self, table: str, *, is_stream: bool) -> None:
        self.query(f"DROP TEMPORARY TABLE IF EXISTS `{table}`", is_stream=is_stream)
        self.query(self._tables[table, is_stream], is_stream=is_stream)

    def _variables(self) -> dict[str, str]:
        """The environment of the process, without PYTHONPATH, which would add our packages to Flink's."""
        import pyspark

        jars = [maven("org.apache.flink", "flink-sql-parquet", VERSION)]
        jars += sorted((Path(pyspark.__file__).parent / "jars").glob(_HADOOP))
        return {
            **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")},
            "HADOOP_CLASSPATH": os.pathsep.join(map(str, jars)),
            "JVM_ARGS": f"-Xmx8g -XX:ActiveProcessorCount=2 -Djava.io.tmpdir={self.work / 'tmp'}",
            "FLINK_LOG_DIR": str(self.work),
            "FLINK_PARALLELISM": str(self.cores),
            "LOG4J_PROPERTIES": str(self.work / "log4j.properties"),
        }


def declare(table: str, dtypes: list[tuple[str, str]], files: Path, order: str, key: str | None = None) -> str:
    """The statement that declares Parquet files as a table of Flink with a time attribute and perhaps a primary key.

    >>> print(declare("t", [("i", "bigint"), ("v", "string")], Path("/x"), "i"))
    CREATE TEMPORARY TABLE `t` (
      `i` BIGINT,
      `v` STRING,
      `ts` AS CAST(TO_TIMESTAMP_LTZ(`i`, 3) AS TIMESTAMP(3)),
      WATERMARK FOR `ts` AS `ts`
    ) WITH ('connector' = 'filesystem', 'path' = 'file:///x', 'format' = 'parquet', 'parquet.utc-timezone' = 'true')
    """
    types = dict(dtypes)
    time = "ts" if types.get("ts") in (None, *_TIMES) else "rowtime"
    columns = [f"`{name}` {'TIMESTAMP(3)' if name == time else _type_of(name, of)}" for name, of in dtypes]
    if time not in types:
        if order not in types:
            raise ValueError(f"{table} has no column {order} to make Flink's time attribute of")
        columns.append(f"`{time}` AS CAST(TO_TIMESTAMP_LTZ(`{order}`, 3) AS TIMESTAMP(3))")
    columns.append(f"WATERMARK FOR `{time}` AS `{time}`")
    columns += [f"PRIMARY KEY (`{key}`) NOT ENFORCED"] if key else []
    source = f"'path' = 'file://{files}', 'format' = 'parquet', 'parquet.utc-timezone' = 'true'"
    body = ",\n  ".join(columns)
    return f"CREATE TEMPORARY TABLE `{table}` (\n  {body}\n) WITH ('connector' = 'filesystem', {source})"


def _type_of(name: str, of: str) -> str:
    if of.startswith("decimal("):
        return of.upper()
    if of not in _TYPES:
        raise ValueError(f"column {name}: no type of Flink for {of}")
    return _TYPES[of]


def _newest_commit(path: Path) -> str:
    """A name for the version of the Delta table, which also changes when the table is written anew."""
    newest = max((Path(path) / "_delta_log").glob("*.json"))
    return f"{int(newest.stem)}-{newest.stat().st_mtime_ns}"
