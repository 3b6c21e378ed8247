"""`sqlext check --schema catalog` on the session of the tests: names and types, also of what a file itself creates."""

from __future__ import annotations

from sqlext.tools.check_reports import Finding
from sqlext.tools.check_session import check_on_session
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
  SELECT * FROM checked_ticks t ASOF JOIN checked_lows l ON t.symbl = l.a AND t.price >= l.b;
END;
DROP TABLE no_such_table;
SELEC 1;
"""
FINDINGS = [
    (8, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "pryce"),
    (9, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "nope"),
    (12, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "c"),
    (13, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "prise"),
    (17, "UNRESOLVED_COLUMN", "prize"),
    (19, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "nope"),
    (20, "UNRESOLVED_COLUMN_WITH_SUGGESTION", "t.symbl"),
]


def shown(finding: Finding) -> tuple[int, str, str]:
    place = finding.error.place
    return finding.ends[0], finding.error.error_class.removeprefix("SQLEXT_"), place.text[place.start : place.stop]


def test_names_and_types_are_checked_and_nothing_is_created(spark):
    tables = {table.name for table in spark.catalog.listTables()}
    findings = check_on_session(spark, [SqlFile("a.sql", SCHEMA.strip() + STATEMENTS, None)], None)
    assert [shown(finding) for finding in findings] == FINDINGS
    assert {table.name for table in spark.catalog.listTables()} == tables
