"""Draws the picture of the home page: the rows of an example on a time axis, and the matches of the page's statement.

The playground's search finds the matches, so the picture cannot say otherwise than the statement.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from sqlext.playground.answer import answer
from sqlext.playground.budget import WorkBudget
from sqlext.playground.read_csv import csv_table
from sqlext.playground.rows_search import KnownTruth
from website.join_pictures import Row, Side

_LEFT, _RIGHT, _WIDTH, _TOP, _LANE = 46, 22, 460, 28, 46  # pixels
_STYLE = (
    "<style>svg { color: #1f1f1f; background: #ffffff } .match { fill: #2457a6; fill-opacity: .16 } "
    ".in { color: #b3261e } @media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #0d1117 } "
    ".match { fill: #8ab4f8; fill-opacity: .3 } .in { color: #ff9c8a } }</style>"
)
_SMALL = 'fill="currentColor" font-size="11"'
# How an event is drawn around its place.
_CROSS = '<path d="M-5-5 5 5M5-5-5 5" stroke="currentColor" stroke-width="2.4" />'
_RING = '<circle r="4.5" fill="none" stroke="currentColor" stroke-width="2" />'
_KEY = '<rect x="-5" y="-5" width="10" height="10" fill="currentColor" />'
_EVENTS = {"login failed": _CROSS, "login": _RING, "password changed": _KEY}


def home_picture(statement: str, example: str) -> str:
    """The rows of the CTE `events` of an example, and what the statement over `logins` finds in them, as SVG."""
    rows = Side(relation="events", time="at", label="event", names=()).rows(example)
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    found = answer(statement, csv_table(text.getvalue().encode(), "logins"), KnownTruth(), WorkBudget())
    ordered = [rows[i] for i in found["order"]]
    accounts = sorted({row["account"] for row in rows})
    height = _TOP + _LANE * len(accounts) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'role="img" font-family="sans-serif" font-size="13">',
        "<title>The rows of logins and the matches of the pattern</title>",
        _STYLE,
        f'<text x="{_WIDTH - 8}" y="14" {_SMALL} text-anchor="end">minutes after 08:00</text>',
        *_legend(height),
    ]
    for number, account in enumerate(accounts):
        lane = [(i, row) for i, row in enumerate(ordered) if row["account"] == account]
        parts += _lane(account, _TOP + _LANE * number + 14, lane, found["matches"])
    return "\n".join([*parts, "</svg>"])


def _lane(account: str, y: int, lane: Sequence[tuple[int, Row]], matches: Sequence[dict[str, Any]]) -> Iterator[str]:
    places = {i: _x(row["at"]) for i, row in lane}
    taken: set[int] = set()
    for match in matches:
        if set(match["rows"]) <= places.keys():
            taken.update(match["rows"])
            left, right = places[match["rows"][0]] - 12, places[match["rows"][-1]] + 12
            yield f'<rect x="{left:g}" y="{y - 14}" width="{right - left:g}" height="28" rx="14" class="match" />'
    yield f'<text x="8" y="{y + 5}" fill="currentColor" font-weight="bold">{escape(account)}</text>'
    yield f'<path d="M{_LEFT} {y}H{_WIDTH - 8}" stroke="currentColor" opacity=".25" />'
    for i, row in lane:
        name = ' class="in"' if i in taken else ""
        yield f'<g transform="translate({places[i]:g} {y})"{name}>{_EVENTS[row["event"]]}</g>'
        yield f'<text x="{places[i]:g}" y="{y + 25}" {_SMALL} text-anchor="middle">{int(row["at"][14:16])}</text>'


def _legend(height: int) -> Iterator[str]:
    x = 14
    for name, shape in _EVENTS.items():
        yield f'<g transform="translate({x} {height - 16})">{shape}</g>'
        yield f'<text x="{x + 12}" y="{height - 11}" fill="currentColor">{escape(name)}</text>'
        x += 40 + 7 * len(name)
    yield f'<rect x="{x - 6}" y="{height - 26}" width="26" height="20" rx="10" class="match" />'
    yield f'<text x="{x + 26}" y="{height - 11}" fill="currentColor">a match</text>'


def _x(at: str) -> float:
    """The place of a minute of the hour; the rows of the example are within a quarter of one."""
    return _LEFT + 18 + int(at[14:16]) / 13 * (_WIDTH - _RIGHT - _LEFT - 18)
