"""The SQL of an INTERVAL JOIN … AGGREGATE of two streams: the rows of both relations are one stream, which the operator
of `operators/interval` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlext.operators.interval.aggregates_plan import OF_LEFT, OF_RIGHT, SIDE
from sqlext.operators.interval.plan import LOWER, TIME, UPPER
from sqlext.operators.rows.columns import FAILURE, LATE_ROW
from sqlext.rewriter.joins.asof_sql import Conditions
from sqlext.rewriter.text.splice import Text, TextLike, join, sql


@dataclass(frozen=True, kw_only=True)
class StreamRelation:
    """A relation: its text, and the `values` of its rows besides TIME and the keys, by the names of their columns."""

    relation: Text
    time: Text
    values: Mapping[str, TextLike]


def stream_rows(
    left: StreamRelation,
    right: StreamRelation,
    conditions: Conditions,
    keys: Sequence[str],
    *,
    is_left: bool,
    has_late_rows: bool,
) -> Text:
    """The rows of both relations in one schema: FAILURE, if a value may fail, SIDE, TIME, LOWER, UPPER, the `keys`, the
    values of left rows, those of right rows, and LATE_ROW if late rows are kept.

    A left row has no range if no right row can be its partner; it is left out unless `is_left`.

    >>> l = StreamRelation(relation=join("l"), time=join("l.t"), values={LOWER: "l.t - 5", UPPER: "l.t", "__left0": "l.x"})
    >>> r = StreamRelation(relation=join("r"), time=join("r.t"), values={"__argument0": "r.v"})
    >>> print(stream_rows(l, r, Conditions(), (), is_left=False, has_late_rows=False))
    SELECT __side, __time, __lower, __upper, __left0, __argument0 FROM (
    SELECT (0) AS __side, (r.t) AS __time, (NULL) AS __lower, (NULL) AS __upper, (NULL) AS __left0, (r.v) AS __argument0 FROM r WHERE true
    UNION ALL
    SELECT (1) AS __side, (l.t) AS __time, (l.t - 5) AS __lower, (l.t) AS __upper, (l.x) AS __left0, (NULL) AS __argument0 FROM l WHERE true
    )
    """  # noqa: E501
    fits, values = conditions.fits_left(), dict(left.values)
    if is_left:
        for name in (LOWER, UPPER):
            values[name] = sql("IF({fits}, {bound}, NULL)", fits=fits, bound=values[name])
    first = [FAILURE] if FAILURE in {**left.values, **right.values} else []
    first += [SIDE, TIME, LOWER, UPPER, *keys]
    names = list(dict.fromkeys([*first, *left.values, *right.values, *([LATE_ROW] if has_late_rows else [])]))
    whole: dict[str, TextLike] = {LATE_ROW: "to_json(struct(*))"}
    lefts = {SIDE: str(OF_LEFT), TIME: left.time, **dict(zip(keys, conditions.left_keys)), **values, **whole}
    rights = {SIDE: str(OF_RIGHT), TIME: right.time, **dict(zip(keys, conditions.right_keys)), **right.values, **whole}
    # Each column is named, because Spark 4.2 fails to analyse a star over a UNION whose types it has to widen.
    return sql(
        "SELECT {names} FROM (\n{rights} FROM {right} WHERE {fits_right}\nUNION ALL\n{lefts} FROM {left}{where}\n)",
        names=names, rights=_selected(names, rights), right=right.relation, fits_right=conditions.fits_right(),
        lefts=_selected(names, lefts), left=left.relation, where="" if is_left else join(" WHERE ", fits),
    )  # fmt: skip


def _selected(names: Sequence[str], values: Mapping[str, TextLike]) -> Text:
    return join("SELECT ", join(*(join("(", values.get(n, "NULL"), f") AS {n}") for n in names), separator=", "))
