"""Draws a MATCH_RECOGNIZE: its rows over time, with each match shaded and each row in the colour of its variable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from pyspark.sql import SparkSession

from sqlext.engine.streams.streaming_tables import check_ends
from sqlext.errors import SqlExtError, UnsupportedError
from sqlext.notebooks.drawing_query import MATCH, VARIABLE, DrawingQuery, drawing_query
from sqlext.notebooks.theme import in_theme

MOST_ROWS, MOST_PANELS = 10_000, 6
_MOST_POINTS = 1_000  # of a panel in SVG; more are a picture inside it, because each point takes 80 bytes
_INK = "#010203"  # drawn for text and axes; in the SVG the colour of the text around it takes its place
_STYLE = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
    "svg.fonttype": "none",  # text stays text, in a font of the page
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


def draw_matches(spark: SparkSession, statement: str, args: dict[str, Any] | None = None) -> Drawing | None:
    """Draw the last MATCH_RECOGNIZE of a statement; None if it has none.

    At most 10,000 rows are read, and six partitions are drawn, partitions with matches first. Raises UnsupportedError
    (DRAWING) if the clause cannot return all rows, and the errors of the statement.
    """
    query = drawing_query(statement)
    if query is None:
        return None
    try:
        frame = spark.sql(query.text, args)
    except SqlExtError as error:
        raise UnsupportedError("DRAWING", f"the matches cannot be drawn: {error.message}", hint=error.hint) from None
    check_ends(frame)
    if query.time not in frame.columns:
        raise UnsupportedError(
            "DRAWING",
            f"{query.time} is no column of the rows, and cannot be drawn",
            hint="write ORDER BY with a column, computed in a subquery if need be.",
        )
    rows = frame.limit(MOST_ROWS).toPandas()
    value = _value_column(rows, query)
    panels = list(_panels(rows, query))
    count = sum(panel[MATCH].nunique() for _, panel in panels)
    title = f"{count} {'match' if count == 1 else 'matches'} in {len(rows):,} rows"
    return Drawing(picture(panels, query.time, value, title), title)


def _value_column(rows: pd.DataFrame, query: DrawingQuery) -> str | None:
    """The column that is drawn over time: the first numeric column that DEFINE names, or else the first numeric one;
    None if there is none."""
    skipped = {query.time, *query.keys, MATCH, VARIABLE}
    numeric = [name for name in rows.columns if name not in skipped and _is_number(rows[name])]
    words = [word.lower() for word in re.findall(r"\w+", query.conditions)]
    return min(
        numeric, key=lambda name: words.index(name.lower()) if name.lower() in words else len(words), default=None
    )


def _is_number(column: pd.Series) -> bool:
    return bool(pd.to_numeric(column, errors="coerce").notna().any()) and not pd.api.types.is_datetime64_any_dtype(
        column
    )


def _panels(rows: pd.DataFrame, query: DrawingQuery) -> Iterator[tuple[str, pd.DataFrame]]:
    """The partitions, each with its title; partitions with matches come first."""
    if not query.keys:
        yield "", rows
        return
    groups = [(key, group) for key, group in rows.groupby(list(query.keys), sort=True, dropna=False)]
    groups.sort(key=lambda item: not item[1][MATCH].notna().any())
    for key, group in groups[:MOST_PANELS]:
        yield ", ".join(f"{name} {value}" for name, value in zip(query.keys, key)), group


def picture(panels: Sequence[tuple[str, pd.DataFrame]], time: str, value: str | None, title: str) -> str:
    """The SVG of the panels, without the header of a file. Its text and axes have the colour of the text around it."""
    out = StringIO()
    with rc_context(_STYLE):  # type: ignore[arg-type]  # the keys are not literals
        figure = _figure(panels, time, value, title)
        figure.savefig(out, format="svg", dpi=150, transparent=True, metadata=_NO_METADATA)
    svg = out.getvalue().replace(_INK, "currentColor").replace("*{stroke", ".sqlext svg *{stroke")  # not for the page
    return re.sub(r' (?:width|height)="[\d.]+pt"', "", svg[svg.index("<svg") :], count=2)  # the style has the size


def _figure(panels: Sequence[tuple[str, pd.DataFrame]], time: str, value: str | None, title: str) -> Figure:
    figure = Figure(figsize=(9, 0.8 + 1.9 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    variables = list(dict.fromkeys(name for _, rows in panels for name in rows[VARIABLE].dropna()))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(variables)}
    for axis, (name, rows) in zip(axes, panels):
        _draw_panel(axis, rows.sort_values(time, kind="stable"), time, value, colours)
        axis.set_title(name, loc="left", fontsize=9)
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
