"""What a statement is, by its first words: the table of all heads that have a meaning of their own here.

A new head is its type and reader in a module of its own, an entry of HEADS, and one of `RUNNERS` in
`engine/statements/runners.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlext.rewriter.heads import materialized_views
from sqlext.rewriter.heads.heads import parse_head
from sqlext.rewriter.heads.source_table import parse_source
from sqlext.rewriter.heads.statement import OtherStatement, OwnStatement, Script, Statement
from sqlext.rewriter.heads.stream_heads import parse_command
from sqlext.rewriter.heads.stream_target import parse_insert, parse_target
from sqlext.rewriter.heads.view_statements import parse_cache, parse_listing, parse_view_statement
from sqlext.rewriter.rules.rule_statements import parse_rule_statement
from sqlext.rewriter.statements.execute_immediate import parse_execute_immediate
from sqlext.rewriter.statements.explain_statement import parse_explain
from sqlext.rewriter.statements.scan import is_extended, might_be_extended
from sqlext.rewriter.text.tokens import GAP

# The first words, as a regular expression without case in which a space is any gap, and the reader of the statements
# that begin so; it returns None for one that is Spark's alone. The first words that fit decide.
HEADS: tuple[tuple[str, Callable[[str], Statement | None]], ...] = (
    ("BEGIN", Script),
    ("CREATE (?:OR REPLACE )?(?:PATTERN )?RULE|SHOW PATTERN RULES?", parse_rule_statement),
    ("(?:ALTER|DROP|DESC|DESCRIBE|ENABLE|DISABLE|ROLLBACK) PATTERN RULE", parse_rule_statement),
    ("CREATE (?:OR (?:REPLACE|REFRESH) )?STREAMING TABLE", parse_target),
    ("CREATE (?:OR REPLACE )?TABLE", parse_source),
    ("SHOW STREAMING TABLES|(?:DESC|DESCRIBE|STOP|REFRESH) STREAMING TABLE", parse_command),
    ("CREATE (?:OR REPLACE )?MATERIALIZED VIEW", materialized_views.parse_create),
    ("SHOW MATERIALIZED VIEWS", materialized_views.parse_command),
    ("(?:DESC|DESCRIBE|DROP|(?:EXPLAIN )?REFRESH) MATERIALIZED VIEW", materialized_views.parse_command),
    ("EXPLAIN MATCH", parse_explain),
    ("EXECUTE IMMEDIATE", parse_execute_immediate),
    ("INSERT INTO", parse_insert),
    ("CREATE (?:OR REPLACE )?(?:GLOBAL )?(?:(?:TEMP|TEMPORARY) )?(?:VIEW|FUNCTION)", parse_head),
    ("DROP (?:VIEW|TABLE)|ALTER TABLE", parse_head),
    ("CACHE", parse_cache),
    ("SHOW (?:VIEWS|TABLES|TABLE EXTENDED)", parse_listing),
    ("DESC|DESCRIBE|SHOW|UNCACHE|REFRESH|ALTER VIEW", parse_view_statement),
)
_FIRST_WORDS = re.compile(
    f"{GAP}*(?:" + "|".join(f"((?:{words})\\b)" for words, _ in HEADS).replace(" ", f"{GAP}+") + ")",
    re.IGNORECASE | re.DOTALL,
)


def read_statement(text: str) -> Statement:
    """What a text is. Raises the errors of a head that only we know, such as CREATE STREAMING TABLE.

    >>> type(read_statement("/* a */ Explain -- b\\n MATCH SELECT 1")).__name__, read_statement("SELECT 1")
    ('ExplainStatement', OtherStatement(text='SELECT 1'))
    """
    head = _FIRST_WORDS.match(text)
    statement = HEADS[head.lastindex - 1][1](text) if head is not None and head.lastindex else None
    return statement or OtherStatement(text)


def is_ours(text: str) -> bool:
    """Return True if Spark does not know a statement: its head or a part of it is ours. Raises their errors. A script
    may be one, if it has words of ours.

    >>> is_ours("STOP STREAMING TABLE t"), is_ours("SELECT 1")
    (True, False)
    """
    statement = read_statement(text)
    is_own = isinstance(statement, OwnStatement) or is_extended(text)
    return is_own or (isinstance(statement, Script) and might_be_extended(text))
