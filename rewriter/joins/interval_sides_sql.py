"""The SQL of an INTERVAL JOIN for which one worker reads both relations: what it reads, and the relation that replaces
the join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlext.operators.rows.columns import IS_ABLE
from sqlext.rewriter.text.splice import Text, TextLike, join, sql
from sqlext.rewriter.text.where import where

KEY = "__key"  # prefix of the columns of the keys


@dataclass(frozen=True, kw_only=True)
class Side:
    """`relation`: its text; `name`: the name of its columns; `columns`: those that are read, quoted, by their names in
    the result; `times`: its time, or the ends of its range; `own`: the conditions on it alone; `is_whole`: rows without
    a partner are in the result."""

    relation: Text
    name: str
    columns: Mapping[str, str]
    times: Mapping[str, Text]
    own: tuple[Text, ...]
    is_whole: bool


def side_sql(side: Side, keys: Sequence[Text], values: Mapping[str, TextLike] | None = None) -> Text:
    """The rows that a worker reads: times, keys, columns, `values`, and IS_ABLE if there are conditions on rows that
    are kept.

    >>> r = Side(relation=join("r"), name="r", columns={"__right0": "`i`"}, times={"__time": join("r.t")},
    ...          own=(join("r.x > 1"),), is_whole=False)
    >>> print(side_sql(r, [join("r.k")]))
    SELECT (r.t) AS __time, (r.k) AS __key0, r.`i` AS __right0 FROM r WHERE (r.x > 1)
    """
    able = join(*(join("(", condition, ")") for condition in side.own), separator=" AND ") if side.own else None
    named: dict[str, TextLike] = {name: join("(", text, ")") for name, text in side.times.items()}
    named.update({f"{KEY}{i}": join("(", key, ")") for i, key in enumerate(keys)})
    named.update({name: f"{side.name}.{column}" for name, column in side.columns.items()})
    named.update(values or {})
    if able is not None and side.is_whole:
        named[IS_ABLE] = join("(", able, ")")
    columns = [join(text, f" AS {name}") for name, text in named.items()]
    rows = side.relation if able is None or side.is_whole else join(side.relation, " ", where(able))
    return sql("SELECT {columns} FROM {rows}", columns=columns, rows=rows)


def result_sql(result: str, own: str, sides: Sequence[Side]) -> Text:
    """The relation `result` of the worker, whose columns have their own names and qualifiers again. `own`: a name that
    no other relation has."""
    text = f"{result} AS {own}"
    for side in sides:
        columns = ", ".join(f"{own}.{name} AS {column}" for name, column in side.columns.items())
        text += f"\nCROSS JOIN LATERAL (SELECT {columns}) AS {side.name}"
    return join(text)
