"""What other tools make of files with our clauses: sqlfluff with our templater, editors with our TextMate grammar."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.plugin.host import get_plugin_manager

from sqlext.formatting import sqlfluff_templater
from tests.sampling import sample

from .statement_files import examples
from .textmate import scopes

ROOT = Path(__file__).parents[2]
GRAMMAR = json.loads((ROOT / "editors" / "sqlext.tmLanguage.json").read_text("utf-8"))

STATEMENTS = {
    "SELECT a FROM STREAM t WATERMARK ts DELAY OF INTERVAL 1 HOUR AS u MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS a)":
        "SELECT a FROM t",
    "SELECT a FROM b LEFT ASOF JOIN c MATCH_CONDITION (b.t >= c.t) ON b.k = c.k":
        "SELECT a FROM b LEFT JOIN c ON b.t >= c.t AND b.k = c.k",
    "SELECT m OVER w AS m, max(a) OVER w FROM t WINDOW w AS (ORDER BY a MEASURES LAST(a) AS m ROWS BETWEEN CURRENT "
    "ROW AND 5 FOLLOWING PATTERN (A) DEFINE A AS a > 0)":
        "SELECT m AS m, max(a) OVER w FROM t WINDOW w AS (ORDER BY a)",
    "SELECT k FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL 1 DAY) AS s GROUP BY k EMIT AFTER "
    "WATERMARK ORDER BY k":
        "SELECT k FROM t AS s GROUP BY k ORDER BY k",
    "CREATE OR REFRESH STREAMING TABLE t UPSERT KEY (a) AS SELECT a FROM STREAM s":
        "CREATE TABLE t AS SELECT a FROM s",
    "-- Databricks notebook source\nSELECT 1\n\n-- COMMAND ----------\n\nSELECT 2":
        "-- Databricks notebook source\nSELECT 1;\n\n-- COMMAND ----------\n\nSELECT 2",
    "EXPLAIN MATCH SELECT a FROM e MATCH_RULES (ORDER BY ts RULES r) AS m":
        "EXPLAIN SELECT a FROM e AS m",
    "EXPLAIN MATCH WHY SELECT a FROM e MATCH_RULES (ORDER BY ts RULES r) AS m FOR RULE x FOR ROW a = 1":
        "EXPLAIN SELECT a FROM e AS m",
    "EXPLAIN MATCH ANALYZE FORMAT JSON LIMIT 3 PARTITIONS SELECT a FROM e MATCH_RULES (ORDER BY ts RULES r) AS m":
        "EXPLAIN SELECT a FROM e AS m",
}  # fmt: skip


@pytest.fixture(scope="module")
def linter():
    """sqlfluff with our plugin, which an installed distribution brings by its entry point."""
    manager = get_plugin_manager()
    if not any(plugin is sqlfluff_templater for plugin in manager.get_plugins()):
        manager.register(sqlfluff_templater, "sqlext")
    return Linter(config=FluffConfig(overrides={"dialect": "sparksql", "templater": "sqlext"}))


def test_the_distribution_names_the_plugin():
    entry = f'[project.entry-points.sqlfluff]\nsqlext = "{sqlfluff_templater.__name__}"\n'
    assert entry in (ROOT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("text", STATEMENTS)
def test_sqlfluff_parses_the_statement_without_our_clauses(linter, text):
    rendered = linter.render_string(text + "\n", fname="a.sql", config=linter.config, encoding="utf-8")
    assert str(rendered.templated_variants[0]) == STATEMENTS[text] + "\n"
    parsed = linter.lint_string(text + "\n")
    assert [v.desc() for v in parsed.get_violations() if v.rule_code() in ("PRS", "LXR", "TMP")] == []


def test_sqlfluff_finds_and_mends_what_stands_around_a_clause(linter):
    clause = "MATCH_RECOGNIZE (ORDER BY n  PATTERN (A  B) DEFINE B AS n>0)"
    file = linter.lint_string(f"SELECT a,b from t {clause} AS m\n", fname="a.sql", fix=True)
    assert {"CP01", "LT01"} <= {violation.rule_code() for violation in file.get_violations()}
    fixed, _ = file.fix_string()
    assert f"FROM t {clause} AS m" in fixed


def test_sqlfluff_reports_a_wrong_clause_at_its_place(linter):
    text = "SELECT a\nFROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)\n"
    (violation,) = linter.lint_string(text, fname="a.sql").get_violations()
    assert (violation.rule_code(), violation.line_no, violation.line_pos) == ("TMP", 2, 44)
    assert "SQLEXT_UNKNOWN_PATTERN_VARIABLE" in violation.desc()


HIGHLIGHTED = [
    ("MATCH_RECOGNIZE", "keyword.other.sqlext"), ("MEASURES", "keyword.other.sqlext"),
    ("CLASSIFIER", "support.function.row-pattern.sqlext"), ("'PATTERN (A)'", "string.quoted.single.sql"),
    ("ALL ROWS PER MATCH", "keyword.other.sqlext"), ("AFTER MATCH SKIP TO LAST", "keyword.other.sqlext"),
    ("-- PATTERN (B)", "comment.line.double-dash.sql"), ("PATTERN", "keyword.other.sqlext"),
    ("(", "punctuation.section.parens.begin.sqlext"), ("^", "keyword.control.anchor.sqlext"),
    ("A", "variable.other.row-pattern.sqlext"), ("{2,}?", "keyword.operator.quantifier.sqlext"),
    ("B", "variable.other.row-pattern.sqlext"), ("|", "keyword.operator.alternation.sqlext"),
    ("C", "variable.other.row-pattern.sqlext"), ("+", "keyword.operator.quantifier.sqlext"),
    ("{-", "keyword.operator.exclusion.sqlext"), ("D", "variable.other.row-pattern.sqlext"),
    ("-}", "keyword.operator.exclusion.sqlext"), ("!->", "keyword.operator.contiguity.sqlext"),
    ("E", "variable.other.row-pattern.sqlext"), (")", "punctuation.section.parens.end.sqlext"),
    ("WITHIN", "keyword.other.sqlext"), ("DEFINE", "keyword.other.sqlext"),
    ("PREV", "support.function.row-pattern.sqlext"),
]  # fmt: skip


def test_the_grammar_names_the_parts_of_a_clause():
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n MEASURES CLASSIFIER() AS c, 'PATTERN (A)' AS p
      ALL ROWS PER MATCH AFTER MATCH SKIP TO LAST A -- PATTERN (B)
      PATTERN (^ A{2,}? (B | C)+ {- D -} !-> E) WITHIN INTERVAL 1 HOUR DEFINE A AS n > PREV(n))"""
    assert scopes(GRAMMAR, text) == HIGHLIGHTED


@pytest.mark.parametrize("name", sample(list(examples()), 5))
def test_the_grammar_finds_the_clauses_of_every_example(name):
    text = "\n".join(line for line in examples()[name].split("\n") if not line.startswith("--"))
    words = [word.upper() for word, scope in scopes(GRAMMAR, text) if scope == "keyword.other.sqlext"]
    for word in ("MATCH_RECOGNIZE", "MATCH_RULES", "MATCH_CONDITION", "STREAMING TABLE", "PATTERN RULE"):
        assert words.count(word) == text.upper().count(word)
    patterns = [word for word, scope in scopes(GRAMMAR, text) if scope == "punctuation.section.parens.end.sqlext"]
    assert len(patterns) == text.count("PATTERN (")
