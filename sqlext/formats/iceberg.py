"""Iceberg: what its tables can do. The summary of a snapshot has what a query or a statement writes into it, so the
rows of a micro-batch and its number are one commit; and so are those of a MERGE.

Iceberg's own sink of streams writes the query and the micro-batch (`spark.sql.streaming.queryId`, `…epochId`) and
leaves out a micro-batch that an ancestor of the current snapshot has. Snapshots that are expired are forgotten.
"""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlext.errors import DataError, SetupError
from sqlext.expressions.spark_types import in_sql
from sqlext.formats.catalogs import whole_name
from sqlext.formats.format import Commit, Format, Sql, StreamTable, WrittenBatches
from sqlext.formats.iceberg_metadata import TableMetadata
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.files import read_by_spark
from sqlext.spark.locations import path_here
from sqlext.spark.start_versions import version_of

_VERSION = "1.11.0"
_SPARKS = ("4.0", "4.1")  # the versions of Spark for which it has a jar; 4.2 had none on 2026-11-30
_LOCAL, _NAMESPACE = "local", "default"  # the catalog of a session of ours, as in Iceberg's own guide
_OF_SNAPSHOT = "spark.sql.iceberg.snapshot-property."  # a setting: the name of what a commit writes into its summary
_MERGE, _QUERY, _BATCH = "sqlext.merge", "sqlext.query", "sqlext.batch"  # in summaries
_REFRESH = "sqlext.refresh"  # likewise: the record of the refresh of a materialized view
_ZIPPED = ".gz.metadata.json"
_BEGUN = "sqlext.begun."  # a property of a table, followed by the mark of a query


class Iceberg(Format):
    """The answers of Iceberg, for tables in one of its catalogs."""

    name, title = "iceberg", "Iceberg"
    catalogs = "org.apache.iceberg."
    jar = "iceberg-spark-runtime"
    needed: Mapping[str, str] = MappingProxyType(
        {"spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"}
    )
    conflict = (
        r"\bCommitFailedException|Found conflicting (deleted )?files|Found new conflicting delete files"
        r"|Cannot determine history between starting snapshot"  # of a view that was rolled back meanwhile
    )
    # Without a clause for matched rows Spark makes an append of a MERGE, which Iceberg never refuses.
    never_matched = "WHEN MATCHED AND old.name <> new.name THEN DELETE "

    # `arranged` checks what is NOT NULL
    write_options: Mapping[str, str] = MappingProxyType({"check-nullability": "false"})
    is_listed = True
    has_materialized_views = True
    # An append is always committed; an overwrite of the rows for which FALSE holds is one if nothing was added since.
    appends_by_overwrite = True

    def package(self, spark_version: str) -> str:
        """
        >>> ICEBERG.package("4.1.4")
        'org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0'
        """
        minor = ".".join(map(str, version_of(spark_version)))
        if minor not in _SPARKS:
            raise SetupError(
                "SPARK_WITHOUT_ICEBERG",
                f"this is PySpark {spark_version}, and Iceberg {_VERSION} is there for {', '.join(_SPARKS)}",
                hint=f"run pip install 'pyspark=={_SPARKS[-1]}.*'. An Iceberg of your own: "
                'session(format="iceberg", **{"spark.jars.packages": "…"}).',
            )
        return f"org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:{_VERSION}"

    def settings(self, warehouse: str) -> dict[str, str]:
        catalog = f"spark.sql.catalog.{_LOCAL}"
        return {
            **self.needed,
            catalog: f"{self.catalogs}spark.SparkCatalog",
            f"{catalog}.type": "hadoop",
            f"{catalog}.warehouse": warehouse,
            f"{catalog}.default-namespace": _NAMESPACE,
            # What is read again within half a minute is never read anew, as rules are by each micro-batch.
            f"{catalog}.cache-enabled": "false",
            "spark.sql.defaultCatalog": _LOCAL,
            # Without this setting, Iceberg's extension makes Spark 4.1 drop all parameters (apache/iceberg#16625).
            "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
        }

    def begin(self, sql: Sql) -> None:
        sql(f"CREATE NAMESPACE IF NOT EXISTS {_LOCAL}.{_NAMESPACE}").collect()

    def merged(self, spark: Any, sql: Sql, table: Parts, statement: str) -> int:
        merge, setting = uuid.uuid4().hex, f"{_OF_SNAPSHOT}{_MERGE}"
        spark.conf.set(setting, merge)
        try:
            sql(statement).collect()
        finally:
            spark.conf.unset(setting)
        snapshots = _metadata(spark, table, "snapshots")
        # a file with rows that match is written anew, so its rows are both deleted and added
        counts = "summary['added-records'], summary['deleted-records']"
        rows = sql(f"SELECT {counts} FROM {snapshots} WHERE summary['{_MERGE}'] = '{merge}'").collect()
        return sum(int(added or 0) - int(deleted or 0) for added, deleted in rows)

    def location(self, spark: Any, name: Parts) -> str:
        described = spark.sql(f"DESCRIBE TABLE EXTENDED {quote(name)}").collect()
        return next(str(row[1]) for row in described if row[0] == "Location")

    def stream_table(self, spark: Any, name: Parts) -> StreamTable:
        snapshots = spark.sql(f"SELECT snapshot_id, parent_id FROM {_metadata(spark, name, 'snapshots')}").collect()
        known = {row[0] for row in snapshots}
        is_expired = any(row[1] is not None and row[1] not in known for row in snapshots)
        identifier = self.metadata(spark, name).identifier
        return StreamTable(self.location(spark, name), identifier, is_expired, computes=False)

    def tables(self, spark: Any) -> Iterator[tuple[Parts, str]]:
        catalog = spark.catalog.currentCatalog()
        for (namespace,) in spark.sql("SHOW NAMESPACES").collect():
            for row in spark.sql(f"SHOW TABLES IN {quoted(namespace)}").collect():
                if not row["isTemporary"]:
                    name = (catalog, namespace, row["tableName"])
                    yield name, _folder(spark, name) or self.location(spark, name)

    def written_batches(self, spark: Any, name: Parts, location: str, query: str) -> WrittenBatches:
        query_of, batch_of = (
            f"coalesce(summary['{ours}'], summary['spark.sql.streaming.{theirs}'])"
            for ours, theirs in ((_QUERY, "queryId"), (_BATCH, "epochId"))
        )
        snapshots, history = (_metadata(spark, name, table) for table in ("snapshots", "history"))
        rows = spark.sql(
            f"SELECT CAST({batch_of} AS BIGINT), bool_or(is_current_ancestor), max(made_current_at), "
            f"max_by(snapshot_id, made_current_at) FROM {snapshots} JOIN {history} "
            f"USING (snapshot_id) WHERE {query_of} = {string_literal(query)} GROUP BY 1"
        ).collect()
        last = max((row[0] for row in rows if row[1]), default=None)
        taken_back = max((row for row in rows if not row[1] and (last is None or row[0] > last)), default=None)
        if taken_back is None:
            return WrittenBatches(last)
        catalog, *table = whole_name(spark, name)
        restore = f"CALL {quoted(catalog)}.system.set_current_snapshot('{'.'.join(table)}', {taken_back[3]})"
        return WrittenBatches(last, restore)

    def has_begun(self, spark: Any, name: Parts, location: str, mark: str) -> bool:
        properties = spark.sql(f"SHOW TBLPROPERTIES {quote(name)}").collect()
        return any(row[0] == f"{_BEGUN}{mark}" for row in properties)

    def mark_begun(self, spark: Any, name: Parts, location: str, mark: str, schema: Any) -> None:
        spark.sql(f"ALTER TABLE {quote(name)} SET TBLPROPERTIES ({string_literal(_BEGUN + mark)} = 'true')").collect()

    def arranged(self, rows: Any, schema: Any) -> Any:
        """All columns in their order; a column that is NOT NULL is checked here, because the sink refuses the query."""
        names = {name.lower(): quoted(name) for name in rows.columns}
        columns = []
        for field in schema.fields:
            own, kind = quoted(field.name), in_sql(field.dataType.simpleString())
            value = names.get(field.name.lower())
            if value is not None and not field.nullable:
                fault = string_literal(f"NULL cannot be written into the column {field.name}, which is NOT NULL")
                value = f"coalesce({value}, CAST(raise_error({fault}) AS {kind}))"
            columns.append(f"{value or f'CAST(NULL AS {kind})'} AS {own}")
        return rows.selectExpr(*columns)

    def settings_of_batch(self, query: str, batch: int) -> dict[str, str]:
        return {f"{_OF_SNAPSHOT}{_QUERY}": query, f"{_OF_SNAPSHOT}{_BATCH}": str(batch)}

    def repeats_merge(self, spark: Any, name: Parts, query: str, batch: int) -> bool:
        last = self.written_batches(spark, name, "", query).last
        return last is not None and last >= batch

    def metadata(self, spark: Any, name: Parts) -> TableMetadata:
        """The metadata of a table as it is now. Raises DataError if nobody can read its file, and Spark's error if
        there is no table of the name."""
        spark.sql(f"REFRESH TABLE {quote(name)}").collect()  # the catalog may keep it as it was
        log = spark.sql(f"SELECT timestamp, file FROM {_metadata(spark, name, 'metadata_log_entries')}").collect()
        file = max((row[0], len(row[1]), row[1]) for row in log)[2]  # of one millisecond, v10 comes after v9
        here = path_here(spark, file)
        text = read_by_spark(spark, file) if here is None else _text_in(here)
        if text is None:
            raise DataError("TABLE_METADATA", f"{file}, the metadata of {'.'.join(name)}, cannot be read")
        return TableMetadata.of(text)

    def options_of_refresh(self, record: str, view: str, base: int) -> dict[str, str]:
        since = {} if base < 0 else {"validate-from-snapshot-id": str(base)}
        return {f"snapshot-property.{_REFRESH}": record, "isolation-level": "serializable", **since}

    def settings_of_refresh(self, record: str, view: str, base: int | None) -> dict[str, str]:
        return {f"{_OF_SNAPSHOT}{_REFRESH}": record}


def _metadata(spark: Any, name: Parts, table: str) -> str:
    """One of the tables that Iceberg makes of the metadata of a table, which is found by the whole name only."""
    return quote((*whole_name(spark, name), table))


def _folder(spark: Any, name: Parts) -> str | None:
    """The folder of a table in a catalog that is a folder of them, without a question about each table."""
    catalog = f"spark.sql.catalog.{name[0]}"
    is_folder = spark.conf.get(f"{catalog}.type", "") == "hadoop"
    return "/".join((spark.conf.get(f"{catalog}.warehouse").rstrip("/"), *name[1:])) if is_folder else None


def commits_of(metadata: TableMetadata) -> list[Commit]:
    """The commits of a table, the last one first."""
    return [
        Commit(
            snapshot.identifier,
            snapshot.at_ms * 1000,
            snapshot.operation,
            snapshot.summary.get(_REFRESH, ""),
            is_neutral=not snapshot.changes_rows,
            rows_inserted=snapshot.summary.get("added-records", "0"),
            files_removed=snapshot.summary.get("deleted-data-files", "0"),
        )
        for snapshot in metadata.ancestors()
    ]


def _text_in(path: Path) -> str:
    written = path.read_bytes()
    return (gzip.decompress(written) if path.name.endswith(_ZIPPED) else written).decode()


ICEBERG = Iceberg()
