"""Statements about pattern rules: their syntax, what SHOW and DESCRIBE return, and several writers at once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import sqlext
from sqlext.catalog import pattern_rules, warehouse
from sqlext.catalog.pattern_rules import LogEntry, RuleError
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.rules.rule_text import rule_over
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.sessions.hook import unhooked
from tests.statements.cases import cases, message

CLAUSE = "MATCH_RECOGNIZE (MEASURES LAST(B.x) AS b PATTERN (A B+) WITHIN INTERVAL 1 HOUR DEFINE A AS x = 1, B AS x > 1)"

WRONG = [  # the statement, with » before what the error points at, and the error's first words
    ("CREATE PATTERN RULE »a.b ON t AS MATCH_RECOGNIZE (PATTERN (A))", "the name of a rule has one part"),
    ("CREATE PATTERN RULE a »FOR TABLE e AS MATCH_RECOGNIZE (PATTERN (A))", "FOR is written where ON"),
    ("CREATE PATTERN RULE a ON »'t'", "'t' is written where the name of the rules table"),
    (
        "CREATE PATTERN RULE a ON t FOR TABLE »AS MATCH_RECOGNIZE (PATTERN (A))",
        "AS is written where TABLE and the name",
    ),
    ("CREATE PATTERN RULE a ON t EFFECTIVE FROM »AS MATCH_RECOGNIZE (PATTERN (A))", "AS is written where a timestamp"),
    ("CREATE PATTERN RULE a ON t COMMENT »x AS MATCH_RECOGNIZE (PATTERN (A))", "x is written where a string"),
    ("CREATE PATTERN RULE a ON t »MATCH_RECOGNIZE (PATTERN (A))", "MATCH_RECOGNIZE is written where AS"),
    ("CREATE PATTERN RULE a ON t AS »SELECT 1", "SELECT is written where MATCH_RECOGNIZE"),
    ("CREATE PATTERN RULE a ON t AS MATCH_RECOGNIZE (PATTERN (A)) »AS m;", "AS is written after the end"),
    ("CREATE OR REPLACE PATTERN RULE »IF NOT EXISTS a ON t AS MATCH_RECOGNIZE ()", "OR REPLACE and IF NOT EXISTS"),
    ("ALTER PATTERN RULE a ON t »REMOVE", "REMOVE is written where ENABLE, DISABLE, RENAME"),
    ("ALTER PATTERN RULE a ON »t", "ENABLE, DISABLE, RENAME, COMMENT, SET or ROLLBACK must follow"),
    ("ALTER PATTERN RULE a ON t RENAME »b", "b is written where TO and a name"),
    ("ALTER PATTERN RULE a ON t SET »ENABLE", "ENABLE is written where EFFECTIVE FROM"),
    ("ALTER PATTERN RULE a ON t ROLLBACK TO VERSION »'1'", "'1' is written where the number of a version"),
    ("»ROLLBACK PATTERN RULE a ON t TO VERSION 1", "ROLLBACK is written after the rule"),
    ("»DISABLE PATTERN RULE a ON t", "DISABLE is written after the rule"),
    ("DROP PATTERN »RULE", "the name of a rule must follow"),
    ("SHOW PATTERN RULES »LIKE 'a*'", "LIKE is written where ON"),
    ("SHOW PATTERN RULES ON t LIKE »a", "a is written where a pattern"),
    ("DESC PATTERN RULE a ON t »EXTENDED", "EXTENDED is written after the end"),
    ("CREATE PATTERN RULE a ON t AS MATCH_RECOGNIZE (»'", "a string, a quoted name or a comment"),
]


@pytest.mark.parametrize(("marked", "message"), WRONG)
def test_a_wrong_statement_is_refused_with_its_place(marked, message):
    text = marked.replace("»", "")
    with pytest.raises(sqlext.ParseError) as refused:
        read_statement(text)
    assert refused.value.message.startswith(message)
    assert refused.value.place.start == marked.index("»")


def test_a_statement_may_hold_comments_and_any_case():
    text = "-- a\nCreate /* b */ or Replace pattern -- c\n rule `drop` on `a b`.t for table e comment 'x' 'y'"
    statement = read_statement(f"{text} as match_recognize ( )")
    assert (statement.rule, statement.table.parts, statement.definition.events.parts) == ("drop", ("a b", "t"), ("e",))
    assert (statement.definition.or_replace, statement.definition.comment.text) == (True, "'x' 'y'")


def test_keys_come_after_the_parenthesis_of_the_clause_not_of_a_comment():
    text = rule_over("e", "MATCH_RECOGNIZE /* (a) */ (PATTERN (A) DEFINE A AS true)", ["k"], ["ts"])
    assert text.endswith("MATCH_RECOGNIZE /* (a) */ (PARTITION BY `k` ORDER BY `ts` PATTERN (A) DEFINE A AS true)")


OTHER = ["SELECT pattern rule FROM t", "CREATE TABLE pattern (rule INT)", "SHOW PATTERN", "DROP TABLE pattern",
         "CREATE VIEW v AS SELECT 'CREATE PATTERN RULE'", ""]  # fmt: skip


@pytest.mark.parametrize("text", OTHER)
def test_other_statements_are_not_about_rules(text):
    assert not isinstance(read_statement(text), RuleStatement)


@pytest.fixture
def rules(spark):
    """The session with a table of events, and without tables that the test creates afterwards."""
    before = {t.name for t in spark.catalog.listTables()}
    spark.sql("CREATE TABLE events (k INT, ts TIMESTAMP, x INT)")
    yield spark
    for table in spark.catalog.listTables():
        if table.name not in before:
            spark.sql(f"DROP TABLE {table.name}")


@pytest.fixture
def rise(rules):
    """The session with a table of rules, in which `rise` is one."""
    rules.sql("CREATE TABLE letters (n INT)")
    rules.sql("CREATE TABLE ticks (sym STRING, t TIMESTAMP, price INT)")
    rules.sql(
        "CREATE PATTERN RULE rise ON rules FOR TABLE ticks AS MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS price > 1)"
    )
    return rules


def test_a_rule_is_altered_in_versions_and_rolled_back(rise):
    sql, clause = rise.sql, CLAUSE.replace("x", "price")
    sql(f"CREATE OR REPLACE PATTERN RULE rise ON rules AS {clause}")
    sql("ALTER PATTERN RULE Rise ON rules SET EFFECTIVE FROM :day", {"day": "2026-01-01"})
    sql("ALTER PATTERN RULE rise ON rules COMMENT 'it''s' ' new'")
    rows = pattern_rules.versions(unhooked(rise), ("rules",), "rise")
    assert [(r.version, r.comment) for r in rows] == [(1, None), (2, None), (3, None), (3, "it's new")]
    assert rows[2].effective_from == rows[3].effective_from == 1767225600000000 and rows[3].clause == clause
    described = dict(map(tuple, sql("DESCRIBE PATTERN RULE rise ON rules").collect()))
    assert described["comment"] == "it's new" and described["comment 3"].startswith("it's new by ")
    sql("ALTER PATTERN RULE rise ON rules ROLLBACK TO VERSION 1")
    sql("ALTER PATTERN RULE rise ON rules RENAME TO `go up`")
    shown = [(r.name, r.version, r.effective_from) for r in sql("SHOW PATTERN RULES ON rules LIKE 'GO*|x'").collect()]
    assert shown == [("go up", 1, None)] and sql("SHOW PATTERN RULES ON rules LIKE 'r*'").collect() == []
    renamed = pattern_rules.versions(unhooked(rise), ("rules",), "go up")[0]
    assert renamed.clause == rows[0].clause
    with pytest.raises(sqlext.BindError, match="has no version 7") as missing:
        sql("ALTER PATTERN RULE `go up` ON rules ROLLBACK TO VERSION 7")
    assert missing.value.place.excerpt().endswith(" ^")
    sql(f"CREATE PATTERN RULE rise ON rules AS {clause}")
    with pytest.raises(sqlext.BindError, match="already a rule go up"):
        sql("ALTER PATTERN RULE rise ON rules RENAME TO `go up`")


def test_errors_point_into_the_statement(rise):
    wrong = cases(Path(__file__).with_name("errors.txt"))
    messages = {case.title: message(lambda text=case.step.text: rise.sql(text)) for case in wrong}
    first_lines = {case.title: messages[case.title].split("\n")[: len(case.step.lines)] for case in wrong}
    assert first_lines == {case.title: case.step.lines for case in wrong}


def test_show_and_describe_tell_what_became_of_a_rule(rules):
    sql = unhooked(rules)
    rules.sql(f"CREATE PATTERN RULE good ON rules FOR TABLE events AS {CLAUSE}")
    rules.sql("INSERT INTO rules VALUES ('bad', 1, 'nonsense', true, NULL, 'me', NULL, TIMESTAMP '2026-01-01')")
    assert [(r.name, r.state) for r in rules.sql("SHOW PATTERN RULES ON rules").collect()] == [
        ("bad", "waiting"), ("good", "waiting"),
    ]  # fmt: skip
    entry = LogEntry(name="good", version=1, taken_up=1_000_000, stream="alerts")
    error = RuleError(name="bad", version=1, error_class="SQLEXT_RULE", message="it's wrong", time=0)
    for _ in range(2):  # each is recorded once
        pattern_rules.append_log(rules, sql, ("rules",), [entry, entry])
        pattern_rules.append_errors(rules, sql, ("rules",), [error])
    assert (pattern_rules.log(rules, sql, ("rules",)), pattern_rules.errors(rules, sql, ("rules",))) == (
        [entry], [error],
    )  # fmt: skip
    shown = rules.sql("SHOW PATTERN RULES ON rules").collect()
    assert [(r.name, r.version, r.enabled, r.state) for r in shown] == [
        ("bad", 1, True, "failed"), ("good", 1, True, "active"),
    ]  # fmt: skip
    good = dict(map(tuple, rules.sql("DESCRIBE PATTERN RULE GOOD ON rules").collect()))
    assert (good["clause"], good["program"].splitlines()[0]) == (CLAUSE, "0: label A")
    assert good["taken up 1"] == "by alerts at watermark 1970-01-01 00:00:01"
    bad = dict(map(tuple, rules.sql("DESC PATTERN RULE bad ON rules").collect()))
    assert bad["error 1"] == "SQLEXT_RULE: it's wrong"
    assert bad["program"].startswith("SQLEXT_RULE_TEXT: this is no rule")


def test_a_table_that_another_session_is_creating_is_waited_for(rules):
    folder = warehouse.table_folder(rules, unhooked(rules), ("rules",))
    folder.mkdir()
    data = folder / "part-00000.parquet"  # Delta writes files before it commits them
    data.touch()
    threading.Timer(1, data.unlink).start()
    rules.sql(f"CREATE PATTERN RULE r ON rules FOR TABLE events AS {CLAUSE}")
    assert [row.name for row in rules.table("rules").collect()] == ["r"]


def test_writers_at_once_all_land_and_versions_stay_ordered(rules):
    failures = []

    def write(numbers):
        for n in numbers:
            try:
                rules.sql(f"CREATE OR REPLACE PATTERN RULE r ON rules FOR TABLE events COMMENT '{n}' AS {CLAUSE}")
            except Exception as error:
                failures.append(error)

    writers = [threading.Thread(target=write, args=(numbers,)) for numbers in ((1, 2), (3, 4))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    rows = pattern_rules.versions(unhooked(rules), ("rules",))
    assert failures == []
    assert [row.version for row in rows] == [1, 2, 3, 4]
    comments = [row.comment for row in rows]
    assert sorted(comments) == ["1", "2", "3", "4"]
    assert comments.index("1") < comments.index("2") and comments.index("3") < comments.index("4")
    times = [row.time for row in rows]
    assert times == sorted(times)
