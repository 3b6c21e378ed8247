"""`sqlext check --schema`: names and types against the tables of a file of DDL, on the session of the tests."""

from __future__ import annotations

from sqlext.rewriter.tree.sql_file import file_statements
from sqlext.tools.check_command import check_on_session
from sqlext.tools.check_reports import Finding
from sqlext.tools.declared_tables import declared_tables
from sqlext.tools.sql_files import SqlFile

SCHEMA = """
CREATE TABLE checked_ticks (
  symbol STRING NOT NULL COMMENT 'a, b', ts TIMESTAMP, price DECIMAL(10, 2), tags ARRAY<STRUCT<a: INT, b: STRING>>,
  CONSTRAINT key PRIMARY KEY (symbol)
) USING delta PARTITIONED BY (symbol);
"""
STATEMENTS = """
SELECT symbol, last_price FROM checked_ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES LAST(price) AS last_price PATTERN (a b+) DEFINE b AS price < PREV(price)
);
SELECT * FROM checked_ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(pryce) AS p PATTERN (a) DEFINE a AS true);
SELECT tags[0].a, nope FROM checked_ticks;
CREATE TABLE checked_sums AS SELECT symbol, sum(price) AS total FROM checked_ticks GROUP BY symbol;
CREATE OR REPLACE TEMP VIEW checked_lows (a, b) AS SELECT symbol, price FROM checked_ticks;
SELECT total, b, c FROM checked_sums JOIN checked_lows ON symbol = a;
INSERT INTO checked_sums SELECT symbol, prise FROM checked_ticks;
CREATE STREAMING TABLE checked_alerts AS SELECT * FROM STREAM checked_ticks
  MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(price) AS p PATTERN (a) DEFINE a AS true);
SELECT p FROM checked_alerts;
CREATE PATTERN RULE low ON checked_rules FOR TABLE checked_ticks AS MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS prize < 1);
BEGIN
  SELECT nope FROM checked_ticks;
  SELECT * FROM checked_ticks t ASOF JOIN checked_lows l ON t.symbl = l.a AND t.ts >= l.b;
END;
DROP TABLE no_such_table;
SELEC 1;
"""
FINDINGS = [
    (5, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "pryce"),
    (6, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "nope"),
    (9, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "c"),
    (10, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "prise"),
    (14, "UNKNOWN_COLUMN", "prize"),
    (16, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "nope"),
    (17, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "t.symbl"),
]


def shown(finding: Finding) -> tuple[int, str, str]:
    place = finding.error.place
    return finding.ends[0], finding.error.error_class.removeprefix("SQLEXT_"), place.text[place.start : place.stop]


def test_names_and_types_are_checked_and_nothing_is_created(spark):
    (table,) = declared_tables(SCHEMA)
    spark.createDataFrame([], table.schema).createOrReplaceTempView("checked_ticks")
    tables = {table.name for table in spark.catalog.listTables()}
    try:
        findings = check_on_session(spark, [SqlFile("a.sql", STATEMENTS, None)], None)
        assert [shown(finding) for finding in findings] == FINDINGS
        assert {table.name for table in spark.catalog.listTables()} == tables
    finally:
        spark.catalog.dropTempView("checked_ticks")
    assert len(list(file_statements(STATEMENTS))) == 13
