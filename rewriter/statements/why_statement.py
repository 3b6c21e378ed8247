"""`EXPLAIN MATCH WHY query FOR ROW condition`: the statement that explains why rows are, or are not, in a match."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import ParseError, Place
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.tokens import Tokens, tokenize
from sqlext.rewriter.tree.keywords import is_at

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
    tokens = tokenize(text)
    if not is_at(tokens, 0, "EXPLAIN", "MATCH") or not is_at(tokens, 2, "WHY"):
        return None
    if is_at(tokens, 3, "FORMAT") or is_at(tokens, 3, "LIMIT"):
        place = Place(text, tokens[3].start, tokens[3].stop)
        message = f"{tokens[3].word} is an option of EXPLAIN MATCH ANALYZE, and WHY has none"
        raise ParseError("UNEXPECTED_WORD", message, place=place, hint=_HINT)
    end = len(tokens)
    while end and tokens[end - 1].text == ";":
        end -= 1
    at = next((i for i in range(end - 1, 2, -1) if tokens[i].depth == 0 and is_at(tokens, i, "FOR", "ROW")), None)
    if at is None or at == 3:
        place = Place(text, tokens[2].start, tokens[2].stop)
        message = "EXPLAIN MATCH WHY needs a query, and FOR ROW with a condition that chooses rows of its input"
        raise ParseError("MISSING_FOR_ROW", message, place=place, hint=_HINT)
    query_end, condition_end, rule = at, end, None
    rule_at = next((i for i in range(end - 1, 3, -1) if tokens[i].depth == 0 and is_at(tokens, i, "FOR", "RULE")), None)
    if rule_at is not None and rule_at < at:
        query_end, rule = rule_at, _rule(text, tokens, rule_at, at)
    elif rule_at is not None:
        condition_end, rule = rule_at, _rule(text, tokens, rule_at, end)
    if at + 2 == condition_end:
        place = Place(text, tokens[at].start, tokens[at + 1].stop)
        raise ParseError("MISSING_EXPRESSION", "a condition is missing after FOR ROW", place=place, hint=_HINT)
    query = Fragment.of_tokens(text, tokens, 3, query_end)
    return WhyStatement(query, Fragment.of_tokens(text, tokens, at + 2, condition_end), rule)


def _rule(text: str, tokens: Tokens, at: int, end: int) -> str:
    """The name after FOR RULE, which is before or after FOR ROW and its condition."""
    if at + 2 == end:
        place = Place(text, tokens[at].start, tokens[at + 1].stop)
        message = "the name of a rule is missing after FOR RULE"
        raise ParseError("UNEXPECTED_WORD", message, place=place, hint=_RULE_HINT)
    if at + 3 < end or not tokens[at + 2].may_name:
        place = Place(text, tokens[at + 2].start, tokens[end - 1].stop)
        message = "FOR RULE names one rule by one word"
        raise ParseError("UNEXPECTED_WORD", message, place=place, hint=_RULE_HINT)
    return unquoted(tokens[at + 2].text)
