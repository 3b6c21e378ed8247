"""The SQL of an ASOF JOIN where the left relation is a stream.

With a stream on the right, too, the rows of both relations are one stream, which the operator of `operators/asof`
reads; it returns each left row and its partner as two structs. A table on the right is read anew for each micro-batch:
each of its rows is valid for a range of left times, and Spark joins the stream with these ranges.
"""

from __future__ import annotations

from sqlext.operators.asof.plan import (
    KEY,
    LEFT,
    OF_LEFT,
    OF_RIGHT,
    RIGHT,
    SIDE,
    TIME,
    WITHOUT_PARTNER,
)
from sqlext.operators.rows.columns import LATE_ROW
from sqlext.rewriter.joins.asof_sql import AsofJoin, Names, differences, left_relation, right_relation
from sqlext.rewriter.joins.join_clause import NEAREST
from sqlext.rewriter.text.splice import Text, TextLike, join


def stream_rows(asof: AsofJoin, *, has_late_rows: bool) -> Text:
    """The rows of both relations with the columns of `AsofPlan.schema` and, if late rows are kept, LATE_ROW. The left
    relation is a `Carried`."""
    assert asof.carried is not None
    conditions = asof.conditions
    lefts, rights = asof.carried.columns, asof.right_columns
    keys = tuple(f"{KEY}{i}" for i in range(len(conditions.keys)))
    late = (LATE_ROW,) if has_late_rows else ()
    names = (SIDE, TIME, *keys, *_named(LEFT, lefts), *_named(RIGHT, rights), *late)
    whole = ("to_json(struct(*))",) if has_late_rows else ()
    fits = conditions.fits_left()
    side = join("IF(", fits, f", {OF_LEFT}, {WITHOUT_PARTNER})") if asof.is_left else join(str(OF_LEFT))
    left_values = (f"{asof.carried.name}.{column}" for column in lefts)
    right_values = (f"{asof.name}.{column}" if asof.name else column for column in rights)
    left = _selected(
        names, (side, asof.left_time, *conditions.left_keys, *left_values, *["NULL"] * len(rights), *whole)
    )
    right = _selected(
        names,
        (str(OF_RIGHT), asof.right_time, *conditions.right_keys, *["NULL"] * len(lefts), *right_values, *whole),
    )
    rows = join(
        right,
        " FROM ",
        asof.right,
        " WHERE ",
        conditions.fits_right(),
        "\nUNION ALL\n",
        left,
        " FROM ",
        asof.left,
        join() if asof.is_left else join(" WHERE ", fits),
    )
    # Each column is named, because Spark 4.2 fails to analyse a star over a UNION whose types it has to widen.
    return join(f"SELECT {', '.join(names)} FROM (\n", rows, "\n)")


def joined_stream(asof: AsofJoin, relation: str) -> Text:
    """The text that replaces the join. `relation` has the left row and its partner as structs, with the names that
    `asof_sql.hidden_columns` returns."""
    assert asof.carried is not None
    return join(f"{relation} AS {asof.own}\n{left_relation(asof, asof.carried)}\n{right_relation(asof)}")


def struct_names(asof: AsofJoin) -> tuple[str, str]:
    """The names of the columns of the left row and of its partner."""
    names = Names(asof)
    return names.left, names.row


def with_table(asof: AsofJoin) -> Text:
    """The join of a stream and a table, as Spark's own join with the range of left times of each right row.

    >>> from sqlext.rewriter.joins.asof_sql import Conditions, Key
    >>> l, r, l_time, r_time, l_key, r_key = map(join, ("s", "q", "s.t", "q.t", "s.k", "q.k"))
    >>> asof = AsofJoin(left=l, right=r, name="q", is_left=True, left_time=l_time, operator=">=", right_time=r_time,
    ...                 conditions=Conditions(keys=(Key(l_key, r_key, True),)), using=(), right_columns=("`t`",),
    ...                 ties=None, own="a")
    >>> print(with_table(asof))
    s LEFT JOIN (
      SELECT a_time, a_key0, a_row, lead(a_time) OVER (PARTITION BY a_key0 ORDER BY a_time) AS a_after
      FROM (
        SELECT *, row_number() OVER (PARTITION BY a_key0, a_time ORDER BY a_row) AS a_number FROM (
          SELECT (q.t) AS a_time, (q.k) AS a_key0, struct(*) AS a_row FROM q WHERE (q.t) IS NOT NULL
        )
      ) WHERE a_number = 1
    ) AS a ON (s.k) <=> a_key0 AND (s.t) >= a_time AND (a_after IS NULL OR (s.t) < a_after)
    CROSS JOIN LATERAL (SELECT a.a_row.`t` AS `t`) AS q
    """
    names, conditions = Names(asof), asof.conditions
    number = f"{asof.own}_number"
    values: list[TextLike] = [join("(", asof.right_time, f") AS {names.time}")]
    values += [join("(", key, f") AS {name}") for key, name in zip(conditions.right_keys, names.keys)]
    keys = f"PARTITION BY {', '.join(names.keys)} " if names.keys else ""
    tie = (*names.ties, names.row)[0] + (" DESC" if asof.takes_last else "")
    of_time = f"PARTITION BY {', '.join((*names.keys, names.time))} ORDER BY {tie}"
    columns = ", ".join((names.time, *names.keys, names.row))
    neighbours = ", ".join(
        f"{call}({names.time}) OVER ({keys}ORDER BY {names.time}) AS {name}" for call, name in _neighbours(asof).items()
    )
    return join(
        asof.left,
        f" {'LEFT ' if asof.is_left else ''}JOIN (\n  SELECT {columns}, {neighbours}\n  FROM (\n",
        f"    SELECT *, row_number() OVER ({of_time}) AS {number} FROM (\n      SELECT ",
        join(*values, f"struct(*) AS {names.row}", *names.tie_values, separator=", "),
        " FROM ",
        asof.right,
        " WHERE ",
        conditions.fits_right(asof.right_time),
        f"\n    )\n  ) WHERE {number} = 1\n) AS {asof.own} ON ",
        join(*_criteria(asof, names), separator=" AND "),
        f"\n{right_relation(asof)}",
    )


def hidden_columns_with_table(asof: AsofJoin) -> dict[str, tuple[str, ...]]:
    """The columns that `with_table` adds, by the name of their relation, for `stars.hide`."""
    names = Names(asof)
    return {"": (names.time, *names.keys, names.row, *_neighbours(asof).values())}


def _neighbours(asof: AsofJoin) -> dict[str, str]:
    """The names of the right times around each right row that end its range, by the functions that compute them."""
    own = {"lag": f"{asof.own}_before", "lead": f"{asof.own}_after"}
    if asof.operator == NEAREST:
        return own
    function = "lead" if asof.operator in (">=", ">") else "lag"
    return {function: own[function]}


def _criteria(asof: AsofJoin, names: Names) -> list[Text]:
    """The conditions of Spark's join: the keys, and the range of left times for which a right row is the nearest."""
    conditions, left = asof.conditions, asof.left_time
    criteria = conditions.same_keys(names.keys)
    before, after = f"{asof.own}_before", f"{asof.own}_after"
    ranges = {">=": (after, "<"), ">": (after, "<="), "<=": (before, ">"), "<": (before, ">=")}
    if asof.operator in ranges:
        end, operator = ranges[asof.operator]
        criteria.append(join("(", left, f") {asof.operator} {names.time}"))
        criteria.append(join(f"({end} IS NULL OR (", left, f") {operator} {end})"))
    else:
        criteria.append(_is_nearest(asof, names, before, after))
    if asof.distance is not None and asof.distance.limit is not None:
        lower, upper = differences(asof.distance, f"({left})", names.time)
        difference = {">=": lower, ">": lower, "<=": upper, "<": upper}.get(
            asof.operator, f"IF(({left}) >= {names.time}, {lower}, {upper})"
        )
        criteria.append(join(f"{difference} <= {asof.distance.limit.value}"))
    return [*criteria, *conditions.of_pairs(names.time)]


def _is_nearest(asof: AsofJoin, names: Names, before: str, after: str) -> Text:
    """Of two right rows with the same distance the earlier one is nearer."""
    assert asof.distance is not None
    left, time = f"({asof.left_time})", names.time
    own = differences(asof.distance, left, time)
    to_after, to_before = differences(asof.distance, left, after)[1], differences(asof.distance, left, before)[0]
    is_before = f"{left} >= {time} AND ({after} IS NULL OR ({left} < {after} AND {own[0]} <= {to_after}))"
    is_after = f"{left} < {time} AND ({before} IS NULL OR ({left} > {before} AND {own[1]} < {to_before}))"
    return join(f"(({is_before}) OR ({is_after}))")


def _named(prefix: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}{i}" for i in range(len(columns)))


def _selected(names: tuple[str, ...], values: tuple[TextLike, ...]) -> Text:
    named = [join("(", value, f") AS {name}") for name, value in zip(names, values)]
    return join("SELECT ", join(*named, separator=", "))
