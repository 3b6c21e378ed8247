"""What a statement is, by its first words; and each type of statement has one way to run."""

from __future__ import annotations

from importlib import import_module

import pytest

from sqlext.engine.statements.runners import RUNNERS
from sqlext.errors import ParseError
from sqlext.rewriter.heads.statement import OwnStatement, Statement
from sqlext.rewriter.statements.read_statement import read_statement

TYPES = [
    ("begin SELECT 1; END", "Script"),
    ("BEGINNING", "OtherStatement"),
    ("Create /* a */ Or -- b\n Replace pattern rule r ON t AS MATCH_RECOGNIZE ()", "RuleStatement"),
    ("SHOW PATTERN RULES ON t", "RuleStatement"),
    ("SHOW PATTERNS", "OtherStatement"),
    ("CREATE OR REFRESH STREAMING TABLE t AS SELECT 1", "StreamTarget"),
    ("CREATE TABLE streaming AS SELECT 1", "OtherStatement"),
    ("CREATE OR REPLACE TABLE k USING KAFKA OPTIONS ('kafka.bootstrap.servers' 'h:1', subscribe 't')", "SourceTable"),
    ("CREATE TABLE kafka (using INT, kafka INT) USING delta -- not USING kafka", "OtherStatement"),
    ("DESC STREAMING TABLE t", "StreamCommand"),
    ("DESCRIBE STREAMING TABLE t FOR KEY (k = 1)", "DescribeKey"),
    ("CREATE MATERIALIZED VIEW IF NOT EXISTS v AS SELECT 1", "CreateMaterializedView"),
    ("EXPLAIN REFRESH MATERIALIZED VIEW v", "MaterializedViewCommand"),
    ("SHOW MATERIALIZED VIEWS", "MaterializedViewCommand"),
    ("DESC MATERIALIZED VIEW v", "MaterializedViewCommand"),
    ("REFRESH materialized", "OtherStatement"),
    ("DESCRIBE streaming", "ViewStatement"),
    ("EXPLAIN MATCH SELECT 1", "ExplainStatement"),
    ("EXPLAIN MATCH;", "OtherStatement"),
    ("EXPLAIN SELECT 1", "OtherStatement"),
    ("EXPLAIN MATCH WHY SELECT 1 FOR ROW true", "WhyStatement"),
    ("EXPLAIN MATCH ANALYZE SELECT 1", "AnalyzeStatement"),
    ("EXECUTE IMMEDIATE 'SELECT 1'", "ExecuteImmediate"),
    ("INSERT INTO t VALUES (1)", "InsertInto"),
    ("INSERT OVERWRITE t VALUES (1)", "OtherStatement"),
    ("CREATE OR REPLACE GLOBAL TEMPORARY VIEW v AS SELECT 1", "Head"),
    ("CREATE TEMP FUNCTION f() RETURN 1", "Head"),
    ("ALTER TABLE t RENAME TO u", "Head"),
    ("ALTER TABLE t ADD COLUMN c INT", "OtherStatement"),
    ("DROP VIEW 'v", "OtherStatement"),
    ("ALTER VIEW v AS SELECT 1", "ViewStatement"),
    ("CACHE LAZY TABLE v AS SELECT 1", "CachedQuery"),
    ("CACHE TABLE v", "ViewStatement"),
    ("SHOW TABLE EXTENDED LIKE 'a'", "Listing"),
    ("SHOW FUNCTIONS", "OtherStatement"),
    ("", "OtherStatement"),
]


@pytest.mark.parametrize(("text", "name"), TYPES)
def test_the_first_words_say_what_a_statement_is(text, name):
    assert type(read_statement(f"\n-- a comment\n{text}")).__name__ == name


@pytest.mark.parametrize("text", ["STOP STREAMING TABLE 't", "EXPLAIN MATCH 't", "DROP PATTERN RULE 't"])
def test_an_open_string_after_words_of_ours_is_our_error(text):
    with pytest.raises(ParseError, match="UNCLOSED_TEXT"):
        read_statement(text)


def types_of(base):
    return {base}.union(*map(types_of, base.__subclasses__()))


def test_each_type_of_statement_has_one_runner_that_exists():
    assert set(RUNNERS) == types_of(Statement) - {Statement, OwnStatement}
    assert {name for _, name in TYPES} == {statement.__name__ for statement in RUNNERS}
    for runner in RUNNERS.values():
        module, name = runner.ours.split(":")
        assert callable(getattr(import_module(f"sqlext.engine.{module}"), name))


def test_a_statement_that_only_we_know_is_never_left_to_spark():
    assert [t for t, runner in RUNNERS.items() if issubclass(t, OwnStatement) and runner.plain is not None] == []
