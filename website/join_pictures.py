"""Draws joins on time: the rows of both sides on a time axis, and a line from each left row to its partners.

Rows and partners are read from the statement and the result that is shown with it, so the picture cannot say otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

Row = dict[str, str]
_TUPLE = re.compile(r"\(([^()]*)\)")
_LITERAL = re.compile(r"^(?:TIMESTAMP(?:_NTZ)?\s+)?'(.*)'$")
_LEFT, _RIGHT, _WIDTH, _LANE, _PANEL, _LETTER = 130, 24, 760, 44, 112, 6.7  # pixels
_STYLE = (
    "<style>svg { color: #1f1f1f; background: #ffffff } .left { fill: #b34700 } .right { fill: #2457a6 } "
    "@media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #0d1117 } .left { fill: #ff9c5a } "
    ".right { fill: #8ab4f8 } }</style>"
)


@dataclass(frozen=True, kw_only=True)
class Side:
    """A side of a join: the name of its CTE, and the columns of its time, of its label and of its `names`, by which
    rows of the result name it: pairs of a column and a place in the result, where a list of values may be."""

    relation: str
    time: str
    label: str
    names: tuple[tuple[str, int], ...]

    def rows(self, statement: str) -> list[Row]:
        """The rows that have a time.

        >>> side = Side(relation="t", time="at", label="v", names=(("v", 0),))
        >>> side.rows("WITH t(at, v) AS (VALUES (1, 'a'), (NULL, 'b'), (TIMESTAMP '2026-03-02 09:00:00', 'c')) SELECT")
        [{'at': '1', 'v': 'a'}, {'at': '2026-03-02 09:00:00', 'v': 'c'}]
        """
        header = re.search(rf"\b{self.relation}\(([^)]*)\)\s+AS\s+\(\s*VALUES", statement)
        assert header is not None
        columns = [name.strip() for name in header[1].split(",")]
        body = re.split(r"\)\s*(?:\)|SELECT)", statement[header.end() :])[0] + ")"
        tuples = ([_value(cell) for cell in found.split(",")] for found in _TUPLE.findall(body))
        return [row for values in tuples if (row := dict(zip(columns, values)))[self.time] != "NULL"]

    def is_named(self, row: Row, result: Sequence[str]) -> bool:
        return all(row[column] in result[place].strip("[]").split(", ") for column, place in self.names)


@dataclass(frozen=True, kw_only=True)
class JoinPicture:
    """`key`: the column of both sides that has a panel for each value; "" for one panel."""

    left: Side
    right: Side
    key: str = ""

    def svg(self, statement: str, result: Sequence[Sequence[str]]) -> str:
        """The picture of a statement and the rows of its result."""
        left, right = self.left.rows(statement), self.right.rows(statement)
        times = [_time(row[side.time]) for side, rows in ((self.left, left), (self.right, right)) for row in rows]
        keys = sorted({row[self.key] for row in (*left, *right)}) if self.key else [""]
        height = _PANEL * len(keys) + 12
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" font-family="monospace" font-size="11">',
            f"<title>Rows of {self.left.relation} and their partners among {self.right.relation}</title>",
            _STYLE,
        ]
        for number, key in enumerate(keys):
            panel = [[row for row in rows if not key or row[self.key] == key] for rows in (left, right)]
            parts += self._panel(key, _PANEL * number + 30, panel, result, (min(times), max(times)))
        return "\n".join([*parts, "</svg>"])

    def _panel(
        self, key: str, top: int, panel: list[list[Row]], result: Sequence[Sequence[str]], ends: tuple[float, float]
    ) -> Iterator[str]:
        lanes = [(self.left, panel[0], top, -9, "left"), (self.right, panel[1], top + _LANE, 18, "right")]
        xs = {id(row): _x(_time(row[side.time]), ends) for side, rows, _, _, _ in lanes for row in rows}
        for side, _, y, _, _ in lanes:
            yield f'<text x="8" y="{y + 4}" fill="currentColor">{escape(f"{key} {side.relation}".strip())}</text>'
            yield f'<path d="M{_LEFT} {y}H{_WIDTH - _RIGHT}" stroke="currentColor" opacity=".3" />'
        for one in panel[0]:
            for other in panel[1]:
                if any(self.left.is_named(one, row) and self.right.is_named(other, row) for row in result):
                    yield (
                        f'<path d="M{xs[id(one)]:g} {top}L{xs[id(other)]:g} {top + _LANE}" stroke="currentColor" '
                        f'stroke-width="1.3" />'
                    )
        for side, rows, y, below, name in lanes:
            taken = [-1.0, -1.0]  # where the labels of each line end
            for row in sorted(rows, key=lambda row: xs[id(row)]):
                x, label = xs[id(row)], _shown(row[side.label])
                half = _LETTER * len(label) / 2
                line = 0 if taken[0] < x - half else 1
                taken[line] = x + half + 2
                yield f'<circle cx="{x:g}" cy="{y}" r="4.5" class="{name}" />'
                yield (
                    f'<text x="{x:g}" y="{y + below + line * (12 if below > 0 else -12)}" text-anchor="middle" '
                    f'fill="currentColor">{escape(label)}</text>'
                )


def _value(cell: str) -> str:
    literal = _LITERAL.match(cell.strip())
    return literal[1] if literal else cell.strip()


def _time(text: str) -> float:
    return float(text) if text.isdigit() else datetime.fromisoformat(text).timestamp()


def _shown(label: str) -> str:
    """A label; of a time the hour and the minute."""
    return label[11:16] if re.match(r"\d{4}-\d\d-\d\d ", label) else label


def _x(time: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return round(_LEFT + 16 + (time - low) / (high - low) * (_WIDTH - _RIGHT - _LEFT - 32), 1)


JOINS = {
    "weather-at-departure": JoinPicture(
        left=Side(relation="flights", time="departed", label="flight", names=(("origin", 0), ("flight", 1))),
        right=Side(relation="reports", time="at", label="at", names=(("origin", 0), ("at", 3))),
        key="origin",
    ),
    "sla-breach": JoinPicture(
        left=Side(relation="orders", time="ordered", label="order_id", names=(("order_id", 0),)),
        right=Side(relation="shipments", time="shipped", label="parcel", names=(("order_id", 0), ("parcel", 2))),
    ),
    "attribution": JoinPicture(
        left=Side(relation="purchases", time="at", label="amount", names=(("visitor", 0), ("amount", 1))),
        right=Side(relation="touches", time="at", label="campaign", names=(("visitor", 0), ("campaign", 2))),
        key="visitor",
    ),
    "quotes-around-trades": JoinPicture(
        left=Side(relation="trades", time="at", label="id", names=(("id", 0),)),
        right=Side(relation="quotes", time="at", label="price", names=(("symbol", 1), ("price", 5))),
        key="symbol",
    ),
    "readings-before-alarms": JoinPicture(
        left=Side(relation="alarms", time="raised", label="raised", names=(("pump", 0), ("raised", 1))),
        right=Side(relation="readings", time="at", label="celsius", names=(("pump", 0), ("celsius", 6))),
        key="pump",
    ),
    "markouts": JoinPicture(
        left=Side(relation="trades", time="at", label="id", names=(("id", 0),)),
        right=Side(relation="quotes", time="at", label="price", names=(("price", 2),)),
        key="symbol",
    ),
}
