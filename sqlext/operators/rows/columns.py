"""The columns that the driver and executors exchange: their names, and the keys by which rows are sorted."""

from __future__ import annotations

from dataclasses import dataclass

PARTITION_START = "__first"  # Boolean input column: true where a partition begins
WITHIN_KEY, WITHIN_END = "__key", "__end"  # for WITHIN: the first ORDER BY key, and that key plus the bound
ROW_TIME = "__time"  # for MATCH_ROWTIME() and streams without WITHIN: the first ORDER BY key; the time of a join's row
LATE_ROW = "__row"  # for streams with a table for late rows: the whole row of the relation as JSON
FAILURE = "__failure"  # for streams: what could not be computed on the row, NULL if nothing failed
NOT_COMPUTED = "__not_computed_"  # prefix of a column's name: Boolean, true on rows where it could not be computed
CLASSIFIER_FIELD = "__classifier"  # among Slot.columns of members: CLASSIFIER() of each row
IS_MATCHED = "__is_matched"  # Boolean output column with WITH UNMATCHED ROWS
IS_ABLE = "__able"  # Boolean input column of a join: whether a row may have a partner
SORT_ONLY = "__sort"  # prefix of a column's name: an ORDER BY key that nothing else reads


@dataclass(frozen=True)
class SortKey:
    """A column by which rows are ordered."""

    column: str
    is_descending: bool = False
    nulls_last: bool = False
