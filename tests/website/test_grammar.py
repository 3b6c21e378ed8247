"""The grammar of sqlext/formatting/grammar.ebnf and the parsers of the package are one language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sqlext.errors import ParseError, SqlExtError
from sqlext.formatting.check_syntax import check_text, has_ours
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.heads.materialized_views import CreateMaterializedView, MaterializedViewCommand
from sqlext.rewriter.heads.source_table import SourceTable
from sqlext.rewriter.heads.stream_heads import DescribeKey, StreamCommand
from sqlext.rewriter.heads.stream_target import StreamTarget
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.match_windows.parse_window import WindowClause
from sqlext.rewriter.rules.rule_statements import RuleStatement
from sqlext.rewriter.rules.rules_clause import RulesClause
from sqlext.rewriter.statements.explain_statement import ExplainStatement
from sqlext.rewriter.statements.kinds import ClauseSite
from sqlext.rewriter.statements.parse_statement import parse_statement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.statements.scan import is_extended
from sqlext.rewriter.statements.sql_file import file_statements
from tests.formatting.statement_files import examples, statements
from tests.sampling import seeded
from website.grammar import Generator, Rule, grammar, is_sentence

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What Spark reads, where a sentence has it.
SAMPLES = {
    "aggregate": ("count(*)", "sum(v + 1)", "max(v) FILTER (WHERE v > 0)"),
    "bound": ("INTERVAL '1' HOUR", "INTERVAL 10 MINUTES", "60"),
    "comparison": ("l.t >= r.t",),
    "condition": ("v > 0", "A.v > PREV(v) AND (v < 1 OR v IN (2, 3))", "a.k = b.k"),
    "expression": ("v", "A.v + 1", "count(*)", "coalesce(v, 0)"),
    "interval": ("INTERVAL '1' HOUR", "INTERVAL 10 MINUTES"),
    "literal": ("'1'", "5", "true"),
    "name": ("n", "m", "`a b`"),
    "number": ("1", "2", "3"),
    "query": ("SELECT k FROM t", "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true)"),
    "range": ("r.t BETWEEN l.t AND l.t + INTERVAL 1 DAY",),
    "relation": ("l", "db.r", "(SELECT * FROM t) AS s"),
    "string": ("'a'", "'a text'"),
    "table": ("t", "db.t"),
    "timestamp": ("TIMESTAMP '2026-03-02 10:00:00'",),
    "type": ("INT", "DECIMAL(10, 2)"),
    "variable": ("a", "b", "`c`"),
}
# Each rule that nothing but a statement uses, and a statement around its sentences.
STATEMENTS = {
    "match_recognize": "SELECT * FROM {}",
    "pattern_window": "SELECT x OVER w FROM t WINDOW w AS {}",
    "asof_join": "SELECT * FROM {}",
    "interval_join": "SELECT * FROM {}",
    "window_call": "SELECT k FROM {} GROUP BY k EMIT",
    "emit": "SELECT k FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY k {}",
    "stream": "SELECT * FROM {} MATCH_RECOGNIZE (ORDER BY n PATTERN (A) DEFINE A AS true)",
    "create_streaming_table": "{}",
    "create_kafka_table": "{}",
    "insert_upsert": "{}",
    "stream_command": "{}",
    "create_materialized_view": "{}",
    "materialized_view_command": "{}",
    "match_rules": "SELECT * FROM {}",
    "create_rule": "{}",
    "alter_rule": "{}",
    "rule_command": "{}",
    "explain_match": "{}",
}
SENTENCES = 60  # of each rule: the generator takes the alternatives in turn
# Parse errors about what no grammar without names or counts can say.
BEYOND = {
    "DUPLICATE_ARGUMENT", "DUPLICATE_TRIGGER", "INVALID_QUANTIFIER", "MISSING_ARGUMENT", "UNKNOWN_ARGUMENT",
    "UPSERT_KEY",
}  # fmt: skip


def parts(node):
    yield node
    for item in getattr(node, "items", ()) or [item for item in [getattr(node, "item", None)] if item is not None]:
        yield from parts(item)


def names_in(rule):
    return {part.name for part in parts(grammar().rules[rule]) if isinstance(part, Rule)}


def test_every_rule_is_reached_from_a_statement_and_every_other_name_has_samples():
    reached, new = set(), set(STATEMENTS)
    while new:
        reached |= new
        new = {name for rule in new & set(grammar().rules) for name in names_in(rule)} - reached
    assert set(grammar().rules) - reached == set()
    assert reached - set(grammar().rules) == set(SAMPLES)


def test_the_grammar_names_sections_that_exist():
    for section in set(grammar().sections.values()):
        page, _, anchor = section.partition("#")
        headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}, section


def wrong(statement):
    """The errors of the text of a statement that its grammar should have made impossible."""
    errors = [error for error in check_text(statement) if isinstance(error, ParseError)]
    twice = ("this is written twice", "two aggregates have the name")
    errors = [error for error in errors if not any(words in str(error) for words in twice)]  # in any order
    return [str(error) for error in errors if error.error_class.removeprefix("SQLEXT_") not in BEYOND]


@pytest.mark.random
@pytest.mark.parametrize("rule", STATEMENTS)
def test_every_sentence_of_the_grammar_is_parsed(rule):
    generator = Generator(SAMPLES, seeded(0))
    texts = [STATEMENTS[rule].format(generator.sentence(rule)) for _ in range(SENTENCES)]
    assert [(text, errors) for text in texts if (errors := wrong(text))][:3] == []
    assert len(set(texts)) > 1
    # a call that names neither a time nor its rows as the grammar does is one of a function of the user's
    assert [text for text in texts if not has_ours(text) and (rule != "window_call" or "DESCRIPTOR" in text)] == []


def texts_of(statement):
    """(rule, text) for each part of a statement that is a sentence of a rule."""
    read = read_statement(statement)
    if isinstance(read, RuleStatement):
        first = statement.split()[0].upper()
        yield {"CREATE": "create_rule", "ALTER": "alter_rule"}.get(first, "rule_command"), statement
    elif isinstance(read, (StreamCommand, DescribeKey)):
        yield "stream_command", statement
    elif isinstance(read, SourceTable):
        yield "create_kafka_table", statement
    elif isinstance(read, MaterializedViewCommand):
        yield "materialized_view_command", statement
    elif isinstance(read, ExplainStatement):
        yield "explain_match", statement
    elif is_extended(statement):
        if isinstance(read, StreamTarget):
            yield "insert_upsert" if read.is_insert else "create_streaming_table", statement
        if isinstance(read, CreateMaterializedView):
            yield "create_materialized_view", statement
        for part in parse_statement(statement).parts:
            yield from PARTS[type(part)](part) if type(part) in PARTS else ()


def windows(part):
    """The parentheses of each window with a row pattern."""
    texts = [clause.whole.text for clause in part.clauses]
    return [("pattern_window", text[text.index("(") :]) for text in texts]


PARTS = {
    ClauseSite: lambda part: [("match_recognize", part.whole.text)],
    JoinClause: lambda part: [(f"{part.kind.lower()}_join", part.whole.text)],
    WindowTvf: lambda part: [("window_call", part.whole.text)],
    EmitClause: lambda part: [("emit", part.whole.text[part.whole.text.upper().rindex("EMIT") :])],
    RulesClause: lambda part: [("match_rules", part.whole.text)],
    WindowClause: windows,
}


def documented_statements():
    """The statements of the blocks of all documents and of sql_examples/, without templates of dbt."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = [block for path in documents for block in BLOCK.findall(path.read_text("utf-8")) if "{{" not in block]
    for text in (*blocks, *examples().values()):
        yield from (statement.text.strip().rstrip(";") for statement in file_statements(text))


def test_every_example_is_a_sentence_of_the_grammar():
    texts = [pair for statement in documented_statements() for pair in texts_of(statement)]
    assert [(rule, text) for rule, text in texts if not is_sentence(text, rule)] == []
    assert {rule for rule, _ in texts} >= set(STATEMENTS) - {"stream", "rule_command"}


@pytest.mark.slow
def test_every_statement_of_the_tests_that_is_parsed_is_a_sentence_of_the_grammar():
    wrong = []
    for name, statement in statements():
        try:
            texts = list(texts_of(statement.strip().rstrip(";")))
        except SqlExtError:
            continue
        wrong += [(name, text) for rule, text in texts if not is_sentence(text, rule)]
    assert wrong == []
