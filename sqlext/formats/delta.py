"""Delta: what its tables can do. A commit has its own record, and the identifiers of the query that wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sqlext.errors import SetupError
from sqlext.formats.delta_batches import log_of
from sqlext.formats.format import Format, Sql, StreamTable, WrittenBatches
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.start_versions import version_of

_VERSION = "4.4.0"  # 4.4.1 is on PyPI, but its jar was not on Maven Central
_SPARKS = ("4.0", "4.1", "4.2")  # the versions of Spark for which it has a jar; 4.3 had none on 2026-11-24
_COMPUTING = frozenset({"generatedColumns", "identityColumns", "allowColumnDefaults"})  # features of tables
_RETENTION = "delta.setTransactionRetentionDuration"  # after which a table forgets the micro-batches of a query
_WRITE = "spark.databricks.delta.write"
_RECORD = "spark.databricks.delta.commitInfo.userMetadata"
# the rows to merge are computed before, and need not be kept once more
_MERGE = {"spark.databricks.delta.merge.materializeSource": "none"}
_SMALL_BYTES = 64 << 20  # of a view: to write it takes no longer than the jobs of MERGE
_ACCOUNTS = ("delta.enableChangeDataFeed", "delta.enableRowTracking")  # of which rows stay, when a table is written


class Delta(Format):
    """The answers of Delta. Names may be paths: delta.`/a/path`."""

    name, title = "delta", "Delta"
    catalogs = "org.apache.spark.sql.delta."
    jar = "delta-spark"
    needed: Mapping[str, str] = MappingProxyType({"spark.sql.catalog.spark_catalog": f"{catalogs}catalog.DeltaCatalog"})
    conflict = (
        r"DELTA_(CONCURRENT|METADATA_CHANGED|PROTOCOL_CHANGED)|ALREADY_EXISTS|\b(Concurrent\w+|MetadataChanged)Exception"
    )
    append_only: Mapping[str, str] = MappingProxyType({"delta.appendOnly": "true"})
    # a checkpoint of the log, which Delta writes after ten commits, takes longer than all of them
    for_properties: Mapping[str, str] = MappingProxyType({"delta.checkpointInterval": "1000"})
    needs_empty_folder = True
    has_materialized_views = True

    def package(self, spark_version: str) -> str:
        """
        >>> DELTA.package("4.1.0.dev3")
        'io.delta:delta-spark_4.1_2.13:4.4.0'
        """
        minor = ".".join(map(str, version_of(spark_version)))
        if minor not in _SPARKS:
            raise SetupError(
                "SPARK_WITHOUT_DELTA",
                f"this is PySpark {spark_version}, and Delta {_VERSION} is there for {', '.join(_SPARKS)}",
                hint=f"run pip install 'spark-sqlext[delta]', which brings PySpark {_SPARKS[-1]} and Delta. In Python, "
                'session(format="parquet") starts Spark without Delta: clauses, joins, windows and streams work, but '
                "not views over clauses, streaming tables and rules. A Delta of your own: "
                'session(**{"spark.jars.packages": "…"}).',
            )
        return f"io.delta:delta-spark_{minor}_2.13:{_VERSION}"

    def settings(self, warehouse: str) -> dict[str, str]:
        return {
            **self.needed,
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            # The next process would not find a table that is not Delta: see catalog.warehouse.
            "spark.sql.sources.default": "delta",
            # Without this setting each read takes 50 tiny tasks: 59 s instead of 25 s for a small script.
            "spark.databricks.delta.snapshotPartitions": "2",
            # Without this setting, Delta's extension makes Spark 4.2 drop all parameters (delta-io/delta issue 7640).
            "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
        }

    def merged(self, spark: Any, sql: Sql, table: Parts, statement: str) -> int:
        return int(sql(statement).collect()[0]["num_inserted_rows"])

    def location(self, spark: Any, name: Parts) -> str:
        return str(table_detail(spark, name).location)

    def stream_table(self, spark: Any, name: Parts) -> StreamTable:
        detail = table_detail(spark, name)
        forgets = _RETENTION in (detail.properties or {})
        computes = not _COMPUTING.isdisjoint(detail.tableFeatures or ())
        return StreamTable(detail.location, detail.id, forgets, computes)

    def tables(self, spark: Any) -> Iterator[tuple[Parts, str]]:
        for (schema,) in spark.sql("SHOW SCHEMAS").collect():
            for row in spark.sql(f"SHOW TABLE EXTENDED IN {quoted(schema)} LIKE '*'").collect():
                known = dict(line.split(": ", 1) for line in row["information"].splitlines() if ": " in line)
                if known.get("Provider", "").lower() == self.name and "Location" in known:
                    yield (schema, row["tableName"]), known["Location"]

    def written_batches(self, spark: Any, name: Parts, location: str, query: str) -> WrittenBatches:
        log = log_of(spark, location, query)
        version = log.before_restore
        bring_back = None if version is None else f"RESTORE TABLE {quote(name)} TO VERSION AS OF {version}"
        return WrittenBatches(log.last_batch, bring_back)

    def has_begun(self, spark: Any, name: Parts, location: str, mark: str) -> bool:
        return log_of(spark, location, mark).last_batch is not None

    def mark_begun(self, spark: Any, name: Parts, location: str, mark: str, schema: Any) -> None:
        no_rows = spark.createDataFrame([], schema).write.format(self.name)
        no_rows.options(txnAppId=mark, txnVersion="0").mode("append").save(location)

    def settings_of_batch(self, query: str, batch: int) -> dict[str, str]:
        # Delta forgets the version after its first use, so that a later write of the session is not refused.
        return {
            f"{_WRITE}.txnAppId": query,
            f"{_WRITE}.txnVersion": str(batch),
            f"{_WRITE}.txnVersion.autoReset.enabled": "true",
        }

    def options_of_refresh(self, record: str, view: str, base: int) -> dict[str, str]:
        return {"userMetadata": record, "txnAppId": view, "txnVersion": str(base + 1)}

    def settings_of_refresh(self, record: str, view: str, base: int | None) -> dict[str, str]:
        if base is None:
            return {_RECORD: record}
        return {**_MERGE, _RECORD: record, f"{_WRITE}.txnAppId": view, f"{_WRITE}.txnVersion": str(base + 1)}

    def is_written_anew(self, spark: Any, name: Parts) -> bool:
        detail = table_detail(spark, name)
        keeps_account = any(detail.properties.get(account, "").lower() == "true" for account in _ACCOUNTS)
        return int(detail.sizeInBytes) <= _SMALL_BYTES and not keeps_account


def table_detail(spark: Any, name: Parts) -> Any:
    """The row of DESCRIBE DETAIL about a Delta table, with its `location`, its `id` and its `properties`. Raises
    PySparkException if there is none of that name."""
    return spark.sql(f"DESCRIBE DETAIL {quote(name)}").first()


DELTA = Delta()
