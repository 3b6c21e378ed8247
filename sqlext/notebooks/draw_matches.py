"""Draws a MATCH_RECOGNIZE: its rows over time, with each match shaded and each row in the colour of its variable. Near
misses are hollow, and what refused the row that they lacked is written at it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.planning.answers import PartitionMisses
from sqlext.engine.queries.quoted_names import names_in_backticks
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.engine.streams.streaming_tables import check_ends
from sqlext.errors import SqlExtError, UnsupportedError
from sqlext.notebooks.drawing_query import MATCH, VARIABLE, DrawingQuery, drawing_query
from sqlext.notebooks.drawn_rows import KEY, MOST_PANELS, NO_KEYS, DrawnRows, drawn_rows
from sqlext.notebooks.theme import in_theme
from sqlext.rewriter.heads.statement import OtherStatement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.sessions.hook import unhooked

MOST_LABELS, LONGEST_LABEL = 5, 90  # near misses of a panel with a label, and its characters
_MOST_POINTS = 1_000  # of a panel in SVG; more are a picture inside it, because each point takes 80 bytes
_INK = "#010203"  # drawn for text and axes; in the SVG the colour of the text around it takes its place
_STYLE = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
    "svg.fonttype": "none",  # text stays text, in a font of the page
    "text.parse_math": False,  # a value with two dollars is no formula
    "svg.hashsalt": "sqlext",  # the same picture gives the same SVG
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_COLOURS = ("#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#e6ab02", "#a6761d", "#666666")


@dataclass(frozen=True)
class Drawing:
    """A picture that notebooks show as a part of their page, so that it has the colours of the page."""

    svg: str
    title: str

    def _repr_html_(self) -> str:
        return in_theme(self.svg)

    def __repr__(self) -> str:
        return f"<drawing: {self.title}>"


@dataclass(frozen=True)
class DrawnMiss:
    """A near miss: its mapped rows as (time, height, variable), the refused row as (time, height), its variable, and
    what refused it."""

    points: tuple[tuple[Any, float, str], ...]
    refused: tuple[Any, float]
    variable: str
    reason: str


@dataclass(frozen=True)
class Panel:
    """A partition: its title, its rows, and its near misses."""

    title: str
    rows: pd.DataFrame
    misses: tuple[DrawnMiss, ...] = ()


def draw_matches(
    spark: SparkSession, statement: str, args: dict[str, Any] | None = None, **frames: DataFrame
) -> Drawing | None:
    """Draw the last MATCH_RECOGNIZE of a statement; None if it has none.

    At most 10,000 rows and six partitions are drawn, see `drawn_rows`; the title says what is left out. Raises
    UnsupportedError (DRAWING) if the clause cannot return all rows, and the errors of the statement.
    """
    query = drawing_query(statement)
    if query is None:
        return None
    try:
        frame = spark.sql(query.text, args, **frames)
    except SqlExtError as error:
        raise UnsupportedError("DRAWING", f"the matches cannot be drawn: {error.message}", hint=error.hint) from None
    check_ends(frame)
    names = {name.lower(): name for name in frame.columns}
    time, *own_keys = (names.get(name.lower(), name) for name in (query.time, *query.keys))
    query = replace(query, time=time, keys=tuple(own_keys))
    if query.time not in frame.columns:
        raise UnsupportedError(
            "DRAWING",
            f"{query.time} is no column of the rows, and cannot be drawn",
            hint="write ORDER BY with a column, computed in a subquery if need be.",
        )
    drawn = drawn_rows(frame, query, _result(spark, statement, args, frames))
    value = _value_column(drawn.rows, query)
    panels = list(panels_of(drawn, query))
    call = SqlCall(spark=spark, sql=unhooked(spark), text=query.text, args=args, frames=frames)
    panels, note = _with_misses(panels, call, query, value)
    count, near = sum(panel.rows[MATCH].nunique() for panel in panels), sum(len(panel.misses) for panel in panels)
    found = f"{count:,} {'match' if count == 1 else 'matches'}"
    found += f" and {near} near miss{'es' * (near != 1)}" if near else ""
    rows = sum(len(panel.rows) for panel in panels)
    title = f"{found} in {rows:,} rows{note}{drawn.left_out(rows, count, len(panels))}"
    return Drawing(picture(panels, query.time, value, title), title)


def _result(
    spark: SparkSession, statement: str, args: dict[str, Any] | None, frames: dict[str, DataFrame]
) -> DataFrame | None:
    """The result of a query; None for a statement that is no query, which is not run again."""
    read = read_statement(statement)
    return spark.sql(statement, args, **frames) if isinstance(read, OtherStatement) and read.is_query else None


def _with_misses(panels: list[Panel], call: SqlCall, query: DrawingQuery, value: str | None) -> tuple[list[Panel], str]:
    """The panels with their near misses, and a note for the title if these could not be looked for."""
    wanted = [panel.rows[KEY].iloc[0] for panel in panels if len(panel.rows)]
    columns = [query.time] if value is None else [query.time, value]
    try:
        with names_in_backticks(call) as named:
            found = plan_statement(named).near_misses(query.keys, wanted, columns)
    except (SqlExtError, PySparkException):
        return panels, ", near misses not looked for"
    drawn = (
        replace(
            panel, misses=tuple(m for m in _drawn(found[key], query.time, value) if _is_inside(m, panel, query.time))
        )
        if len(panel.rows) and (key := panel.rows[KEY].iloc[0]) in found
        else panel
        for panel in panels
    )
    return list(drawn), ""


def _drawn(found: PartitionMisses, time: str, value: str | None) -> Iterator[DrawnMiss]:
    """The near misses of a partition at the places where its rows are drawn."""
    times = found.columns[time]
    heights = [0.0] * len(times) if value is None else pd.to_numeric(found.columns[value], errors="coerce")
    for miss in found.misses:
        points = tuple((times[row], float(heights[row]), name) for row, name in miss.mapped)
        yield DrawnMiss(points, (times[miss.refused], float(heights[miss.refused])), miss.variable, miss.reason)


def _is_inside(miss: DrawnMiss, panel: Panel, time: str) -> bool:
    """Whether a near miss is among the drawn rows of a partition."""
    times = panel.rows[time]
    return all(times.min() <= at <= times.max() for at in (miss.refused[0], *(point[0] for point in miss.points)))


def _value_column(rows: pd.DataFrame, query: DrawingQuery) -> str | None:
    """The column that is drawn over time: the first numeric column that DEFINE names, or else the first numeric one;
    None if there is none."""
    skipped = {query.time, *query.keys, MATCH, VARIABLE, KEY}
    numeric = [name for name in rows.columns if name not in skipped and _is_number(rows[name])]
    words = [word.lower() for word in re.findall(r"\w+", query.conditions)]
    return min(
        numeric, key=lambda name: words.index(name.lower()) if name.lower() in words else len(words), default=None
    )


def _is_number(column: pd.Series) -> bool:
    return bool(pd.to_numeric(column, errors="coerce").notna().any()) and not pd.api.types.is_datetime64_any_dtype(
        column
    )


def panels_of(drawn: DrawnRows, query: DrawingQuery) -> Iterator[Panel]:
    """The partitions without their near misses, in the order in which they are drawn."""
    if not query.keys:
        yield Panel(drawn.parts.get(NO_KEYS, ""), drawn.rows)
        return
    groups = dict(iter(drawn.rows.groupby(KEY, sort=False)))
    later = sorted(groups.keys() - drawn.first, key=lambda key: _place(key, groups[key], query.keys))
    for key in [*(key for key in drawn.first if key in groups), *later][:MOST_PANELS]:
        shown = ("NULL" if value is None else value for value in _key_values(key, query.keys))
        title = ", ".join(f"{name} {value}" for name, value in zip(query.keys, shown))
        part = drawn.parts.get(key)
        yield Panel(f"{title}: {part}" if part else title, groups[key])


def _place(key: str, rows: pd.DataFrame, names: Sequence[str]) -> tuple[bool, list[tuple[int, float, str]]]:
    """The place of a partition in the order of the panels: those with matches first, then by the keys."""
    return not rows[MATCH].notna().any(), [_rank(value) for value in _key_values(key, names)]


def _key_values(key: str, names: Sequence[str]) -> list[Any]:
    """The values of the keys in JSON, which leaves NULLs out. In the columns of pandas a NULL makes numbers floats.

    >>> _key_values('{"k":7}', ["K", "sym"])
    [7, None]
    """
    values = {name.lower(): value for name, value in json.loads(key).items()}
    return [values.get(name.lower()) for name in names]


def _rank(value: Any) -> tuple[int, float, str]:
    """The place of a key in the order of the panels: numbers, then texts, then NULL."""
    if value is None:
        return 2, 0, ""
    return (0, value, "") if isinstance(value, (int, float)) else (1, 0, str(value))


def picture(panels: Sequence[Panel], time: str, value: str | None, title: str) -> str:
    """The SVG of the panels, without the header of a file. Its text and axes have the colour of the text around it."""
    out = StringIO()
    with rc_context(_STYLE):  # type: ignore[arg-type]  # the keys are not literals
        figure = _figure(panels, time, value, title)
        figure.savefig(out, format="svg", dpi=150, transparent=True, metadata=_NO_METADATA)
    svg = out.getvalue().replace(_INK, "currentColor").replace("*{stroke", ".sqlext svg *{stroke")  # not for the page
    return re.sub(r' (?:width|height)="[\d.]+pt"', "", svg[svg.index("<svg") :], count=2)  # the style has the size


def _figure(panels: Sequence[Panel], time: str, value: str | None, title: str) -> Figure:
    figure = Figure(figsize=(9, 0.8 + 1.9 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    mapped = [name for panel in panels for name in panel.rows[VARIABLE].dropna()]
    missed = [name for panel in panels for miss in panel.misses for *_, name in miss.points]
    refused = [miss.variable for panel in panels for miss in panel.misses if miss.variable]
    variables = list(dict.fromkeys([*mapped, *missed, *refused]))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(variables)}
    for axis, panel in zip(axes, panels):
        _draw_panel(axis, panel.rows.sort_values(time, kind="stable"), time, value, colours)
        _draw_misses(axis, panel.misses, colours)
        axis.set_title(panel.title, loc="left", fontsize=9)
        axis.set_ylabel(value or "", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel(time, fontsize=9)
    figure.suptitle(title, fontsize=10)
    handles = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels())}
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _draw_panel(axis: Any, rows: pd.DataFrame, time: str, value: str | None, colours: dict[str, str]) -> None:
    heights = pd.to_numeric(rows[value], errors="coerce") if value is not None else pd.Series(0, index=rows.index)
    is_dense = len(rows) > _MOST_POINTS
    grey = {"color": "#b0b0b0", "linewidth": 1, "marker": ".", "markersize": 3}
    axis.plot(rows[time], heights, **grey, zorder=1, rasterized=is_dense)
    for i, (_, match) in enumerate(rows.dropna(subset=[MATCH]).groupby(MATCH)):
        axis.axvspan(match[time].min(), match[time].max(), color="#4c72b0", alpha=0.12 if i % 2 else 0.2, zorder=0)
    for name, colour in colours.items():
        chosen = rows[VARIABLE] == name
        if chosen.any():
            points = rows[time][chosen], heights[chosen]
            axis.scatter(*points, color=colour, s=18, label=name, zorder=2, rasterized=is_dense)


def _draw_misses(axis: Any, misses: Sequence[DrawnMiss], colours: dict[str, str]) -> None:
    """The rows of near misses as hollow circles, and the refused rows as crosses with what refused them."""
    first, last = axis.get_xlim()
    for i, miss in enumerate(misses):
        for time, height, name in miss.points:
            axis.scatter([time], [height], facecolors="none", edgecolors=colours[name], s=42, linewidths=1.2, zorder=3)
        time, height = miss.refused
        colour = colours.get(miss.variable, _INK)
        axis.scatter([time], [height], color=colour, marker="x", s=30, linewidths=1.2, zorder=4)
        if i < MOST_LABELS:
            reason = miss.reason if len(miss.reason) <= LONGEST_LABEL else miss.reason[:LONGEST_LABEL] + "…"
            is_late = axis.convert_xunits(time) > (first + last) / 2
            side, up = ("right" if is_late else "left"), 7 if i % 2 == 0 else -13
            axis.annotate(
                reason, (time, height), (0, up), textcoords="offset points", ha=side, fontsize=7, color=colour
            ).set_in_layout(False)
