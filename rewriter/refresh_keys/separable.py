"""The separable columns of a query: a row of the result depends only on those source rows that have its value of such a
column in a known column of each source. Any of them together are a key, by which results are refreshed.

The query is plain SQL, in which `plain_query` has replaced the clauses. It is read by sqlglot's parser, and only what
is listed here is understood: anything else is a reason why the query has no key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

# Functions that stand for a clause: it computes the rows of each value of its arguments alone. The second also means
# that the order of the columns is not certain.
PARTITION, PARTITION_OF_ALL_ROWS = "__sqlext_partition__", "__sqlext_partition_of_all_rows__"
WINDOW = "__sqlext_window__"  # (time, size, offset, end): an end of the tumbling window of a row, see Window
_OF_SELECT = {
    "expressions", "from", "joins", "laterals", "where", "group", "having", "qualify", "windows", "distinct", "with",
    "order", "sort", "cluster", "distribute", "hint",
}  # fmt: skip
_OF_SET_OPERATION = {"this", "expression", "distinct", "order", "sort", "cluster", "distribute", "with"}
_LIMITS = {"limit": "LIMIT", "offset": "OFFSET", "sample": "TABLESAMPLE", "pivots": "PIVOT"}
_GENERATORS = {"explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack",
               "json_tuple", "variant_explode", "unnest"}  # fmt: skip


class Window(NamedTuple):
    """The tumbling windows of this size and offset in microseconds; `end`: "start" or "end"."""

    size: int
    offset: int
    end: str


class SourceColumn(NamedTuple):
    """A column of a source, by its number and its name in lower case, or an end of the window of its times."""

    source: int
    name: str
    window: Window | None = None


Lineage = frozenset[SourceColumn]  # at most one column of each source


class NotSeparableError(Exception):
    """A query has no key; the text is the reason, as a clause of a sentence."""


@dataclass(frozen=True)
class SeparableColumn:
    """A column of a result, by its name in lower case; `lineage` is None if it is not separable."""

    name: str
    lineage: Lineage | None = None


@dataclass(frozen=True)
class Rows:
    """The columns of a query or relation. `is_ordered`: the order of the columns is certain."""

    columns: tuple[SeparableColumn, ...]
    is_ordered: bool = True


@dataclass(frozen=True)
class _Member:
    """A column of the FROM of a query, under the name of its relation. `is_shown`: a star shows it, and its name alone
    means it."""

    relation: str
    column: SeparableColumn
    is_shown: bool = True


def separable_columns(query: str, tables: Mapping[str, Rows]) -> tuple[SeparableColumn, ...]:
    """The columns of the result of a query, over the tables of these names in lower case.

    Raises NotSeparableError if a part of the query is not understood, or none of the columns is separable.

    >>> t = Rows(tuple(SeparableColumn(name, frozenset({SourceColumn(0, name)})) for name in ("k", "v")))
    >>> [c.name for c in separable_columns("SELECT k, sum(v) AS s FROM t GROUP BY k", {"t": t}) if c.lineage]
    ['k']
    """
    try:
        tree = Spark().parse(query)
    except (SqlglotError, RecursionError):
        raise NotSeparableError("the query has a form that is not looked into") from None
    if len(tree) != 1 or tree[0] is None:
        raise NotSeparableError("the query has a form that is not looked into")
    reader = _Reader()
    rows = reader.query(tree[0], tables)
    if not rows.is_ordered:
        counts = [c.name for c in rows.columns]
        rows = replace(rows, columns=tuple(c for c in rows.columns if counts.count(c.name) == 1))
    if not any(column.lineage for column in rows.columns):
        raise NotSeparableError(reader.reason)
    return rows.columns


def _arguments(node: exp.Expression) -> dict[str, object]:
    """The arguments that a node has, by their names in all versions of sqlglot: `from_` was `from`."""
    return {name.rstrip("_"): value for name, value in node.args.items() if value not in (None, False, [])}


def _check(node: exp.Expression, known: set[str]) -> dict[str, object]:
    arguments = _arguments(node)
    for name in arguments.keys() - known:
        if name in _LIMITS:
            raise NotSeparableError(f"{_LIMITS[name]} takes rows of all keys together")
        raise NotSeparableError(f"{node.key.upper()} has a part that is not looked into ({name})")
    return arguments


def _name(node: object) -> str:
    return node.name.lower() if isinstance(node, exp.Expression) else ""


class _Reader:
    """Reads a query from the inside out. `reason`: why the result has no separable column, if it has none."""

    def __init__(self) -> None:
        self.reason = "no column of the result is one by which its rows are computed"

    def query(self, node: Any, tables: Mapping[str, Rows]) -> Rows:
        if isinstance(node, exp.Subquery):
            arguments = _check(node, {"this", "alias", "with", "order"})
            return self.query(node.this, self._with(arguments, tables))
        if isinstance(node, exp.Select):
            return self._select(node, tables)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, tables)
        raise NotSeparableError("the query has a form that is not looked into")

    def _with(self, arguments: dict[str, object], tables: Mapping[str, Rows]) -> Mapping[str, Rows]:
        """The tables with the CTEs of a query."""
        clause = arguments.get("with")
        if not isinstance(clause, exp.With):
            return tables
        if clause.args.get("recursive"):
            raise NotSeparableError("WITH RECURSIVE computes rows from rows of other keys")
        for cte in clause.expressions:
            rows = self.query(cte.this, tables)
            tables = {**tables, cte.alias.lower(): _renamed(rows, cte.args.get("alias"))}
        return tables

    def _set_operation(self, node: exp.SetOperation, tables: Mapping[str, Rows]) -> Rows:
        arguments = _check(node, _OF_SET_OPERATION)
        tables = self._with(arguments, tables)
        left, right = self.query(node.this, tables), self.query(node.expression, tables)
        if not (left.is_ordered and right.is_ordered) or len(left.columns) != len(right.columns):
            raise NotSeparableError("a set operation has columns whose order is not certain: name them")
        pairs = zip(left.columns, right.columns)
        return Rows(tuple(SeparableColumn(a.name, _both(a.lineage, b.lineage)) for a, b in pairs))

    def _select(self, node: exp.Select, tables: Mapping[str, Rows]) -> Rows:
        arguments = _check(node, _OF_SELECT)
        tables = self._with(arguments, tables)
        is_ordered, members = self._from(arguments, tables)
        outside = {"from", "joins", "with"}
        parts = [part for name, value in arguments.items() if name not in outside for part in _nodes(value)]
        self._check_expressions(parts)
        if "having" in arguments and "group" not in arguments:
            raise NotSeparableError("an aggregate over all rows has no key")
        for keys in self._partitions(parts, node, members):
            members = [replace(m, column=_kept(m.column, keys)) for m in members]
            if not keys:
                self.reason = "a clause or a window function has no PARTITION BY column that is a column of its input"
        marks_all_rows = any(_is_mark(f, PARTITION_OF_ALL_ROWS) for part in parts for f in part.find_all(exp.Anonymous))
        columns = tuple(column for item in node.expressions for column in _item(item, members))
        return Rows(columns, is_ordered=is_ordered and not marks_all_rows)

    def _check_expressions(self, parts: Sequence[exp.Expression]) -> None:
        for part in parts:
            if part.find(exp.Query, exp.Table, exp.QueryTransform):
                raise NotSeparableError("a subquery in an expression reads rows of other keys")
            if part.find(exp.Cube, exp.Rollup, exp.GroupingSets):
                raise NotSeparableError("ROLLUP, CUBE and GROUPING SETS have rows over all keys")

    def _partitions(
        self, parts: Sequence[exp.Expression], node: exp.Select, members: Sequence[_Member]
    ) -> Iterator[set[Lineage]]:
        """The lineages of the keys of each window function, and of each clause that a function stands for."""
        named = {_name(window.this): window for window in node.args.get("windows") or ()}
        for part in parts:
            for window in part.find_all(exp.Window):
                if window.args.get("alias") is not None and not window.args.get("partition_by"):
                    window = named.get(_name(window.args["alias"]), window)
                if window in named.values() and window.args.get("alias") is not None:
                    raise NotSeparableError("a window is based on another one")
                yield _lineages(window.args.get("partition_by") or (), members)
            for function in part.find_all(exp.Anonymous):
                if _is_mark(function, PARTITION, PARTITION_OF_ALL_ROWS):
                    yield _lineages(function.expressions, members)

    def _from(self, arguments: dict[str, object], tables: Mapping[str, Rows]) -> tuple[bool, list[_Member]]:
        clause = arguments.get("from")
        if not isinstance(clause, exp.From):
            raise NotSeparableError("a query without FROM reads no source")
        is_ordered, members = self._relation(clause.this, tables)
        for join in _nodes(arguments.get("joins")):
            is_right_ordered, right = self._relation(join.this, tables)
            members = self._join(join, members, right)
            is_ordered = is_ordered and is_right_ordered
        for lateral in _nodes(arguments.get("laterals")):
            members += self._lateral(lateral)
        return is_ordered, members

    def _lateral(self, lateral: exp.Expression) -> list[_Member]:
        if not isinstance(lateral, exp.Lateral) or not lateral.args.get("view"):
            raise NotSeparableError("LATERAL is not looked into")
        self._check_expressions([lateral.this])
        alias = lateral.args.get("alias")
        names = alias.args.get("columns") or () if alias is not None else ()
        return [_Member(_name(alias), SeparableColumn(_name(name))) for name in names]

    def _relation(self, node: exp.Expression, tables: Mapping[str, Rows]) -> tuple[bool, list[_Member]]:
        if isinstance(node, exp.Table):
            _check(node, {"this", "alias"})
            rows = tables.get(_name(node.this)) if isinstance(node.this, exp.Identifier) else None
            if rows is None:
                raise NotSeparableError(f"{node.name or 'a table function'} is not a source whose changes are known")
            alias = node.alias or node.name
        elif isinstance(node, exp.Subquery):
            rows, alias = self.query(node, tables), node.alias
        else:
            raise NotSeparableError(f"{node.key.upper()} in FROM is not looked into")
        rows = _renamed(rows, node.args.get("alias"))
        return rows.is_ordered, [_Member(alias.lower(), column) for column in rows.columns]

    def _join(self, join: exp.Expression, left: list[_Member], right: list[_Member]) -> list[_Member]:
        arguments = _check(join, {"this", "side", "kind", "on", "using"})
        side, kind = str(arguments.get("side", "")).upper(), str(arguments.get("kind", "")).upper()
        on, using = arguments.get("on"), [_name(name) for name in _nodes(arguments.get("using"))]
        if side not in ("", "LEFT", "RIGHT") or (side == "RIGHT" and using):
            what = "pads rows of both sides" if side == "FULL" else "with USING is not looked into"
            raise NotSeparableError(f"a {side} JOIN {what}")
        if isinstance(on, exp.Expression):
            self._check_expressions([on])
        pairs = [*_equalities(on, left, right), *((_found(name, left), _found(name, right)) for name in using)]
        keys = {a.lineage: b.lineage for a, b in pairs if a and b and a.lineage and b.lineage}
        if not keys:
            self.reason = "a join has no equality of columns of both of its sides"
        joined_left = [replace(m, column=_with_partner(m.column, keys)) for m in left]
        joined_right = [replace(m, column=_with_partner(m.column, {b: a for a, b in keys.items()})) for m in right]
        if side == "RIGHT":
            joined_left = [replace(m, column=SeparableColumn(m.column.name)) for m in joined_left]
        if side == "LEFT":
            joined_right = [replace(m, column=SeparableColumn(m.column.name)) for m in joined_right]
        if kind in ("SEMI", "ANTI"):
            return joined_left
        joined_right = [replace(m, is_shown=m.is_shown and m.column.name not in using) for m in joined_right]
        first = [m for name in using for m in joined_left if m.is_shown and m.column.name == name]
        return [*first, *(m for m in joined_left if m not in first), *joined_right]


def _nodes(value: object) -> list[exp.Expression]:
    values = value if isinstance(value, list) else [value]
    return [node for node in values if isinstance(node, exp.Expression)]


def _is_mark(function: exp.Expression, *names: str) -> bool:
    return str(function.this).lower() in names


def _both(a: Lineage | None, b: Lineage | None) -> Lineage | None:
    """The lineage of a column over two relations; None if a source had two columns in it."""
    if a is None or b is None:
        return None
    both = a | b
    return both if len({column.source for column in both}) == len(both) else None


def _kept(column: SeparableColumn, keys: set[Lineage]) -> SeparableColumn:
    return column if column.lineage in keys else SeparableColumn(column.name)


def _with_partner(column: SeparableColumn, keys: Mapping[Lineage, Lineage]) -> SeparableColumn:
    partner = keys.get(column.lineage) if column.lineage is not None else None
    return SeparableColumn(column.name, _both(column.lineage, partner))


def _renamed(rows: Rows, alias: object) -> Rows:
    """The rows under an alias, which may name the columns."""
    names = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if not names:
        return rows
    if not rows.is_ordered or len(names) != len(rows.columns):
        raise NotSeparableError("an alias names columns whose order is not certain")
    return Rows(tuple(SeparableColumn(_name(name), c.lineage) for name, c in zip(names, rows.columns)))


def _found(name: str, members: Sequence[_Member], relation: str = "") -> SeparableColumn | None:
    """The only column of a name, of a relation or of all that are shown; None if there is none, or more than one."""
    columns = [
        m.column for m in members
        if m.column.name == name and (m.relation == relation if relation else m.is_shown)
    ]  # fmt: skip
    return columns[0] if len(columns) == 1 else None


def _column(node: object, members: Sequence[_Member]) -> SeparableColumn | None:
    """The column that an expression is; None if it is another expression, or a field of a struct."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Anonymous) and _is_mark(node, WINDOW):
        return _windowed(node, members)
    if not isinstance(node, exp.Column) or node.args.get("db") is not None or isinstance(node.this, exp.Star):
        return None
    if node.table and not any(m.relation == node.table.lower() for m in members):
        return None
    return _found(node.name.lower(), members, node.table.lower())


def _windowed(node: exp.Anonymous, members: Sequence[_Member]) -> SeparableColumn | None:
    time, size, offset, end = node.expressions
    column = _column(time, members)
    if column is None or column.lineage is None or any(c.window for c in column.lineage):
        return None
    window = Window(int(size.name), int(offset.name), end.name)
    return SeparableColumn("", frozenset(c._replace(window=window) for c in column.lineage))


def _lineages(nodes: Sequence[exp.Expression], members: Sequence[_Member]) -> set[Lineage]:
    columns = (_column(node, members) for node in nodes)
    return {column.lineage for column in columns if column is not None and column.lineage is not None}


def _equalities(
    on: object, left: Sequence[_Member], right: Sequence[_Member]
) -> Iterator[tuple[SeparableColumn | None, SeparableColumn | None]]:
    """The pairs of columns, of the left and of the right side, that the AND list of ON compares by = or <=>."""
    while isinstance(on, exp.Paren):
        on = on.this
    if isinstance(on, exp.And):
        yield from _equalities(on.this, left, right)
        yield from _equalities(on.expression, left, right)
    elif isinstance(on, (exp.EQ, exp.NullSafeEQ)):
        for a, b in ((on.this, on.expression), (on.expression, on.this)):
            of_left, of_right = _column(a, left), _column(b, right)
            if of_left and of_right and not (_column(a, right) or _column(b, left)):
                yield of_left, of_right


def _item(item: exp.Expression, members: Sequence[_Member]) -> Iterator[SeparableColumn]:
    """The columns of an item of a select list."""
    if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
        yield from _star(item, members)
        return
    value = item.this if isinstance(item, exp.Alias) else item
    if isinstance(item, exp.Aliases) or any(_is_generator(node) for node in value.find_all(exp.Func)):
        raise NotSeparableError("a generator in the select list is not looked into: write LATERAL VIEW")
    column = _column(value, members)
    name = item.alias if isinstance(item, exp.Alias) else _name(value)
    yield SeparableColumn(name.lower(), column.lineage if column is not None else None)


def _is_generator(function: Any) -> bool:
    name = str(function.this) if isinstance(function, exp.Anonymous) else function.sql_name()
    return name.lower() in _GENERATORS


def _star(item: exp.Expression, members: Sequence[_Member]) -> Iterator[SeparableColumn]:
    star = item if isinstance(item, exp.Star) else item.this
    arguments = _check(star, {"except"})
    left_out = {_name(column) for column in _nodes(arguments.get("except"))}
    relation = item.table.lower() if isinstance(item, exp.Column) else ""
    shown = [m for m in members if (m.relation == relation if relation else m.is_shown)]
    if not shown:
        raise NotSeparableError("the fields of a struct are not looked into")
    if relation and len(shown) != sum(m.is_shown for m in shown):
        raise NotSeparableError("the columns of USING are not looked into with a star of one relation")
    yield from (m.column for m in shown if m.column.name not in left_out)
