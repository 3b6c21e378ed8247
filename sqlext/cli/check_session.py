"""Checks files on a Spark session, which knows the names and the types of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from sqlext.cli.check_names import NameChecker
from sqlext.cli.check_reports import Finding
from sqlext.cli.declared_tables import declared_tables
from sqlext.cli.sql_files import SqlFile
from sqlext.errors import SqlExtError
from sqlext.formatting.check_syntax import check_text
from sqlext.sessions.session import session


def findings_with_names(files: Sequence[SqlFile], schema: SqlFile | None, warehouse: str | None) -> list[Finding]:
    """The findings of a session that has the tables of `schema` or (None) of the warehouse."""
    if schema is None:
        return check_on_session(_session(warehouse), files, schema)
    with TemporaryDirectory() as scratch:
        try:
            return check_on_session(_session(scratch), files, schema)
        finally:
            SparkSession.active().stop()


def _session(warehouse: str | None) -> SparkSession:
    settings = {"spark.log.level": "OFF", "spark.sql.shuffle.partitions": "1"}
    return session(master="local[1]", warehouse=warehouse, **settings)


def check_on_session(spark: SparkSession, files: Sequence[SqlFile], schema: SqlFile | None) -> list[Finding]:
    """The findings in syntax, names and types. If there is a schema, the session is used for nothing else."""
    findings: list[Finding] = []
    checker = NameChecker(spark, is_scratch=schema is not None)
    try:
        checker.declare(declared_tables(schema.text) if schema is not None else ())
    except SqlExtError as error:
        assert schema is not None
        return [Finding(schema.name, error)]
    for file in files:
        findings += (Finding(file.name, error) for error in check_text(file.text, checker.check))
    checker.close()
    return findings
