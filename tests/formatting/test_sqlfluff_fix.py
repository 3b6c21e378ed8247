"""`sqlfluff fix` with all rules leaves each of our clauses, and the names of what it reads, as they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.plugin.host import get_plugin_manager

from sqlext.formatting import sqlfluff_templater
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.match_windows.parse_window import WindowClause
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.statements.idle_sources import IdleSource
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import ParsedStatement, parse_statement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.statements.scan import is_extended
from sqlext.rewriter.statements.sql_file import file_statements
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import tokenize

from .statement_files import examples

NOT_PARSED = {"sql_examples/03_sessions.sql"}  # sqlfluff does not know that Spark allows a column named user
MATCH = "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(x.n) AS Last_N, 'a' AS b PATTERN (A) DEFINE A AS x.n<>1)"
WINDOW = (
    "w AS (ORDER BY ts MEASURES LAST(n) AS m ROWS BETWEEN CURRENT ROW AND 5 FOLLOWING PATTERN (A) DEFINE A AS n > 0)"
)
STATEMENTS = [
    "SELECT * FROM t INTERVAL JOIN p ON t.k = p.k AND p.t BETWEEN t.t AND t.u",
    "SELECT t.a FROM t ASOF JOIN p MATCH_CONDITION (t.t >= p.t)",
    "SELECT p.a, t.b FROM t ASOF JOIN p USING (k, ts)",
    *(
        f"SELECT x.a FROM long_name_a AS x {kind} INTERVAL JOIN long_name_b y ON y.k = x.k AND (y.t) >= x.t"
        for kind in ("INNER", "LEFT", "LEFT OUTER", "right", "FULL", "FULL OUTER", "SEMI", "LEFT SEMI", "LEFT ANTI")
    ),
    "SELECT x.a FROM a AS x LEFT ASOF JOIN b AS y MATCH_CONDITION (x.t >= y.t) ON y.k=x.k and y.a<>x.b ORDER BY 1",
    "SELECT a.v FROM a ASOF JOIN (SELECT max(c) AS t, k FROM b GROUP BY k) y MATCH_CONDITION (a.t >= y.t) ON y.k=a.k",
    "SELECT a.v FROM a JOIN c ON c.x = a.x ASOF LEFT JOIN b MATCH_CONDITION (a.t > b.t) JOIN d ON d.x=a.x WHERE a.z",
    f"SELECT last_n FROM t AS x {MATCH}",
    f"SELECT max(last_n) as y, b, case when last_n > 1 then true else false end FROM t AS x {MATCH} AS m group by b",
    f"SELECT * FROM (SELECT n, ts FROM u as v) AS x {MATCH} AS m JOIN k ON k.n = m.last_n",
    f"INSERT INTO o SELECT * FROM t x {MATCH} m WHERE Last_N IN (SELECT n FROM t x {MATCH} m)",
    f"SELECT upper(k), m OVER w AS m, a, sum(n) OVER w FROM t AS x WINDOW {WINDOW} ORDER BY k, a desc",
    "SELECT m OVER w AS m FROM t AS x WINDOW w AS (ORDER BY ts MEASURES LAST(x.n) AS m ROWS BETWEEN CURRENT ROW AND 5 "
    "FOLLOWING PATTERN (A) DEFINE A AS x.n > 0)",
    "SELECT k, window_start, COUNT(*) as C FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR) AS s GROUP BY k, "
    "window_start EMIT AFTER WATERMARK;",
    "SELECT k FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL 1 DAY) GROUP BY k EMIT EARLY EVERY "
    "INTERVAL 1 MINUTE ORDER BY k",
    "CREATE OR REFRESH STREAMING TABLE o AS SELECT s.a FROM STREAM s WATERMARK ts DELAY OF INTERVAL 1 DAY",
    "EXPLAIN MATCH SELECT e.A FROM e MATCH_RULES (ORDER BY ts RULES r) AS m",
    "SELECT a FROM STREAM t WATERMARK ts DELAY OF INTERVAL 1 HOUR IDLE AFTER INTERVAL 1 DAY AS x "
    "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS a PATTERN (A) DEFINE A AS x.n > 0)",
]


@pytest.fixture(scope="module")
def linter() -> Linter:
    manager = get_plugin_manager()
    if not any(plugin is sqlfluff_templater for plugin in manager.get_plugins()):
        manager.register(sqlfluff_templater, "sqlext")
    return Linter(config=FluffConfig(overrides={"dialect": "sparksql", "templater": "sqlext", "rules": "all"}))


def words(fragment: Fragment | None) -> list[str]:
    return [token.word or token.text for token in tokenize(fragment.text)] if fragment else []


def before(relation: Fragment) -> list[str]:
    found = words(relation)
    return [] if "(" in found or "JOIN" in found else [word for word in found if word != "AS"]


def parts_of(statement: ParsedStatement) -> Iterator[object]:
    """Each clause of ours, with the relation before it unless that is a subquery. AS before an alias is no change."""
    for clause in statement.of(ClauseSite):
        yield "clause", before(clause.site.relation)
        yield words(Fragment(clause.site.whole.source, clause.site.keyword.start, clause.site.whole.stop))
    for join in statement.of(JoinClause):
        yield join.kind, join.join_type, before(join.left)
        yield words(Fragment(join.whole.source, join.words.start, join.whole.stop))
    for windows in statement.of(WindowClause):
        yield [before(statement.tree.fragment(r.start, r.stop)) for r in statement.tree.relations]
        yield "windows", [words(clause.whole) for clause in windows.clauses]
    for call in statement.of(WindowTvf):
        yield "call", words(call.whole)
    for emit in statement.of(EmitClause):
        yield "EMIT", words(Fragment(emit.whole.source, emit.keyword.start, emit.whole.stop))
    for rules in statement.of(RulesClause):
        yield "rules", words(Fragment(rules.whole.source, rules.keyword.start, rules.whole.stop))
    for source in statement.of(IdleSource):
        yield "idle", words(source.clause)


def summary(text: str) -> list[object]:
    """What the statements of a file have of ours."""
    result: list[object] = []
    for statement in file_statements(text):
        if isinstance(read_statement(statement.text), RuleStatement):
            result.append(words(statement))
        elif is_extended(statement.text):
            result.append(list(parts_of(parse_statement(statement.text))))
        else:
            result.append("plain")
    return result


@pytest.mark.random
@pytest.mark.parametrize("text", STATEMENTS)
def test_no_rule_changes_a_clause(linter: Linter, text: str) -> None:
    written = text.replace(" FROM", "\nFROM").replace(" AND ", "\n  AND ") + "\n"
    new, _ = linter.lint_string(written, fname="a.sql", fix=True).fix_string()
    assert summary(new) == summary(written)


@pytest.mark.random(every=5)
@pytest.mark.parametrize("name", examples())
def test_no_rule_changes_the_clauses_of_an_example(linter: Linter, name: str) -> None:
    text = examples()[name]
    file = linter.lint_string(text, fname=name, fix=True)
    assert summary(file.fix_string()[0]) == summary(text)
    unread = [v.desc() for v in file.get_violations() if v.rule_code() in ("PRS", "LXR", "TMP")]
    assert bool(unread) == (name in NOT_PARSED)
