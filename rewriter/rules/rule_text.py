"""Checks the form and the size of the text of a rule, without its events, and writes the rule as a query."""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.errors import BindError, ParseError, Place, SqlExtError, UnsupportedError
from sqlext.operators.rules.rule_versions import MAX_LENGTH
from sqlext.rewriter.match.check import check
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.text.names import quoted, tokens_of
from sqlext.rewriter.text.nesting import MAX_NESTING
from sqlext.rewriter.text.tokens import Token, tokenize

MAX_OPERATORS = 200  # the most operators between two commas; a deeper tree would exhaust Python's stack
_EVENTS = "`__events`"
_QUERY = f"SELECT * FROM {_EVENTS} "


def check_rule_text(clause: str) -> None:
    """Raise the errors of a rule that its text alone shows, with places in `clause`.

    >>> check_rule_text("MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)")
    Traceback (most recent call last):
    sqlext.errors.BindError: SQLEXT_UNKNOWN_PATTERN_VARIABLE: DEFINE names "B", which PATTERN does not use
      1 | MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)
        |                                     ^
    Hint: the pattern variables are A.
    """
    text, before = rule_query(clause, (), ("ts",), MAX_LENGTH)
    try:
        check(parsed_rule(text))
    except SqlExtError as e:
        raise e.moved(clause, -before) from None


def rule_query(clause: str, partition: Sequence[str], order: Sequence[str], max_length: int) -> tuple[str, int]:
    """The rule as a query over the events, and the number of characters added before the body of the clause."""
    _check_size(clause, max_length)
    try:
        _check_alone(clause)
    except SqlExtError as e:
        raise e.moved(clause, -len(_QUERY)) from None
    text = rule_over(_EVENTS, clause, partition, order)
    return text, len(text) - len(clause)


def rule_over(relation: str, clause: str, partition: Sequence[str], order: Sequence[str]) -> str:
    """The rule as a query over a relation, for a reader who asks about its rows.

    >>> rule_over("events AS e", "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true)", (), ("ts",))
    'SELECT * FROM events AS e MATCH_RECOGNIZE (ORDER BY `ts` PATTERN (A) DEFINE A AS true)'
    """
    keys = f"PARTITION BY {', '.join(map(quoted, partition))} " if partition else ""
    opening = tokenize(clause)[1].stop
    head = f"{keys}ORDER BY {', '.join(map(quoted, order))} "
    return f"SELECT * FROM {relation} {clause[:opening]}{head}{clause[opening:]}"


DIVIDE_HINT = "divide it into several rules."


def _check_size(clause: str, max_length: int) -> None:
    """Raise UnsupportedError for a text that takes so long to read that the stream would wait for it."""
    if len(clause) > max_length:
        message = f"a rule has at most {max_length:,} characters, and this one has {len(clause):,}"
        raise UnsupportedError("RULE_SIZE", message, hint=DIVIDE_HINT)
    deep = next((token for token in tokens_of(clause) if token.depth > MAX_NESTING), None)
    if deep is not None:
        message = f"a rule nests parentheses at most {MAX_NESTING} levels deep"
        raise UnsupportedError("RULE_SIZE", message, place=Place(clause, deep.start, deep.stop), hint=DIVIDE_HINT)
    _check_operators(clause)


def _check_operators(clause: str) -> None:
    """Raise UnsupportedError for an expression with too many operators, before it is read."""
    operators = 0
    for token in tokens_of(clause):
        operators = 0 if token.text in (",", ";") or token.word in _CLAUSES else operators + _is_operator(token)
        if operators > MAX_OPERATORS:
            message = f"an expression of a rule has at most {MAX_OPERATORS} operators"
            raise UnsupportedError("RULE_SIZE", message, place=Place(clause, token.start, token.stop), hint=DIVIDE_HINT)


def _is_operator(token: Token) -> bool:
    return token.word in ("AND", "OR", "NOT") or token.text in _SYMBOLS


_CLAUSES = frozenset({"MEASURES", "PATTERN", "DEFINE", "AS"})
_SYMBOLS = frozenset(["+", "-", "*", "/", "%", "=", "<>", "!=", "<", ">", "<=", ">=", "||", "|", "&", "^"])


def _check_alone(clause: str) -> None:
    """Raise the errors of the text itself, and BindError for sections that MATCH_RULES gives for all rules."""
    parsed = parsed_rule(_QUERY + clause)
    for what, fragments in (
        ("PARTITION BY", [key.expression for key in parsed.partition_by]),
        ("ORDER BY", [key.expression for key in parsed.order_by]),
    ):
        if fragments:
            raise BindError(
                "RULE_KEYS",
                f"a rule has no {what}",
                place=fragments[0].place,
                hint=f"MATCH_RULES gives {what} for all rules: remove it here.",
            )
    rows = parsed.rows_per_match
    if rows.is_all_rows and rows.fragment is not None:
        hint = "remove ALL ROWS PER MATCH; MEASURES array_agg(column) AS name collects rows."
        raise BindError("RULE_ROWS", "a rule returns one row for each match", place=rows.fragment.place, hint=hint)


def parsed_rule(text: str) -> MatchClause:
    sites = scan(text)
    if len(sites) != 1 or sites[0].whole.stop != len(text.rstrip()) or sites[0].relation.text != _EVENTS:
        hint = "the text of a rule is MATCH_RECOGNIZE ( … ), and nothing after it."
        place = Place(text, len(_QUERY), len(text)) if len(text) > len(_QUERY) else None
        raise ParseError("RULE_TEXT", "this is no rule", place=place, hint=hint)
    return parse_match(text, tokenize(text), sites[0])
