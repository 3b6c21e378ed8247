"""Events and keys as JSON, for the tables of late rows and of failed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sqlext.expressions.values import from_arrow
from sqlext.operators.rules.rule_results import json_of, json_value
from sqlext.operators.rules.rule_versions import TakenVersion
from sqlext.operators.stateful.side_rows import failure_table


def row_texts(columns: Mapping[str, pa.Array], types: Sequence[tuple[str, str]]) -> list[str]:
    """Each row as a JSON object of the columns in `types` (name, Spark type); times are in UTC, NULL is left out.

    >>> row_texts({"k": pa.array(["a", None]), "v": pa.array([1, 2])}, [("k", "string"), ("v", "bigint")])
    ['{"k":"a","v":1}', '{"v":2}']
    """
    values = zip(*(from_arrow(columns[name], kind) for name, kind in types))
    return [
        json_of({name: json_value(v, kind) for v, (name, kind) in zip(row, types) if v is not None}) for row in values
    ]


def failure_rows(version: TakenVersion, times: np.ndarray, errors: Sequence[str], rows: Sequence[str]) -> pa.Table:
    """The failures, with the columns FAILURES. `times`: int64 microseconds; `errors`: the class and the message of
    each."""
    return failure_table(times, [f"{version.name} {version.version}: {error}" for error in errors], rows)
