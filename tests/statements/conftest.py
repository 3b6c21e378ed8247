"""The relations and functions that the data files read."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sqlext.expressions.spark_types import in_sql
from sqlext.sessions.hook import unhooked
from tests.conftest import format_of_tables

from .cases import Step, cases

_VALUES = r"VALUES\b(?:(?!MATCH_RECOGNIZE).)*? AS \w+\([\w, ]+\)"


@pytest.fixture(scope="package")
def session(spark):
    """The Spark session with the views of relations.txt and registered functions."""
    from pyspark.cloudpickle import register_pickle_by_value

    from . import functions
    from .functions import spread, twice  # pyspark

    register_pickle_by_value(functions)  # the workers of a cluster do not have the tests
    views = cases("relations.txt")
    for case in views:
        spark.sql(f"CREATE TEMPORARY VIEW {case.title} AS {case.step.text}")
    spark.udf.register("twice", twice, "int")
    spark.udf.register("spread", spread)
    yield spark
    for case in views:
        spark.catalog.dropTempView(case.title)
    for name in ("twice", "spread"):
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")


@pytest.fixture
def clean(session):
    """The session; tables that the case creates are dropped at its end."""
    before = {t.name for t in session.catalog.listTables()}
    yield session
    for table in session.catalog.listTables():
        if table.name not in before:
            kind = "TABLE" if table.tableType in ("MANAGED", "EXTERNAL") else "VIEW"
            session.sql(f"DROP {kind} IF EXISTS `{table.name}`")
    if format_of_tables() == "iceberg":  # Spark does not list the tables of this catalog
        for row in unhooked(session)("SHOW TABLES").collect():
            if not row.isTemporary and not row.tableName.startswith("rows_in_"):
                session.sql(f"DROP TABLE `{row.tableName}`")


_NO_COLUMN = re.compile("interval|void")  # types of which tables have no columns


class TablesOfFiles:
    """Files with the rows of VALUES and of the views, which are written when a statement first reads them."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.written = spark, folder, {}
        views = "|".join(re.escape(case.title) for case in cases("relations.txt"))
        self.input = re.compile(rf"(?<=\bFROM )({_VALUES}|(?:{views})\b)(?=\s+MATCH_RECOGNIZE\b)", re.DOTALL)
        self.of_window = re.compile(rf"(?<=\bFROM )(?:{views})\b(?=\s+(?:WINDOW|GROUP|WHERE|QUALIFY)\b|\s*\)|$)", re.M)
        self.of_emit = re.compile(rf"(?<=\bTABLE )(?:{views})\b(?=,| PARTITION BY\b|\))")

    def step(self, step: Step, kind: str) -> Step:
        """The step, in which each input that is VALUES or a view is a table of files."""

        def table(found: re.Match) -> str:
            return self.table(found[0], kind)

        text = self.of_window.sub(table, self.input.sub(table, step.text))
        return replace(step, text=self.of_emit.sub(lambda found: f"(SELECT * FROM {table(found)})", text))

    def table(self, rows: str, kind: str) -> str:
        key = kind, rows
        if key not in self.written:
            frame = self.spark.sql(f"SELECT * FROM {rows}")
            if any(_NO_COLUMN.search(field.dataType.simpleString()) for field in frame.schema):
                return rows
            try:
                read = self.of_catalog(frame, kind) if kind == "iceberg" else self.of_files(frame, kind)
            except Exception as error:  # Iceberg's, of Java, about a type that its tables do not have
                assert kind == "iceberg" and "support" in str(error), error
                return rows
            self.written[key] = read + ("" if rows.startswith("VALUES") else f" AS {rows}")
        return self.written[key]

    def of_files(self, frame, kind: str) -> str:
        path = self.folder / f"{kind}{len(self.written)}"
        frame.write.format(kind).save(str(path))
        return f"{kind}.`{path}`"

    def of_catalog(self, frame, kind: str) -> str:
        """A table in the current catalog, with the types of the rows, some of which Iceberg stores as others."""
        name = f"rows_in_{kind}_{len(self.written)}"
        frame.writeTo(name).using(kind).tableProperty("format-version", "3").create()  # which has VARIANT
        stored = self.spark.table(name).schema
        if [field.dataType for field in stored] == [field.dataType for field in frame.schema]:
            return name
        columns = (f"CAST(`{f.name}` AS {in_sql(f.dataType.simpleString())}) AS `{f.name}`" for f in frame.schema)
        return f"(SELECT {', '.join(columns)} FROM {name})"


@pytest.fixture(scope="package")
def tables_of_files(session, tmp_path_factory):
    tables = TablesOfFiles(session, tmp_path_factory.mktemp("files"))
    yield tables
    for row in session.sql("SHOW TABLES LIKE 'rows_in_*'").collect():
        session.sql(f"DROP TABLE {row.tableName}")
