"""EXPLAIN MATCH WHY about a join on time: the partners of rows, or the nearest candidates and what refused them.

Spark pairs the rows that the condition chooses with all rows of the other relation, which it reads once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pyspark.sql import types as T

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.errors import BindError, UnsupportedError
from sqlext.rewriter.joins.join_clause import NEAREST, JoinClause
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT, TimeRange, compared, time_ranges
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Text, TextLike, join

MAX_ROWS, MAX_CANDIDATES = 20, 3
_TIMES = (T.TimestampType, T.TimestampNTZType, T.DateType)


@dataclass(frozen=True, kw_only=True)
class _Conjunct:
    """A condition on a pair of rows: its text for Spark and as it is shown, and the operands that it compares."""

    sql: Text
    shown: str
    operands: Sequence[Fragment] = ()


def explain_join(sides: JoinSides, condition: str, written: Fragment) -> str:
    """The partners of the rows of one relation that the condition chooses, or why they have none.

    Raises UnsupportedError for a join that is not explained, and BindError if no relation can compute the condition.
    """
    clause = sides.clause
    if clause.kind == "ASOF" and not _is_plain(clause):
        hint = "it explains ASOF JOIN with MATCH_CONDITION (a >= b), >, <= or <, and with ON."
        message = "WHY does not explain USING, WITHIN and NEAREST of ASOF JOIN"
        raise UnsupportedError("WHY", message, place=clause.keyword.place, hint=hint)
    side = _side(sides, condition, written)
    other = RIGHT if side == LEFT else LEFT
    if sides.rows(side, "1").isStreaming or sides.rows(other, "1").isStreaming:
        message = "WHY does not explain a stream: leave STREAM out to ask about the rows of the table"
        raise UnsupportedError("WHY", message, place=clause.keyword.place)
    conjuncts = _conjuncts(sides)
    rows = sides.queries.run(_query(sides, side, other, condition, conjuncts)).collect()
    answers = [
        "\n".join(_lines(list(group), conjuncts, side)) for _, group in groupby(rows, key=lambda row: row["__chosen"])
    ]
    if len(answers) > MAX_ROWS:
        answers[MAX_ROWS:] = [f"FOR ROW {written.text} chooses more rows: the first {MAX_ROWS} are explained."]
    return "\n\n".join(answers) or f"FOR ROW {written.text} chooses no row of the input."


def _side(sides: JoinSides, condition: str, written: Fragment) -> str:
    """The relation whose columns the condition reads; the left one if both can compute it."""
    errors = []
    for side in (LEFT, RIGHT):
        try:
            sides.rows(side, f"({condition}) AS c")
            return side
        except BindError as error:
            errors.append(error)
    raise errors[0].placed(written.place)


def _is_plain(clause: JoinClause) -> bool:
    """Whether an ASOF JOIN compares two times by one operator, and has no further rules."""
    condition = clause.match_condition
    if condition is None or condition.operator == NEAREST or condition.within is not None:
        return False
    return not clause.using


def _conjuncts(sides: JoinSides) -> list[_Conjunct]:
    """MATCH_CONDITION and the conjuncts of ON."""
    result: list[_Conjunct] = []
    condition = sides.clause.match_condition
    if condition is not None:
        sql = join("(", sides.text(condition.left), f") {condition.operator} (", sides.text(condition.right), ")")
        shown = f"{_in_line(condition.left)} {condition.operator} {_in_line(condition.right)}"
        result.append(_Conjunct(sql=sql, shown=shown, operands=(condition.left, condition.right)))
    for text in sides.clause.conjuncts:
        range_, comparison = _own_range(text), compared(text)
        operands: Sequence[Fragment] = ()
        if range_ is not None:
            operands = (range_.time, range_.lower, range_.upper)
        elif comparison is not None:
            operands = (comparison.left, comparison.right)
        result.append(_Conjunct(sql=sides.text(text), shown=_in_line(text), operands=operands))
    return result


def _own_range(text: Fragment) -> TimeRange | None:
    """The range of a conjunct `t BETWEEN lower AND upper`."""
    return next(time_ranges([text]), None)


def _query(sides: JoinSides, side: str, other: str, condition: str, conjuncts: Sequence[_Conjunct]) -> Text:
    """For each chosen row its partners, or the candidates that the fewest conjuncts refuse, the nearest ones first."""
    own, rest = ((f"struct({_columns(sides, s)})") for s in (side, other))
    columns: list[TextLike] = [f"to_json({own}) AS __chosen", f"to_json({rest}) AS __candidate"]
    columns += [join("coalesce((", c.sql, f"), FALSE) AS __c{i}") for i, c in enumerate(conjuncts)]
    columns += [join("((", c.sql, f") IS NULL) AS __n{i}") for i, c in enumerate(conjuncts)]
    columns += [
        join("CAST((", sides.text(operand), f") AS STRING) AS __o{i}_{k}")
        for i, c in enumerate(conjuncts)
        for k, operand in enumerate(c.operands)
    ]
    columns.append(join(_distance(sides), " AS __distance"))
    refused = " + ".join(f"IF(__c{i}, 0, 1)" for i in range(len(conjuncts)))
    pairs = join(sides.relations[side], " LEFT JOIN ", sides.relations[other], f" ON TRUE WHERE ({condition})")
    ranked = (
        f"SELECT *, {refused} AS __refused, "
        f"row_number() OVER (PARTITION BY __chosen ORDER BY {refused}, __distance NULLS LAST, __candidate) AS __rank, "
        f"count_if({refused} = 0) OVER (PARTITION BY __chosen) AS __partners"
    )
    pairs = join("(SELECT ", join(*columns, separator=", "), " FROM ", pairs, ")")
    return join(
        sides.prefix,
        "SELECT * FROM (",
        ranked,
        " FROM ",
        pairs,
        ") ",
        f"WHERE __rank <= {MAX_CANDIDATES} ORDER BY __chosen, __rank LIMIT {(MAX_ROWS + 1) * MAX_CANDIDATES}",
    )


def _columns(sides: JoinSides, side: str) -> str:
    """The columns of a relation, qualified by its name."""
    relation = sides.clause.left if side == LEFT else sides.clause.right
    place = sides.tree.relation_at(relation)
    name = sides.tree.name_of(place) if place else None
    if name is None:
        raise UnsupportedError(
            "WHY",
            "WHY explains a join of two relations, each with a name",
            place=relation.place,
            hint="name the relation in WITH, or give it an alias.",
        )
    return f"{name.text}.*"


def _distance(sides: JoinSides) -> TextLike:
    """How far the time is from its range, in microseconds or in its own unit; NULL where it is not known."""
    condition = sides.clause.match_condition
    if condition is not None:
        return join("abs(", _number(sides, condition.left), " - ", _number(sides, condition.right), ")")
    range_ = next(time_ranges(sides.clause.conjuncts), None)
    if range_ is None:
        return "NULL"
    time, lower, upper = (_number(sides, part) for part in (range_.time, range_.lower, range_.upper))
    return join("greatest(", lower, " - ", time, ", ", time, " - ", upper, ", 0)")


def _number(sides: JoinSides, part: Fragment) -> TextLike:
    field = sides.field_on(LEFT, part) or sides.field_on(RIGHT, part)
    text = join("(", sides.text(part), ")")
    if field is not None and isinstance(field.dataType, _TIMES):
        return join("unix_micros(CAST(", text, " AS TIMESTAMP))")
    return text


def _lines(rows: Sequence[T.Row], conjuncts: Sequence[_Conjunct], side: str) -> Iterator[str]:
    """The text about a chosen row and its candidates, the nearest first."""
    first = rows[0]
    yield f"Row of the {side} relation: {first['__chosen']}"
    if first["__partners"]:
        number = first["__partners"]
        yield f"It has {number} partner{'s' * (number != 1)}, the nearest first:"
        yield from (row["__candidate"] for row in rows if row["__refused"] == 0)
        return
    if len(rows) == 1 and first["__candidate"] == "{}":
        yield "It has no partner: the other relation has no row."
        return
    yield "It has no partner. The nearest candidates:"
    for row in rows:
        reasons = "; ".join(_refusal(row, i, conjunct) for i, conjunct in enumerate(conjuncts) if not row[f"__c{i}"])
        yield f"{row['__candidate']}: {reasons}."


def _refusal(row: T.Row, i: int, conjunct: _Conjunct) -> str:
    """Why a conjunct refuses a pair, with the values that it compares."""
    what = "is NULL" if row[f"__n{i}"] else "is false"
    values = [f"{_in_line(operand)} = {row[f'__o{i}_{k}']}" for k, operand in enumerate(conjunct.operands)]
    shown = f" ({', '.join(values).replace('= None', '= NULL')})" if values else ""
    return f"{conjunct.shown} {what}{shown}"


def _in_line(fragment: Fragment) -> str:
    return " ".join(fragment.text.split())
