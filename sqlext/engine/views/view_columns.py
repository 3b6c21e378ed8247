"""The columns of a stored view: the columns that its query had when the view was created, even if its tables have more
now."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from sqlext.catalog.views import View
from sqlext.errors import BindError, Place


def view_columns(frame: DataFrame, view: View, place: Place) -> DataFrame:
    """The rows of the view's query, with the names and types of the view's columns.

    Raises BindError INCOMPATIBLE_VIEW_SCHEMA_CHANGE, as Spark does, if a column no longer exists.
    """
    stored = t.StructType.fromJson(json.loads(view.query_columns)).fields if view.query_columns else None
    current = frame.schema.fields
    if stored is None or _kinds(stored) == _kinds(current):
        return frame.toDF(*view.columns) if view.columns else frame
    positions = _positions(stored, current, view, place)
    names = view.columns or [field.name for field in stored]
    numbered = frame.toDF(*(f"c{i}" for i in range(len(current))))
    columns = []
    for name, field, position in zip(names, stored, positions):
        column = f.col(f"c{position}")
        has_type = field.dataType.simpleString() == current[position].dataType.simpleString()
        columns.append((column if has_type else column.cast(field.dataType)).alias(name))
    return numbered.select(*columns)


def _kinds(fields: Sequence[t.StructField]) -> list[tuple[str, str]]:
    return [(field.name.lower(), field.dataType.simpleString()) for field in fields]


def _positions(
    stored: Sequence[t.StructField], current: Sequence[t.StructField], view: View, place: Place
) -> list[int]:
    """The current positions of the stored columns. If several columns have one name, the first stored is the first
    current one."""
    places: dict[str, list[int]] = {}
    for i, field in enumerate(current):
        places.setdefault(field.name.lower(), []).append(i)
    counts = Counter(field.name.lower() for field in stored)
    positions = []
    for field in stored:
        name = field.name.lower()
        there = places.get(name, [])
        if len(there) != counts[name]:
            raise BindError(
                "INCOMPATIBLE_VIEW_SCHEMA_CHANGE",
                f"the query of the view {view.name} had {_times(counts[name])} {field.name}, and has "
                f"{_times(len(there))} of that name now",
                place=place,
                hint=f"CREATE OR REPLACE VIEW {view.name} AS {' '.join(view.text.split())}",
            )
        positions.append(there.pop(0))
        counts[name] -= 1
    return positions


def _times(count: int) -> str:
    return {0: "no column", 1: "one column"}.get(count, f"{count} columns")
