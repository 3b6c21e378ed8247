"""`EXPLAIN MATCH WHY query FOR ROW condition`: the statement that explains why rows are, or are not, in a match."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import is_at, tokenize, without_semicolons

_RULE_HINT = "write … FOR RULE name FOR ROW condition; a name of several words is in backticks."
_HINT = "write EXPLAIN MATCH WHY SELECT … FOR ROW symbol = 'ACME'."


@dataclass(frozen=True)
class WhyStatement:
    """`condition` chooses rows of the input of the clauses in `query`; `rule`: the pattern rule that is meant, if the
    query reads MATCH_RULES."""

    query: Fragment
    condition: Fragment
    rule: str | None = None


def parse_why(text: str) -> WhyStatement | None:
    """The parts of EXPLAIN MATCH WHY; None for all other text.

    Raises ParseError: MISSING_FOR_ROW, MISSING_EXPRESSION, UNEXPECTED_WORD.

    >>> why = parse_why("EXPLAIN MATCH WHY SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) FOR ROW id = 7;")
    >>> why.query.text, why.condition.text
    ('SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A))', 'id = 7')
    >>> parse_why("SELECT 1 FOR ROW") is None
    True
    """
    if "WHY" not in text.upper():
        return None
    cursor = Cursor(without_semicolons(tokenize(text)), text=text, error_class="UNEXPECTED_WORD", hint=_HINT)
    if not cursor.take("EXPLAIN", "MATCH", "WHY"):
        return None
    if cursor.word in ("FORMAT", "LIMIT"):
        raise cursor.error(f"{cursor.word} is an option of EXPLAIN MATCH ANALYZE, and WHY has none", 3, 4)
    tokens, end = cursor.tokens, len(cursor.tokens)
    at = next((i for i in range(end - 1, 2, -1) if tokens[i].depth == 0 and is_at(tokens, i, "FOR", "ROW")), None)
    if at is None or at == 3:
        message = "EXPLAIN MATCH WHY needs a query, and FOR ROW with a condition that chooses rows of its input"
        raise cursor.error(message, 2, 3, error_class="MISSING_FOR_ROW")
    query_end, condition_end, rule = at, end, None
    rule_at = next((i for i in range(end - 1, 3, -1) if tokens[i].depth == 0 and is_at(tokens, i, "FOR", "RULE")), None)
    if rule_at is not None and rule_at < at:
        query_end, rule = rule_at, _rule(cursor, rule_at, at)
    elif rule_at is not None:
        condition_end, rule = rule_at, _rule(cursor, rule_at, end)
    if at + 2 == condition_end:
        raise cursor.error("a condition is missing after FOR ROW", at, at + 2, error_class="MISSING_EXPRESSION")
    return WhyStatement(cursor.fragment(3, query_end), cursor.fragment(at + 2, condition_end), rule)


def _rule(cursor: Cursor, at: int, end: int) -> str:
    """The name after FOR RULE, which is before or after FOR ROW and its condition."""
    if at + 2 == end:
        raise cursor.error("the name of a rule is missing after FOR RULE", at, at + 2, hint=_RULE_HINT)
    if at + 3 < end or not cursor.tokens[at + 2].may_name:
        raise cursor.error("FOR RULE names one rule by one word", at + 2, end, hint=_RULE_HINT)
    return unquoted(cursor.tokens[at + 2].text)
