"""EXPLAIN MATCH of a statement, which shows how it runs; with WHY, why rows are, or are not, in a match; with ANALYZE,
where the rows of a query are lost."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.rewriter.heads.statement import OwnStatement
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.nesting import check_depth
from sqlext.rewriter.text.tokens import is_at

_ANALYZE_HINT = "write EXPLAIN MATCH ANALYZE [FORMAT JSON] [LIMIT n PARTITIONS] SELECT …."
_WHY_HINT = "write EXPLAIN MATCH WHY SELECT … FOR ROW symbol = 'ACME'."
_RULE_HINT = "write … FOR RULE name FOR ROW condition; a name of several words is in backticks."


@dataclass(frozen=True, kw_only=True)
class ExplainStatement(OwnStatement):
    """EXPLAIN MATCH; `query`: the statement to explain."""

    query: Fragment


@dataclass(frozen=True, kw_only=True)
class AnalyzeStatement(ExplainStatement):
    """`EXPLAIN MATCH ANALYZE [FORMAT JSON] [LIMIT n PARTITIONS] query`. `partitions`: the most partitions to read, None
    for all."""

    is_json: bool = False
    partitions: int | None = None


@dataclass(frozen=True, kw_only=True)
class WhyStatement(ExplainStatement):
    """`EXPLAIN MATCH WHY query FOR ROW condition`. `condition` chooses rows of the input of the clauses in `query`;
    `rule`: the pattern rule that is meant, if the query reads MATCH_RULES."""

    condition: Fragment
    rule: str | None = None


def parse_explain(text: str) -> ExplainStatement | None:
    """The statement that EXPLAIN MATCH begins; None if nothing follows. Raises ParseError, UnsupportedError (TOO_DEEP).

    >>> parse_explain("EXPLAIN MATCH SELECT 1;").query.text
    'SELECT 1'
    >>> analyze = parse_explain("EXPLAIN MATCH ANALYZE FORMAT JSON LIMIT 5 PARTITIONS SELECT 1;")
    >>> analyze.query.text, analyze.is_json, analyze.partitions
    ('SELECT 1', True, 5)
    >>> why = parse_explain("EXPLAIN MATCH WHY SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) FOR ROW id = 7;")
    >>> why.query.text, why.condition.text
    ('SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A))', 'id = 7')
    """
    cursor = Cursor.of(text, error_class="UNEXPECTED_WORD")
    cursor.take("EXPLAIN", "MATCH")
    statement: ExplainStatement
    if cursor.is_at("ANALYZE"):
        statement = _analyze(cursor)
    elif cursor.is_at("EXPLAIN", "MATCH"):
        raise cursor.error("EXPLAIN MATCH is written twice", 2, 4, hint="leave one of them out.")
    elif cursor.is_at("WHY"):
        statement = _why(cursor)
    elif cursor.is_at_end:
        return None
    else:
        statement = ExplainStatement(query=cursor.fragment(2, len(cursor.tokens)))
    check_depth(text, cursor.tokens)
    return statement


def _analyze(cursor: Cursor) -> AnalyzeStatement:
    """The parts of EXPLAIN MATCH ANALYZE, of which the next word is ANALYZE. Raises ParseError: UNEXPECTED_WORD."""
    cursor.take("ANALYZE")
    cursor.hint = _ANALYZE_HINT
    is_json, partitions = _options(cursor)
    if cursor.is_at_end:
        raise cursor.expected("a query")
    query = cursor.fragment(cursor.index, len(cursor.tokens))
    return AnalyzeStatement(query=query, is_json=is_json, partitions=partitions)


def _options(cursor: Cursor) -> tuple[bool, int | None]:
    """Move past the options after ANALYZE; return whether the format is JSON, and the limit of partitions."""
    is_json, partitions = False, None
    while cursor.is_at("FORMAT") or cursor.is_at("LIMIT"):
        if cursor.take("FORMAT"):
            is_json = cursor.take("JSON")
            if not is_json and not cursor.take("TEXT"):
                raise cursor.expected("JSON or TEXT")
        else:
            cursor.expect("LIMIT", "LIMIT")
            number = "" if cursor.is_at_end else cursor.tokens[cursor.index].text
            partitions = int(number) if number.isdecimal() else 0
            if not partitions:
                raise cursor.expected("a number of partitions, at least 1,")
            cursor.index += 1
            if not cursor.take_one_of(("PARTITIONS", "PARTITION")):
                raise cursor.expected("PARTITIONS")
    return is_json, partitions


def _why(cursor: Cursor) -> WhyStatement:
    """The parts of EXPLAIN MATCH WHY, of which the next word is WHY, the third one.

    Raises ParseError: MISSING_FOR_ROW, MISSING_EXPRESSION, UNEXPECTED_WORD.
    """
    cursor.take("WHY")
    cursor.hint = _WHY_HINT
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
    return WhyStatement(
        query=cursor.fragment(3, query_end), condition=cursor.fragment(at + 2, condition_end), rule=rule
    )


def _rule(cursor: Cursor, at: int, end: int) -> str:
    """The name after FOR RULE, which is before or after FOR ROW and its condition."""
    if at + 2 == end:
        raise cursor.error("the name of a rule is missing after FOR RULE", at, at + 2, hint=_RULE_HINT)
    if at + 3 < end or not cursor.tokens[at + 2].may_name:
        raise cursor.error("FOR RULE names one rule by one word", at + 2, end, hint=_RULE_HINT)
    return unquoted(cursor.tokens[at + 2].text)
