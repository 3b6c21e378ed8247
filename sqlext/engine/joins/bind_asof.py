"""ASOF JOIN: Spark determines what each condition reads; the join itself is written in Spark's own SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.queries.queries import SparkTypeResolver, with_outer_hint
from sqlext.engine.queries.session_settings import execution_settings
from sqlext.engine.shipped.data_types import CHAR_TYPE, lengths_of_chars
from sqlext.errors import BindError, Place, SqlExtError, UnsupportedError
from sqlext.expressions.calendars import DAY_US
from sqlext.expressions.coercion import string_in_comparison
from sqlext.expressions.spark_types import INTEGER_BITS, LTZ, has_plain_equality, in_sql, is_numeric, is_orderable
from sqlext.pattern.task.task import LiteralValue
from sqlext.rewriter.emit.durations import duration
from sqlext.rewriter.joins import asof_conditions
from sqlext.rewriter.joins.asof_sql import AsofJoin, Carried, Conditions, Distance, Key, Limit, Presort
from sqlext.rewriter.joins.join_clause import NEAREST, MatchCondition, check_right_time
from sqlext.rewriter.joins.join_conditions import LEFT, RIGHT
from sqlext.rewriter.scalars.char_padding import padded_lengths
from sqlext.rewriter.scalars.literals import shown_number
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import quoted, repeated, unquoted
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.sources import is_random

# Expressions of the time, by its type, that mostly grow with it: the window's sort does the rest. The cast of a time
# without a zone overflows near the ends of time.
_TIME_NUMBERS = {
    **dict.fromkeys(INTEGER_BITS, "CAST({} AS BIGINT)"),
    "date": "unix_date({})",
    "timestamp": "unix_micros({})",
    "timestamp_ntz": "CASE WHEN {0} BETWEEN TIMESTAMP_NTZ '1000-01-01' AND TIMESTAMP_NTZ '9999-12-31'"
    f" THEN unix_micros(CAST({{0}} AS {LTZ})) ELSE 0 END",
}
# Numbers whose differences are the distances of times, by the type in which Spark compares the times.
_DISTANCES = {
    "timestamp": f"unix_micros(CAST({{}} AS {LTZ}))",
    "timestamp_ntz": "CAST({} AS TIMESTAMP_NTZ)",
    "date": "unix_date({})",
}


@dataclass(frozen=True, kw_only=True)
class BoundAsof:
    """The join as `asof_sql` takes it.

    `times`: the times of the left and the right relation, as written; `keys`: the types of both sides of each key;
    `same`: the right columns, quoted, that are equal in rows with the same key and time; `is_streaming`: a relation is
    a stream.
    """

    asof: AsofJoin
    times: tuple[Fragment, Fragment]
    keys: tuple[tuple[t.DataType, t.DataType], ...]
    same: tuple[str, ...]
    is_streaming: bool


def take_condition(sides: JoinSides) -> None:
    """Take the comparison of ON that reads both relations as the MATCH_CONDITION of the join.

    Raises Spark's errors of ON, and ParseError and BindError (MATCH_CONDITION).
    """
    on = sides.clause.on
    try:
        sides.clause = asof_conditions.with_condition(sides.clause, sides.side_of)
    except SqlExtError:
        left, right = sides.relations[LEFT], sides.relations[RIGHT]
        if on is not None:  # a name that no relation has is the better reason
            sides.select("1", join(left, " JOIN ", right, " ON ", sides.text(on)))
        raise


def bind_asof(sides: JoinSides) -> BoundAsof:
    """Bind the names and the types of the join.

    Raises the BindError that a plain JOIN would raise, BindError for types that do not fit, and UnsupportedError.
    """
    return _AsofBinder(sides).bind()


class _AsofBinder:
    def __init__(self, sides: JoinSides):
        self.clause, self.tree, self.sides = sides.clause, sides.tree, sides
        self.left, self.right = sides.relations[LEFT], sides.relations[RIGHT]

    def bind(self) -> BoundAsof:
        clause, using = self.clause, self.clause.using
        self.sides.check_scalar()
        if clause.match_condition is None:
            time, using = using[-1].fragment, using[:-1]
            times = MatchCondition(left=time, operator=">=", right=time, whole=time)
            is_streaming = self._check(times)
            check_right_time(self.tree, clause)
        else:
            is_streaming = self._check(clause.match_condition)
            times = asof_conditions.match_condition(clause.match_condition, self.sides.side_of)
        if clause.using:
            names = [self.sides.text(n.fragment) for n in using]
            conditions = Conditions(keys=tuple(Key(name, name) for name in names))
        else:
            written = asof_conditions.conditions(clause, times, self.sides.side_of, self.sides.source)
            own = {side: tuple(self.sides.filter(side, c) for c in getattr(written, side)) for side in (LEFT, RIGHT)}
            conditions = replace(written, left=own[LEFT], right=own[RIGHT])
        left_time, right_time = self.sides.text(times.left), self.sides.text(times.right)
        compared = [Key(left_time, right_time), *conditions.keys]
        fields = self._fields(compared)
        casted = self._with_strings(compared, fields, is_streaming=is_streaming)
        if casted != compared:
            fields = self._fields(casted)
        types = [(left.dataType, right.dataType) for left, right in fields]
        compared = self._padded(casted, fields)
        conditions = replace(conditions, keys=tuple(compared[1:]))
        right_relation = self.tree.relation_at(clause.right)
        name = self.tree.name_of(right_relation) if right_relation else None
        right = self.sides.whole(RIGHT)
        same_keys = [key.left if a == b else Text() for key, (a, b) in zip(conditions.keys, types[1:])]
        asof = AsofJoin(
            left=self.left,
            right=self.right,
            name=name.text if name else "",
            is_left=clause.join_type == "LEFT",
            left_time=compared[0].left,
            operator=times.operator,
            right_time=compared[0].right,
            conditions=conditions,
            using=tuple(n.fragment.text for n in using),
            using_time="" if clause.match_condition else times.left.text,
            right_columns=_columns(right),
            ties=_ties(right),
            own=f"__sqlext_asof{self.sides.number}",
            carried=self._carried(right, same_keys, is_streaming=is_streaming),
            presort=_presort(*types),
            distance=self._distance(times, types[0]),
            takes_last=self.sides.queries.takes_last,
        )
        same = [pair.right for pair, (a, b) in zip(compared, types) if a == b]
        return BoundAsof(
            asof=asof,
            times=(times.left, times.right),
            keys=tuple(types[1:]),
            same=tuple(_numbers(same, asof.name, asof.right_columns)),
            is_streaming=is_streaming,
        )

    def _carried(self, right: DataFrame, keys: list[Text], *, is_streaming: bool) -> Carried | None:
        """The left relation's name and columns, or None if the relation must be read twice, or is a stream that cannot
        be carried."""
        carried = self._named_left(keys, is_streaming=is_streaming) if _columns(right) else None
        if carried is None and not is_streaming and is_random(self.tree.tokens, self.clause.left):
            raise UnsupportedError(
                "RANDOM_INPUT",
                "ASOF JOIN reads its left relation twice, and this one is random",
                place=self.clause.left.place,
                hint="write it into a table first, or name it in WITH.",
            )
        return carried

    def _named_left(self, keys: list[Text], *, is_streaming: bool) -> Carried | None:
        name = self.sides.only_name(LEFT)
        if self.clause.using or name is None:
            return None
        left = self.sides.whole(LEFT)
        # Spark pads values that it compares with these columns; what workers return are such columns again.
        if not is_streaming and any(CHAR_TYPE in f.metadata for f in left.schema.fields):
            return None
        columns = _columns(left)
        return Carried(name, columns, _numbers(keys, name, columns)) if columns else None

    def _distance(self, times: MatchCondition, types: tuple[t.DataType, t.DataType]) -> Distance | None:
        """How distances of times are measured, and the limit in WITHIN. Raises BindError (WITHIN_TYPE, ASOF_TYPES)."""
        if times.within is None and times.operator != NEAREST:
            return None
        kinds = [type_.simpleString() for type_ in types]
        kind = next((kind for kind in _DISTANCES if kind in kinds), "number")
        if not all(k in _DISTANCES if kind in _DISTANCES else is_numeric(k) for k in kinds):
            what = "NEAREST" if times.operator == NEAREST else "WITHIN"
            raise BindError(
                "ASOF_TYPES",
                f"{what} needs timestamps, dates or numbers, not {' and '.join(dict.fromkeys(kinds))}",
                place=self.clause.match_condition.whole.place if self.clause.match_condition else None,
                hint="CAST both times to one of these.",
            )
        limit = None
        if times.within is not None:
            value, micros = self._limit(times.within, kind)
            limit = Limit(value, self.sides.text(times.within), micros)
        return Distance(_DISTANCES.get(kind, "{}"), limit)

    def _limit(self, within: Fragment, kind: str) -> tuple[Text, int]:
        """The distance after WITHIN in the unit of the times, and that of timestamps in microseconds."""
        resolver = SparkTypeResolver(self.sides.queries, self.sides.prefix, self.left)
        if kind in ("number", "date"):
            text = join("(", self.sides.text(within), ")")
            (of,) = resolver.types([text])
            if is_numeric(of) or (of == "void" and kind == "number"):
                value = _constant_number(text, resolver)
                if not (isinstance(value, (int, float)) and value >= 0):
                    shown = "NULL" if value is None else shown_number(float(value))
                    raise BindError(
                        "WITHIN_TYPE",
                        f"this distance is {shown}, and it must be 0 or more",
                        place=within.place,
                        hint="write a constant number, such as WITHIN 5.",
                    )
                return text, 0
            if kind == "number":
                raise BindError(
                    "WITHIN_TYPE",
                    f"the times are numbers, and their distance is {of}",
                    place=within.place,
                    hint="write a number, such as WITHIN 5.",
                )
        micros = duration(within, self.sides.source, resolver, least=0, error_class="WITHIN_TYPE")
        if kind == "timestamp_ntz":
            return join(f"INTERVAL '{micros // 1_000_000}.{micros % 1_000_000:06}' SECOND"), micros
        return join(str(micros // DAY_US if kind == "date" else micros)), micros

    def _check(self, condition: MatchCondition) -> bool:
        """Raise the errors that a plain JOIN of the same relations on the same conditions has; return True if it is a
        stream."""
        clause = self.clause
        left, right = self.sides.text(condition.left), self.sides.text(condition.right)
        operator = ">=" if condition.operator == NEAREST else condition.operator
        compared = join("(", left, f") {operator} (", right, ")")
        columns: Text | str = "1"
        if clause.using:
            criteria = join("USING (", ", ".join(n.fragment.text for n in clause.using), ")")
            columns = compared
        elif clause.on is not None:
            criteria = join("ON ", compared, " AND (", self.sides.text(clause.on), ")")
        else:
            criteria = join("ON ", compared)
        try:
            return self.sides.select(columns, join(self.left, " LEFT JOIN ", self.right, " ", criteria)).isStreaming
        except BindError as error:
            raise self._explained(error) from None

    def _explained(self, error: BindError) -> BindError:
        """Spark's error, with a place for a name in USING, and a hint that lists columns that the join cannot read."""
        if error.error_class == "SQLEXT_UNRESOLVED_USING_COLUMN_FOR_JOIN":
            names = [name.fragment for name in self.clause.using]
            named = [name for name in names if f"`{unquoted(name.text)}`" in error.message.partition(" cannot")[0]]
            error = error.with_(place=(named or names)[0].place)
        if not self.sides.is_in_subquery:
            return error
        hint = "is it a column of an outer query? ASOF JOIN cannot read it: write the condition into WHERE."
        return with_outer_hint(error, hint)

    def _fields(self, pairs: list[Key]) -> list[tuple[t.StructField, t.StructField]]:
        """The columns that both sides of each pair are."""
        lefts = self._fields_of(LEFT, [pair.left for pair in pairs])
        return list(zip(lefts, self._fields_of(RIGHT, [pair.right for pair in pairs])))

    def _fields_of(self, side: str, texts: Sequence[Text]) -> Sequence[t.StructField]:
        named = [field for text in texts if (field := self.sides.named_column(side, text)) is not None]
        return named if len(named) == len(texts) else self.sides.rows(side, _list(texts)).schema.fields

    def _with_strings(
        self, pairs: list[Key], fields: list[tuple[t.StructField, t.StructField]], *, is_streaming: bool
    ) -> list[Key]:
        """The pairs in the types in which Spark compares them, where one side is a string.

        Raises BindError (ASOF_TYPES) for pairs that Spark does not compare.

        Rows of both sides are put into one order. For this Spark would choose other common types than for a comparison.
        """
        cast = "TRY_CAST" if is_streaming else "CAST"  # what the rows hold never ends a stream
        return [
            self._with_string(pair, [side.dataType.simpleString() for side in both], cast)
            for pair, both in zip(pairs, fields)
        ]

    def _with_string(self, pair: Key, kinds: list[str], cast: str) -> Key:
        if (kinds[0] == "string") == (kinds[1] == "string"):
            return pair
        other = kinds[kinds[0] == "string"]
        is_ansi = execution_settings(self.sides.whole(LEFT).sparkSession).is_ansi
        common = string_in_comparison(other, is_ansi=is_ansi)
        if common is None:
            raise BindError(
                "ASOF_TYPES",
                f"ASOF JOIN cannot compare {kinds[0]} with {kinds[1]}",
                place=self._place(pair),
                hint="CAST one of them to the other's type.",
            )
        texts = [
            text if kind == common else join(f"{cast}(", text, f" AS {in_sql(common)})")
            for text, kind in zip((pair.left, pair.right), kinds)
        ]
        return replace(pair, left=texts[0], right=texts[1])

    def _padded(self, pairs: list[Key], fields: list[tuple[t.StructField, t.StructField]]) -> list[Key]:
        """The pairs with blanks after CHAR columns where Spark adds them to compare the two.

        Raises UnsupportedError for times, and for keys of USING, which are columns of the result.
        """
        padded: list[Key] = []
        for pair, both in zip(pairs, fields):
            lengths = self._padded_lengths(both)
            if any(lengths) and (self.clause.using or not padded):
                raise UnsupportedError(
                    "ASOF_TYPES",
                    "ASOF JOIN cannot compare these CHAR columns, to which Spark adds blanks",
                    place=self._place(pair),
                    hint="write ON a.key = b.key in place of USING, and CAST times to STRING.",
                )
            texts = zip((pair.left, pair.right), lengths)
            left, right = (join("rpad(", text, f", {n}, ' ')") if n else text for text, n in texts)
            padded.append(replace(pair, left=left, right=right))
        return padded

    def _padded_lengths(self, fields: tuple[t.StructField, t.StructField]) -> list[int]:
        """The lengths to which Spark pads two columns that it compares; 0 for one that stays as it is."""
        lengths = [lengths_of_chars(t.StructType([field])).get(field.name) for field in fields]
        if None in lengths:
            return [0, 0]
        settings = execution_settings(self.sides.whole(LEFT).sparkSession).is_on
        return padded_lengths("=", lengths, [None, None], settings)

    def _place(self, pair: Key) -> Place:
        """The place of a comparison, or of the name in USING."""
        spans = [span for text in (pair.left, pair.right) if (span := text.span)]
        if not spans:
            return self.clause.whole.place
        return Place(self.tree.text, min(start for start, _ in spans), max(stop for _, stop in spans))


def _constant_number(number: Text, resolver: SparkTypeResolver) -> LiteralValue:
    """The value of a constant number as DOUBLE, None for NULL. Raises BindError for a column."""
    try:
        return resolver.constant(join("CAST(", number, " AS DOUBLE)"))
    except BindError as error:
        raise with_outer_hint(error, "write a constant: a column differs from row to row.") from None


def _presort(times: tuple[t.DataType, t.DataType], *keys: tuple[t.DataType, t.DataType]) -> Presort | None:
    """The sort before the window; None without keys, and for types that it cannot sort."""
    if not keys or not all(has_plain_equality(side.simpleString()) for key in keys for side in key):
        return None
    numbers = {_TIME_NUMBERS.get(time.simpleString()) for time in times}
    number = numbers.pop()
    return Presort(number) if number and not numbers else None


def _numbers(expressions: Sequence[Text], relation: str, columns: Sequence[str]) -> dict[str, int]:
    """The columns, of a relation with this name, that are among the expressions, each with the expression's number."""
    qualifier = quoted(unquoted(relation))
    by_name = {spelling: c for c in columns for spelling in (c.lower(), f"{qualifier}.{c}".lower())}
    return {by_name[_spelling(e)]: i for i, e in enumerate(expressions) if _spelling(e) in by_name}


def _spelling(expression: Text) -> str:
    """The expression in lower case and with every part of its names quoted, so that spellings can be compared."""
    tokens = tokenize(str(expression))
    return "".join(quoted(unquoted(t.text)) if t.is_name else t.text for t in tokens).lower()


def _list(texts) -> Text:
    return join(*(join("(", text, ")") for text in texts), separator=", ")


def _columns(relation: DataFrame) -> tuple[str, ...]:
    """The columns, quoted; empty if two columns have the same name."""
    return () if repeated(relation.columns) else tuple(map(quoted, relation.columns))


def _ties(right: DataFrame) -> tuple[str, ...] | None:
    """The columns that order right rows with equal times; None if Spark can order whole rows."""
    fields = right.schema.fields
    ordered = [f.name for f in fields if is_orderable(f.dataType.simpleString())]
    if len(ordered) == len(fields):
        return None
    several = repeated(right.columns)
    return tuple(quoted(name) for name in ordered if name.lower() not in several)
