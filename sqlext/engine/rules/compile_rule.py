"""The text of a rule → what a stream runs, without Spark: for CREATE PATTERN RULE, and for the workers of a stream.

A rule is a MATCH_RECOGNIZE without PARTITION BY and ORDER BY, which MATCH_RULES gives. It is lowered as any other
clause; what Spark would compute of each row is a tree of `expressions` instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlext.engine.rules.slot_types import slot_type
from sqlext.engine.stream import stream_checks
from sqlext.errors import BindError, ParseError, Place, SqlExtError, UnsupportedError
from sqlext.expressions.function import Settings
from sqlext.expressions.python_functions import PythonFunction
from sqlext.expressions.scalar_tree import Scalar
from sqlext.rewriter.match.check import check
from sqlext.rewriter.match.lower.input_query import InputRelation
from sqlext.rewriter.match.lower.lower_clause import lower
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.match_plan import MatchPlan
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.rules.scalar_text import ScalarTexts
from sqlext.rewriter.scan import scan
from sqlext.rewriter.text.names import quoted, tokens_of
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.text.tokens import Token, tokenize

MAX_LENGTH = 100_000  # characters of a rule, if no setting says otherwise
MAX_DEPTH = 100  # parentheses around a token
MAX_OPERATORS = 200  # between two commas: a tree as deep would use up Python's stack
_EVENTS = "SELECT * FROM `__events` "


@dataclass(frozen=True, kw_only=True)
class CompiledRule:
    """`columns`: the tree of each column that workers read, by name; `masks`: of each bit; `measures`: of each measure,
    over the names of slots."""

    clause: str
    plan: MatchPlan
    columns: Mapping[str, Scalar]
    masks: tuple[Scalar, ...]
    measures: Mapping[str, Scalar]


def compile_rule(
    clause: str,
    schema: Sequence[tuple[str, str]],
    partition: Sequence[str],
    order: Sequence[str],
    settings: Settings,
    max_length: int = MAX_LENGTH,
    functions: Mapping[str, PythonFunction] | None = None,
) -> CompiledRule:
    """`clause`: `MATCH_RECOGNIZE ( … )`; `schema`: the name and simple type of each column of the events; `partition`,
    `order`: those in MATCH_RULES, the event time first; `functions`: Python UDFs by their names in lower case.

    Raises ParseError, BindError and UnsupportedError, with their places in `clause`.

    >>> rule = compile_rule("MATCH_RECOGNIZE (MEASURES LAST(B.v) AS v PATTERN (A B) DEFINE B AS v > 10)",
    ...                     [("k", "string"), ("ts", "timestamp"), ("v", "int")], ["k"], ["ts"],
    ...                     Settings(is_ansi=True, time_zone="UTC"))
    >>> rule.measures["v"].type, rule.masks[0].function
    ('int', '>')
    """
    text, before = _query(clause, partition, order, max_length)
    try:
        return _compiled(clause, text, schema, settings, functions or {})
    except RecursionError:
        raise UnsupportedError("RULE_SIZE", "an expression of this rule is nested too deep", hint=_DIVIDE) from None
    except SqlExtError as e:
        raise e.moved(clause, -before) from None


def check_rule_text(clause: str) -> None:
    """Raise what is wrong with a rule as far as its text alone shows it, with places in `clause`.

    >>> check_rule_text("MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)")
    Traceback (most recent call last):
    sqlext.errors.BindError: SQLEXT_UNKNOWN_PATTERN_VARIABLE: DEFINE names "B", which PATTERN does not use
      1 | MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS true)
        |                                     ^
    Hint: the pattern variables are A.
    """
    text, before = _query(clause, (), ("ts",), MAX_LENGTH)
    try:
        check(_parsed(text))
    except SqlExtError as e:
        raise e.moved(clause, -before) from None


def _query(clause: str, partition: Sequence[str], order: Sequence[str], max_length: int) -> tuple[str, int]:
    """The rule as a query over the events, and how many characters stand before the body of the clause in addition."""
    _check_size(clause, max_length)
    try:
        _check_alone(clause)
    except SqlExtError as e:
        raise e.moved(clause, -len(_EVENTS)) from None
    head = _head(partition, order)
    opening = clause.index("(") + 1
    return f"{_EVENTS}{clause[:opening]}{head}{clause[opening:]}", len(_EVENTS) + len(head)


_DIVIDE = "divide it into several rules."


def _check_size(clause: str, max_length: int) -> None:
    """Raise UnsupportedError for a text whose reading alone would hold the stream up."""
    if len(clause) > max_length:
        message = f"a rule has at most {max_length:,} characters, and this one has {len(clause):,}"
        raise UnsupportedError("RULE_SIZE", message, hint=_DIVIDE)
    deep = next((token for token in tokens_of(clause) if token.depth > MAX_DEPTH), None)
    if deep is not None:
        message = f"a rule nests parentheses at most {MAX_DEPTH} levels deep"
        raise UnsupportedError("RULE_SIZE", message, place=Place(clause, deep.start, deep.stop), hint=_DIVIDE)
    _check_operators(clause)


def _check_operators(clause: str) -> None:
    """Raise UnsupportedError for an expression with too many operators, before it is read."""
    operators = 0
    for token in tokens_of(clause):
        operators = 0 if token.text in (",", ";") or token.word in _CLAUSES else operators + _is_operator(token)
        if operators > MAX_OPERATORS:
            message = f"an expression of a rule has at most {MAX_OPERATORS} operators"
            raise UnsupportedError("RULE_SIZE", message, place=Place(clause, token.start, token.stop), hint=_DIVIDE)


def _is_operator(token: Token) -> bool:
    return token.word in ("AND", "OR", "NOT") or token.text in _SYMBOLS


_CLAUSES = frozenset({"MEASURES", "PATTERN", "DEFINE", "AS"})
_SYMBOLS = frozenset(["+", "-", "*", "/", "%", "=", "<>", "!=", "<", ">", "<=", ">=", "||", "|", "&", "^"])


def _head(partition: Sequence[str], order: Sequence[str]) -> str:
    keys = f"PARTITION BY {', '.join(map(quoted, partition))} " if partition else ""
    return f"{keys}ORDER BY {', '.join(map(quoted, order))} "


def _check_alone(clause: str) -> None:
    """Raise the errors of the text itself, and BindError for what MATCH_RULES says for all rules."""
    parsed = _parsed(_EVENTS + clause)
    for what, fragments in (
        ("PARTITION BY", [key.expression for key in parsed.partition_by]),
        ("ORDER BY", [key.expression for key in parsed.order_by]),
    ):
        if fragments:
            raise BindError("RULE_KEYS", f"a rule has no {what}", place=fragments[0].place,
                            hint=f"MATCH_RULES gives {what} for all rules: remove it here.")  # fmt: skip
    rows = parsed.rows_per_match
    if rows.is_all_rows and rows.fragment is not None:
        hint = "remove ALL ROWS PER MATCH; MEASURES array_agg(column) AS name collects rows."
        raise BindError("RULE_ROWS", "a rule returns one row for each match", place=rows.fragment.place, hint=hint)


def _parsed(text: str) -> MatchClause:
    sites = scan(text)
    if len(sites) != 1 or sites[0].whole.stop != len(text.rstrip()) or sites[0].relation.text != "`__events`":
        hint = "the text of a rule is MATCH_RECOGNIZE ( … ), and nothing behind it."
        place = Place(text, len(_EVENTS), len(text)) if len(text) > len(_EVENTS) else None
        raise ParseError("RULE_TEXT", "this is no rule", place=place, hint=hint)
    return parse_match(text, tokenize(text), sites[0])


def _compiled(
    clause: str,
    text: str,
    schema: Sequence[tuple[str, str]],
    settings: Settings,
    functions: Mapping[str, PythonFunction],
) -> CompiledRule:
    parsed = _parsed(text)
    check(parsed)
    texts = ScalarTexts(columns=dict(schema), settings=settings, functions=functions, text=text)
    relation = InputRelation(
        columns=tuple(schema),
        resolver=texts,
        is_aggregate=lambda name: False,
        python_function=lambda name: functions.get(name.lower()),
        is_ansi=settings.is_ansi,
        time_zone=settings.time_zone,
        is_streaming=True,
    )
    plan = lower(parsed, Source(text), relation)
    stream_checks.check_plan(plan)
    columns = {column.name: texts.tree(column.text) for column in plan.columns}
    slots = {slot.name: slot_type(slot, {name: tree.type for name, tree in columns.items()}) for slot in plan.slots}
    keys = {name: columns[name].type for name in plan.carried}
    results = ScalarTexts(columns={**slots, **keys}, settings=settings, functions=functions, text=text)
    measures = {shown.name: results.tree(shown.text) for shown in plan.shown[len(plan.carried) :]}
    masks = tuple(texts.tree(mask.rest) for mask in plan.masks)
    return CompiledRule(clause=clause, plan=plan, columns=columns, masks=masks, measures=measures)
