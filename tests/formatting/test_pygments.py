"""What Pygments makes of SQL with our clauses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Literal, Name, Operator, String

from sqlext.formatting.keywords import FUNCTIONS, phrases
from sqlext.formatting.pygments_lexer import SqlextLexer

from .statement_files import examples

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
TEXT = """SELECT a.first, cast(x AS date), DATE '2026-03-02' AS date FROM t MATCH_RECOGNIZE (
  MEASURES LAST(b.x) AS y AFTER  MATCH SKIP TO LAST b -- PATTERN (a)
  PATTERN (^ b (permute(c, d) | `e`)*? {- f -} !-> g UNTIL h) WITHIN INTERVAL '1' HOUR DEFINE b AS pattern.x > 1)"""
KINDS = [
    ("SELECT", Keyword), ("first", Name), ("cast", Name.Function), ("date", Keyword.Type), ("DATE", Keyword.Type),
    ("'2026-03-02'", String.Single), ("date", Name), ("MATCH_RECOGNIZE", Keyword), ("MEASURES", Keyword),
    ("LAST", Name.Builtin), ("AFTER  MATCH", Keyword), ("SKIP TO", Keyword), ("LAST", Keyword),
    ("-- PATTERN (a)", Comment.Single), ("PATTERN", Keyword), ("^", Operator), ("b", Name.Variable),
    ("permute", Keyword), ("c", Name.Variable), ("`e`", Name.Variable), ("*?", Literal), ("{-", Keyword.Reserved),
    ("f", Name.Variable), ("!->", Operator), ("UNTIL", Keyword), ("h", Name.Variable), ("WITHIN", Keyword),
    ("INTERVAL", Keyword), ("DEFINE", Keyword), ("pattern", Name),
]  # fmt: skip


def kinds(text):
    """(text, kind) of each token except whitespace."""
    return [(value, kind) for kind, value in SqlextLexer().get_tokens(text) if value.strip()]


def test_the_lexer_names_the_parts_of_a_clause():
    tokens = iter(kinds(TEXT))
    assert [wanted for wanted in KINDS if wanted not in tokens] == []  # in this order


@pytest.mark.parametrize("phrase", phrases())
def test_a_keyword_of_the_grammar_is_one_for_the_lexer(phrase):
    assert [(word, kind in Keyword) for word, kind in kinds(f"{phrase} x")[:-1]] == [(phrase, True)]


def test_a_function_of_the_clause_is_one_only_before_its_parenthesis():
    assert [kinds(f"{name}(x)")[0][1] for name in FUNCTIONS] == [Name.Builtin] * len(FUNCTIONS)
    assert kinds("prev = 1")[0][1] == Name


def test_no_example_and_no_block_of_a_document_has_a_wrong_token():
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [block for path in documents for block in BLOCK.findall(path.read_text("utf-8"))]
    wrong = [value for text in (*texts, *examples().values()) for value, kind in kinds(text) if kind is Error]
    assert len(texts) > 20
    assert wrong == []


def test_the_distribution_names_the_lexer():
    entry = '[project.entry-points."pygments.lexers"]\nsqlext = "sqlext.formatting.pygments_lexer:SqlextLexer"\n'
    assert entry in (ROOT / "pyproject.toml").read_text("utf-8")
