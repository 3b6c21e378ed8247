"""EXPLAIN MATCH WHY about a join on time: the partners of rows, or the nearest candidates and what refused them.

Spark pairs the rows that the condition chooses with all rows of the other relation, which it reads once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pyspark.errors import PySparkException
from pyspark.sql import types as T

from sqlext.engine.joins.aggregate_ranges import tied_fields
from sqlext.engine.joins.bind_asof import bind_asof
from sqlext.engine.joins.bind_interval import bind_range, bound_text, range_between
from sqlext.engine.joins.join_operands import operand_of
from sqlext.engine.joins.join_shape import (
    DATE,
    LOCAL,
    TEXT,
    TIMESTAMP,
    JoinShape,
    is_reversed,
    number,
    reach_of,
    shape_of,
)
from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.reports.counts import count, short
from sqlext.engine.reports.row_json import row_json
from sqlext.engine.reports.shown_values import interval, shown_text, typed_text
from sqlext.engine.why.chosen_rows import MAX_ROWS, more_rows, no_row, no_stream
from sqlext.engine.why.failed_conjuncts import refused
from sqlext.engine.why.row_condition import ConditionOver, RowCondition, likeliest
from sqlext.errors import BindError
from sqlext.rewriter.joins.asof_sql import AsofJoin, is_backward
from sqlext.rewriter.joins.join_clause import NEAREST
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT, between, compared, other_side
from sqlext.rewriter.scalars.expression import compared_parts
from sqlext.rewriter.scalars.row_filter import evaluated
from sqlext.rewriter.text.fragments import Fragment, in_line
from sqlext.rewriter.text.lexemes import string_literal
from sqlext.rewriter.text.names import quoted, unquoted
from sqlext.rewriter.text.splice import Text, TextLike, join, sql
from sqlext.spark.quiet_probes import quiet_probes

MAX_CANDIDATES = 3
_LONGEST_ROW = 400  # characters of a row


@dataclass(frozen=True, kw_only=True)
class _Conjunct:
    """A condition on a pair of rows: its text for Spark and as it is shown, and the operands that it compares, each as
    shown and for Spark.

    Of a condition that bounds a time, `far`: how far the pair is from satisfying it (negative if it does); `is_below`:
    whether the time is below its bounds; `wider`: the condition that pairs satisfy which are no farther away, the parts
    of its text between which the distance is written: the first one where the time is below the bounds, else the second
    one; `touching`: the condition that pairs satisfy whose distance is 0, if it is another one. Any other condition can
    only be left out: `without` says what then is, and is empty if the join needs the condition. `exchanged`: whether
    the condition holds with bounds that are in the wrong order exchanged, and that condition.
    """

    sql: Text
    shown: str
    without: str = ""
    operands: Sequence[tuple[str, Text]] = ()
    far: Text | None = None
    is_below: TextLike = "FALSE"
    wider: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    touching: str = ""
    exchanged: tuple[TextLike, str] = ("FALSE", "")


def explain_join(sides: JoinSides, condition: RowCondition) -> str:
    """The partners of the rows of one relation that the condition chooses, or why they have none.

    Raises UnsupportedError for a join that is not explained, and BindError if no relation can compute the condition.
    """
    clause = sides.clause
    chosen = _chosen(sides, condition)
    if any(sides.rows(of, "1").isStreaming for of in (LEFT, RIGHT)):
        raise no_stream(clause.keyword.place)
    asof = bind_asof(sides).asof if clause.kind == "ASOF" else None
    pairing = _Pairing(sides, chosen.by, asof, shape_of(sides))

    def read() -> list[T.Row]:
        return chosen.condition.run(lambda: sides.queries.run(pairing.query(condition.sql.unplaced)).collect())

    try:
        with quiet_probes():
            rows = read()
    except PySparkException:  # a condition that cannot be computed on pairs which those before it refuse
        pairing.in_turn = True
        rows = read()
    if len({(row["__chosen"], row["__candidate"]) for row in rows}) < len(rows):  # equal rows have one answer
        in_turn, pairing = pairing.in_turn, _Pairing(sides, chosen.by, asof, pairing.shape, is_distinct=True)
        pairing.in_turn = in_turn
        rows = read()
    partners = _partners_of(pairing, rows)
    groups = groupby(rows, key=lambda row: row["__chosen"])
    answers = ["\n".join(pairing.lines(list(group), partners)) for _, group in groups]
    if len(answers) > MAX_ROWS:
        answers[MAX_ROWS:] = [more_rows(condition.written.text)]
    return "\n\n".join(answers) or _no_row(pairing, condition.written.text)


def _partners_of(pairing: _Pairing, rows: Sequence[T.Row]) -> Mapping[str, T.Row]:
    """The pair of each left row with its partner, of the left rows that have one of `rows` as a candidate in an ASOF
    JOIN. It is looked for among all right rows, if `rows` are not pairs with all of them."""
    if pairing.asof is None:
        return {}
    candidates = [row for row in rows if not row["__refused"] and row["__rank"] <= MAX_CANDIDATES]
    if pairing.by in (LEFT, _USING):
        return {row["__chosen"]: row for row in candidates if row["__rank"] == 1}
    left_rows = dict.fromkeys(row["__chosen" if pairing.side == LEFT else "__candidate"] for row in candidates)
    if not left_rows:
        return {}
    every = _Pairing(pairing.sides, LEFT, pairing.asof, pairing.shape)
    every.in_turn = pairing.in_turn
    texts = ", ".join(map(string_literal, left_rows))
    query = every.query(join(row_json(every.operands[LEFT].row), f" IN ({texts})"), most=len(left_rows))
    return {row["__chosen"]: row for row in pairing.sides.queries.run(query).collect() if row["__rank"] == 1}


def _no_row(pairing: _Pairing, written: str) -> str:
    """The sentence if the condition chooses no row of a relation."""
    members = pairing.operands[pairing.side].members
    if not members or pairing.by == _PAIR:
        return no_row(written)
    joined = f"{', '.join(members[:-1])} and {members[-1]}"
    return f"FOR ROW {written} chooses no row of the {pairing.side} relation, which joins {joined}."


# What FOR ROW chooses besides rows of LEFT or RIGHT: left rows by columns of USING, which both relations have, and
# pairs of rows.
_USING, _PAIR = "using", "pair"


@dataclass(frozen=True)
class _Chosen:
    """What the condition chooses, and the condition over it."""

    by: str
    condition: ConditionOver


def _chosen(sides: JoinSides, condition: RowCondition) -> _Chosen:
    """What the condition chooses: rows of the relation whose columns it reads, of the left one if it reads no column.

    Raises BindError.
    """
    found, errors = {}, []
    for side in (LEFT, RIGHT):
        try:
            found[side] = condition.over(sides.queries, sides.prefix, sides.relations[side])
        except BindError as error:
            errors.append(error)
    if len(found) == 1:
        return _Chosen(*next(iter(found.items())))
    both: list[TextLike] = [sides.relations[LEFT], " JOIN ", sides.relations[RIGHT]]
    try:
        pair = condition.over(sides.queries, sides.prefix, join(*both, " ON TRUE"))
    except BindError:
        if not found:
            raise likeliest(errors).with_(hint="the condition chooses rows of one of the two relations.") from None
        if not sides.clause.using:  # a column of both relations is ambiguous
            raise
        using = ", ".join(name.fragment.text for name in sides.clause.using)
        condition.over(sides.queries, sides.prefix, join(*both, f" USING ({using})"))
        return _Chosen(_USING, found[LEFT])
    return _Chosen(LEFT, found[LEFT]) if found else _Chosen(_PAIR, pair)


class _Pairing:
    """The rows of the relation `side`, each with the rows of the other one. `by`: what the condition chooses;
    `is_distinct`: of equal rows of `side` one is paired, if it is one relation; `in_turn`: each condition is computed
    only on pairs on which those before it hold."""

    in_turn = False

    def __init__(
        self, sides: JoinSides, by: str, asof: AsofJoin | None, shape: JoinShape, *, is_distinct: bool = False
    ):
        self.sides, self.by, self.asof, self.shape, self.kind = sides, by, asof, shape, shape.kind
        self.side = RIGHT if by == RIGHT else LEFT
        self.is_reversed = shape.is_reversed if asof is None else "FALSE"
        aggregate = sides.clause.aggregate
        self.has_prevailing = aggregate is not None and aggregate.is_prevailing
        self.shows_prevailing = self.has_prevailing and by == LEFT
        self.operands = {of: operand_of(sides, of) for of in (LEFT, RIGHT)}
        if is_distinct:
            self.operands[self.side] = self.operands[self.side].distinct
        self.before = dict[str, TextLike]()  # columns that the left relation computes before the right one is there
        self.conjuncts = list(self._of_interval() if asof is None else self._of_asof(asof))

    # the conditions

    def _of_interval(self) -> Iterator[_Conjunct]:
        range_ = range_between(self.sides)
        for text in self.sides.clause.conjuncts:
            bounds = range_ is not None and text in range_.conjuncts
            yield self._bound(text) if bounds else self._plain(text)

    def _of_asof(self, asof: AsofJoin) -> Iterator[_Conjunct]:
        """MATCH_CONDITION, WITHIN, the keys of USING, the conjuncts of ON."""
        clause = self.sides.clause
        using, condition = [name.fragment.text for name in clause.using], clause.match_condition
        times = self._times(asof)
        (left_name, left), (right_name, right) = times
        far, reach = self._distance(left, right), reach_of(asof, self.kind)
        if asof.operator != NEAREST:
            shown, touching = f"{left_name} {asof.operator} {right_name}", ""
            if condition is not None:
                shown = f"{condition.left.in_line} {condition.operator} {condition.right.in_line}"
                or_equal = f"{condition.left.in_line} {condition.operator}= {condition.right.in_line}"
                touching = f"MATCH_CONDITION ({or_equal})" if condition.operator in (">", "<") else ""
            has_nearest = far is not None and condition is not None and not asof.conditions.bounds
            nearest = f"MATCH_CONDITION (NEAREST ({left_name}, {right_name}))"
            yield _Conjunct(
                sql=sql("({left}) {operator} ({right})", left=left, operator=asof.operator, right=right),
                shown=shown,
                operands=times,
                far=far,
                wider=((nearest,), (nearest,)) if has_nearest else None,
                touching=touching,
            )
        elif reach is None:  # else WITHIN is NULL if a time is
            yield _Conjunct(
                sql=sql("(({left}) = ({right})) IS NOT NULL OR NULL", left=left, right=right),
                shown=f"NEAREST ({left_name}, {right_name})",
                operands=times,
            )
        if reach is not None and far is not None:
            assert asof.distance is not None and asof.distance.limit is not None
            yield _Conjunct(
                sql=join(far, " <= ", reach),
                shown=f"WITHIN {in_line(asof.distance.limit.written)}",
                operands=times,
                far=far,
                wider=(("WITHIN ", ""), ("WITHIN ", "")),
            )
        for name in using if condition is not None else using[:-1]:
            both = [self._of_using(side, name) for side in (LEFT, RIGHT)]
            has_names = all(self.operands[side].name for side in (LEFT, RIGHT))
            yield _Conjunct(
                sql=join(both[0][1], " = ", both[1][1]),
                shown=f"{both[0][0]} = {both[1][0]}" if has_names else f"USING ({name})",
                without="" if condition is None else f"{name} in USING",
                operands=both,
            )
        for text in clause.conjuncts:
            yield self._bound(text) if self._is_bound(text, asof) else self._plain(text)

    def _is_bound(self, text: Fragment, asof: AsofJoin) -> bool:
        """Whether a conjunct of ON bounds the time of an ASOF JOIN."""
        comparison = compared(text)
        bounds = {str(bound.left) for bound in asof.conditions.bounds}
        sides = () if comparison is None else (comparison.left, comparison.right)
        return any(str(self.sides.text(part)) in bounds for part in sides)

    def _times(self, asof: AsofJoin) -> list[tuple[str, Text]]:
        """The times of the left and of the right relation, each as it is shown and for Spark."""
        if asof.using_time:
            return [self._of_using(side, asof.using_time) for side in (LEFT, RIGHT)]
        return [(in_line(time), time) for time in (asof.left_time, asof.right_time)]

    def _of_using(self, side: str, name: str) -> tuple[str, Text]:
        """A column that both relations have, of one of them, as it is shown and for Spark."""
        operand = self.operands[side]
        shown = f"{operand.name}.{name}" if operand.name else f"{name} of the {side} relation"
        if operand.qualifier is not None:
            return shown, join(f"{operand.qualifier}.{name}")
        column = f"__using_{unquoted(name)}"
        self.before[column] = name
        return shown, join(f"__before.{quoted(column)}")

    def _plain(self, text: Fragment) -> _Conjunct:
        operands = self._operands(*compared_parts(text))
        return _Conjunct(sql=self.sides.text(text), shown=text.in_line, without=text.in_line, operands=operands)

    def _operands(self, *parts: Fragment) -> list[tuple[str, Text]]:
        return [(part.in_line, self.sides.text(part)) for part in parts]

    def _bound(self, text: Fragment) -> _Conjunct:
        """A condition that bounds a time, which a larger distance widens."""
        if self.kind == TEXT:
            return self._plain(text)
        whole, operands = between(text), self._operands(*compared_parts(text))
        if whole is not None:
            ends = self._operands(whole.time, whole.lower, whole.upper)
            time, low, high = (number(self.kind, end) for _, end in ends)
            below = sql("try_subtract({low}, {time})", low=low, time=time)
            above = sql("try_subtract({time}, {high})", time=time, high=high)
            shown = [name for name, _ in ends]
            wider = (
                (f"{shown[0]} BETWEEN {shown[1]} - ", f" AND {shown[2]}"),
                (f"{shown[0]} BETWEEN {shown[1]} AND {shown[2]} + ", ""),
            )
            template = "{is_swapped} AND ({time}) BETWEEN ({high}) AND ({low})"
            is_between = sql(template, is_swapped=is_reversed(low, high), time=time, high=high, low=low)
            exchanged = (is_between, f"{shown[0]} BETWEEN {shown[2]} AND {shown[1]}")
            return _Conjunct(
                sql=self.sides.text(text),
                shown=text.in_line,
                operands=operands,
                wider=wider,
                exchanged=exchanged,
                far=sql("greatest({below}, {above})", below=below, above=above),
                is_below=sql("({below}) > 0", below=below),
            )
        comparison = compared(text)
        assert comparison is not None
        ends = self._operands(comparison.left, comparison.right)
        sign, operator = ("+", "<=") if comparison.operator in ("<", "<=") else ("-", ">=")
        wide = f"{ends[0][0]} {operator} {ends[1][0]} {sign} ", ""
        a, b = (number(self.kind, end) for _, end in ends)
        far = sql("try_subtract({both})", both=[a, b] if sign == "+" else [b, a])
        return _Conjunct(sql=self.sides.text(text), shown=text.in_line, operands=operands, far=far, wider=(wide, wide))

    def _distance(self, a: Text, b: Text) -> Text | None:
        if self.kind == TEXT:
            return None
        return sql("abs(try_subtract({a}, {b}))", a=number(self.kind, a), b=number(self.kind, b))

    # the query

    def query(self, condition: Text, most: int = MAX_ROWS + 1) -> Text:
        """For each chosen row its partners, or the candidates that the fewest conjuncts refuse, the nearest ones first;
        and of those that one conjunct alone refuses the nearest one. `most`: how many chosen rows are read."""
        other = other_side(self.side)
        own, rest = (self.operands[of].row for of in (self.side, other))
        columns: list[TextLike] = [join(row_json(own), " AS __chosen"), join(row_json(rest), " AS __candidate")]
        columns.append(f"{self.operands[other].is_missing} AS __is_missing")
        for i, c in enumerate(self.conjuncts):
            holds = self._guarded(i, c.sql)
            columns.append(sql("coalesce(({holds}), FALSE) AS __c{i}", holds=holds, i=i))
            columns.append(sql("(({holds}) IS NULL) AS __n{i}", holds=holds, i=i))
            values = (typed_text(self._guarded(i, operand)) for _, operand in c.operands)
            columns += (sql("{value} AS __o{i}_{k}", value=value, i=i, k=k) for k, value in enumerate(values))
            columns.append(sql("{far} AS __f{i}", far=self._guarded(i, c.far or "NULL"), i=i))
            columns.append(sql("coalesce({below}, FALSE) AS __b{i}", below=self._guarded(i, c.is_below), i=i))
            columns.append(sql("coalesce({swapped}, FALSE) AS __x{i}", swapped=self._guarded(i, c.exchanged[0]), i=i))
        columns.append(sql("coalesce({x}, FALSE) AS __is_reversed", x=self.is_reversed))
        columns += self._nearest()
        refused = " + ".join(f"IF(__c{i}, 0, 1)" for i in range(len(self.conjuncts))) or "0"
        if self.shows_prevailing:
            columns += self._before_range()
            refused = f"IF(__prevails, 0, {refused})"
        mask = "concat(" + ", ".join(["''", *(f"IF(__c{i}, 1, 0)" for i in range(len(self.conjuncts)))]) + ")"
        chosen = join("(", condition, ")")
        if self.by == _USING:
            self.before["__is_chosen"], chosen = condition, evaluated("__before.__is_chosen")
        elif self.by in (LEFT, RIGHT):
            chosen = self.sides.filter(self.by, chosen)
        pairs = sql(
            "SELECT {columns} FROM {all}", columns=columns, all=join(*self._relations(), " ON TRUE WHERE ", chosen)
        )
        if self.shows_prevailing:
            last = "row_number() OVER (PARTITION BY __chosen, __is_before ORDER BY __before_order DESC) = 1"
            pairs = sql("SELECT *, __is_before AND {last} AS __prevails FROM ({pairs})", last=last, pairs=pairs)
        tie = "__tie DESC" if self.asof is not None and self.asof.takes_last else "__tie"
        order = f"__far NULLS LAST, __is_after, __time{self._direction}, {tie}, __candidate"
        ranked = sql(
            "SELECT *, {refused} AS __refused, "
            "row_number() OVER (PARTITION BY __chosen ORDER BY {refused}, {order}) AS __rank, "
            "row_number() OVER (PARTITION BY __chosen, {mask} ORDER BY {order}) AS __rank_of_mask, "
            "count_if({refused} = 0) OVER (PARTITION BY __chosen) AS __partners FROM ({pairs})",
            refused=refused, order=order, mask=mask, pairs=pairs,
        )  # fmt: skip
        shown = MAX_CANDIDATES + len(self.conjuncts)
        return sql(
            "{prefix}SELECT * FROM ({ranked}) WHERE __rank <= {most} OR (__refused = 1 AND __rank_of_mask = 1) "
            "ORDER BY __chosen, __rank LIMIT {limit}",
            prefix=self.sides.prefix, ranked=ranked, most=MAX_CANDIDATES, limit=most * shown,
        )  # fmt: skip

    def _guarded(self, i: int, value: TextLike) -> TextLike:
        """SQL for a value of conjunct i, computed only where it can be."""
        before = [join("(", conjunct.sql, ")") for conjunct in self.conjuncts[:i]]
        if not (self.in_turn and before):
            return value
        return sql("CASE WHEN {before} THEN {value} END", before=join(*before, separator=" AND "), value=value)

    def _nearest(self) -> Iterator[TextLike]:
        """How far the time is from its range, and what decides between two that are equally far: in ASOF JOIN the
        earlier row, then the smaller one."""
        if self.asof is None:
            far = [c.far for c in self.conjuncts if c.far is not None]
            template = "IF(coalesce({far}) IS NOT NULL, greatest(0, {far}), NULL) AS __far"  # greatest ignores NULL
            yield sql(template, far=far) if far else "NULL AS __far"
            yield from ("FALSE AS __is_after", "NULL AS __time", "NULL AS __tie")
            return
        left, right = (time for _, time in self._times(self.asof))
        yield join(self._distance(left, right) or "NULL", " AS __far")
        yield sql("(({right}) > ({left})) AS __is_after", right=right, left=left)
        yield sql("({time}) AS __time", time=right if self.side == LEFT else left)
        yield f"{self._tie(self.asof.ties)} AS __tie"
        for side, time in ((LEFT, left), (RIGHT, right)):
            yield join(typed_text(time), f" AS __{side}_time")

    def _before_range(self) -> Iterator[TextLike]:
        """Whether a right row comes before the range of the chosen left row, for which all other conditions hold, and
        what decides which of these prevails."""
        clause = self.sides.clause.aggregate
        assert clause is not None
        range_, _ = bind_range(self.sides, "UTC")  # which no zone changes
        others = [i for i, text in enumerate(self.sides.clause.conjuncts) if text not in range_.conjuncts]
        time, lower, upper = (
            self.sides.text(range_.time),
            *(bound_text(self.sides, b) for b in (range_.lower, range_.upper)),
        )
        before = [sql("({time}) < ({lower}) AND ({upper}) IS NOT NULL", time=time, lower=lower, upper=upper)]
        before += [join("(", self._guarded(i, self.conjuncts[i].sql), ")") for i in others]
        yield sql("coalesce({before}, FALSE) AS __is_before", before=join(*before, separator=" AND "))
        qualifier = self.operands[RIGHT].qualifier
        ties = [f"{qualifier}.{quoted(field.name)}" for field in tied_fields(self.sides, clause)]
        yield sql("struct({order}) AS __before_order", order=[time, *ties])

    @property
    def _direction(self) -> str:
        """The direction in which times without a distance come nearer."""
        is_descending = self.asof is not None and is_backward(self.asof.operator) == (self.side == LEFT)
        return " DESC" if is_descending else ""

    def _tie(self, ties: tuple[str, ...] | None) -> str:
        """SQL for what decides between right rows of one time: these columns, or all of them."""
        qualifier, row = self.operands[RIGHT].qualifier, self.operands[RIGHT].row
        if ties is None or qualifier is None:
            return row
        return f"struct({', '.join(f'{qualifier}.{tie}' for tie in ties) or 'NULL'})"

    def _relations(self) -> Iterator[TextLike]:
        """The FROM of the pairs, up to the right relation."""
        left, right = (self.operands[of].relation for of in (LEFT, RIGHT))
        yield left
        if self.before:
            columns = [sql("({x}) AS {name}", x=text, name=quoted(name)) for name, text in self.before.items()]
            yield sql(" CROSS JOIN LATERAL (SELECT {columns}) AS __before", columns=columns)
        yield from (f" {self.side.upper()} JOIN ", right)

    # the text

    def lines(self, rows: Sequence[T.Row], partners: Mapping[str, T.Row]) -> Iterator[str]:
        """The text about a chosen row and its candidates, the nearest first. `partners`: see `_partners_of`."""
        first, shown = rows[0], [row for row in rows if row["__rank"] <= MAX_CANDIDATES]
        yield f"Row of the {self.side} relation: {_shown_row(first['__chosen'])}"
        if self.by == _PAIR:
            yield "Of the right relation only the rows that FOR ROW chooses are candidates."
        if self.has_prevailing and not self.shows_prevailing:
            yield "FOR ROW about a row of the left relation says which right row prevails for it."
        if first["__partners"]:
            candidates = [row for row in shown if not row["__refused"]]
            yield from self._partners(first["__partners"], candidates, partners)
            if first["__partners"] > len(candidates):
                yield f"and {first['__partners'] - len(candidates):,} more."
            return
        if len(rows) == 1 and first["__is_missing"]:
            yield "It has no partner: the other relation has no row."
            return
        is_reversed = all(row["__is_reversed"] for row in shown)
        why = ": the range ends before it begins, so no time can be in it" if is_reversed else ""
        yield f"It has no partner{why}. The nearest candidates:"
        for row in shown:
            refused = [i for i in range(len(self.conjuncts)) if not row[f"__c{i}"]]
            refusals = (self._refusal(row, i) for i in (refused[:1] if self.in_turn else refused))
            yield f"{_shown_row(row['__candidate'])}: {'; '.join(refusals)}."
        changes: dict[tuple[int, bool], list[str]] = {}  # of several rows that the same one helps, the nearest
        for row in rows:
            if row["__refused"] == 1:
                i = next(i for i in range(len(self.conjuncts)) if not row[f"__c{i}"])
                kind = i, row[f"__b{i}"]
                changes[kind] = changes.get(kind) or list(self._relaxation(row, i))
        yield from (line for lines in changes.values() for line in lines)

    def _partners(self, number: int, candidates: Sequence[T.Row], partners: Mapping[str, T.Row]) -> Iterator[str]:
        if self.asof is None:
            yield "It has 1 partner:" if number == 1 else f"It has {number:,} partners, the nearest first:"
            for row in candidates:
                added = (
                    ": the last row before the range, which prevails"
                    if self.shows_prevailing and row["__prevails"]
                    else ""
                )
                yield _shown_row(row["__candidate"]) + added
            return
        if self.by == _PAIR:
            yield f"All conditions hold for {count(number, 'candidate')}; its partner is the nearest of all right rows:"
        elif self.side == LEFT and number == 1:
            yield "Its partner is the only candidate:"
        elif self.side == LEFT:
            yield f"Its partner is the nearest of {number:,} candidates, which comes first:"
        else:
            yield f"It is a candidate of {count(number, 'left row')}; each of them takes its nearest right row:"
        for row in candidates:
            left, right = (row["__chosen" if side == self.side else "__candidate"] for side in (LEFT, RIGHT))
            text, partner = f"{_shown_row(row['__candidate'])}: {self._apart(row)}", partners.get(left)
            if partner is not None:  # None where the row has changed between the two queries
                text += f"; {'its partner' if partner['__candidate'] == right else self._farther(row, partner)}"
            yield f"{text}."

    def _apart(self, row: T.Row) -> str:
        """The times of a pair, and how far apart they are."""
        assert self.asof is not None
        named = zip(self._times(self.asof), (LEFT, RIGHT))
        texts = [f"{name} = {shown_text(*row[f'__{side}_time'])}" for (name, _), side in named]
        if row["__far"] is not None:
            texts.append(f"{self._shown_far(row['__far'])} apart")
        return ", ".join(texts)

    def _farther(self, row: T.Row, partner: T.Row) -> str:
        """Why the partner of a left row comes before another candidate, whose pair is `row`."""
        assert self.asof is not None
        _, (name, _) = self._times(self.asof)
        time = f"{name} = {shown_text(*partner['__right_time'])}"
        taken = f"the partner {_shown_row(partner['__candidate'])} ({time})"
        by = None if row["__far"] is None else row["__far"] - partner["__far"]
        if by:
            return f"{taken} is nearer by {self._shown_far(by)}"
        if row["__right_time"] != partner["__right_time"]:
            return f"{taken} is {'as near, and earlier' if by == 0 else 'nearer'}"
        return f"{taken} has the same time, and its columns come first in their order"

    def _refusal(self, row: T.Row, i: int) -> str:
        """The reason why a conjunct refuses a pair, with the values that it compares."""
        conjunct = self.conjuncts[i]
        values = [row[f"__o{i}_{k}"] for k in range(len(conjunct.operands))]
        return refused(conjunct.shown, (name for name, _ in conjunct.operands), values, is_null=row[f"__n{i}"])

    def _relaxation(self, row: T.Row, i: int) -> Iterator[str]:
        """The change of one condition that makes a candidate a partner."""
        conjunct, far, pair = self.conjuncts[i], row[f"__f{i}"], _shown_row(row["__candidate"])
        if row[f"__x{i}"]:
            yield f"Would match with: {conjunct.exchanged[1]}  -- in place of {conjunct.shown}: {pair}"
        elif far == 0 and conjunct.touching and not row[f"__n{i}"]:
            yield f"Would match with: {conjunct.touching}  -- in place of {conjunct.shown}: {pair}"
        elif conjunct.wider is not None and far is not None and not row[f"__n{i}"]:
            wider = self._shown_far(far).join(conjunct.wider[0 if row[f"__b{i}"] else 1])
            yield f"Would match with: {wider}  -- in place of {conjunct.shown}: {pair}"
        elif conjunct.without:
            yield f"Would match without: {conjunct.without}  -- {pair}"

    def _shown_far(self, far: float) -> str:
        if self.kind in (TIMESTAMP, LOCAL):
            return interval(int(far))
        return f"INTERVAL '{far}' DAY" if self.kind == DATE else str(far)


def _shown_row(row: str) -> str:
    """The JSON of a row, or its beginning if it is long."""
    return short(row, _LONGEST_ROW)
