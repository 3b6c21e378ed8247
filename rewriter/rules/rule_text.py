"""Reads the text of a rule and checks its form and size, without its events, and writes the rule as a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from sqlext.errors import BindError, ParseError, Place, UnsupportedError
from sqlext.operators.rules.limits import MAX_LENGTH
from sqlext.rewriter.match.check import check
from sqlext.rewriter.match.match_clause import MatchClause, OrderKey, PartitionKey
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import quoted, tokens_of
from sqlext.rewriter.text.nesting import MAX_NESTING
from sqlext.rewriter.text.tokens import Token, is_at, tokenize

MAX_OPERATORS = 200  # the most operators between two commas; a deeper tree would exhaust Python's stack
EVENTS = "`__events`"


def check_rule_text(clause: str) -> None:
    """Raise the errors of a rule that its text alone shows, with places in `clause`.

    >>> check_rule_text("MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)")
    Traceback (most recent call last):
    sqlext.errors.BindError: SQLEXT_UNKNOWN_PATTERN_VARIABLE: DEFINE names "B", which PATTERN does not use
      1 | MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)
        |                                     ^
    Hint: the pattern variables are A.
    """
    check_size(clause, MAX_LENGTH)
    check(read_rule(clause, order=("ts",)))


def read_rule(clause: str, partition: Sequence[str] = (), order: Sequence[str] = ()) -> MatchClause:
    """The parsed clause of a rule over the events, with keys by the names of columns.

    What the clause itself does not say is appended to its text, on lines of its own: the name of the events and the
    keys. So each place in the clause is a place in the text of the rule.

    >>> rule = read_rule("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true)", ["k"], ["ts"])
    >>> rule.pattern_text.start, rule.order_by[0].expression.source.splitlines()
    (26, ['MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true)', '`__events`', '`k`', '`ts`'])

    Raises ParseError and, for sections that MATCH_RULES gives for all rules, BindError.
    """
    tail = [EVENTS, *map(quoted, (*partition, *order))]
    text = "\n".join([clause, *tail])
    starts = accumulate((len(part) + 1 for part in tail[:-1]), initial=len(clause) + 1)
    relation, *keys = (Fragment(text, start, start + len(part)) for start, part in zip(starts, tail))
    sites = scan(text, relation) if _begins_rule(clause) else ()
    if len(sites) != 1 or sites[0].whole.stop != len(clause.rstrip()):
        hint = "the text of a rule is MATCH_RECOGNIZE ( … ), and nothing after it."
        raise ParseError(
            "RULE_TEXT", "this is no rule", place=Place(text, 0, len(clause)) if clause else None, hint=hint
        )
    parsed = parse_match(text, tokenize(text), sites[0])
    _check_sections(parsed)
    by, ordered = keys[: len(partition)], keys[len(partition) :]
    return replace(parsed, partition_by=tuple(map(PartitionKey, by)), order_by=tuple(map(OrderKey, ordered)))


def _begins_rule(clause: str) -> bool:
    """Raises ParseError if a string or a quoted name has no end, which the quotes of what is appended would hide."""
    return "MATCH_RECOGNIZE" in clause.upper() and is_at(tokenize(clause), 0, "MATCH_RECOGNIZE", "(")


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


def check_size(clause: str, max_length: int) -> None:
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


def _check_sections(parsed: MatchClause) -> None:
    """Raise BindError for sections that MATCH_RULES gives for all rules."""
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
