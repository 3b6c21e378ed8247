"""Which keys a query has: keys.txt holds queries with their separable columns, or the reason why they have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.rewriter.refresh_keys.plain_query import plain_query
from sqlext.rewriter.refresh_keys.separable import (
    NotSeparableError,
    Rows,
    SeparableColumn,
    SourceColumn,
    separable_columns,
)
from sqlext.rewriter.tree.sources import relations

_, *BLOCKS = Path(__file__).with_name("keys.txt").read_text("utf-8").split("\n== ")
CASES = {title: block for title, _, block in (text.partition("\n") for text in BLOCKS)}
COLUMNS = {"t": ("k", "j", "v", "ts"), "u": ("k", "j", "w", "ts"), "r": ("name",)}


def keys_of(query: str) -> str:
    sources = [name.parts[-1] for name in relations(query)]
    names = [f"__source_{i}" for i in range(len(sources))]
    tables = {
        name: Rows(tuple(SeparableColumn(c, frozenset({SourceColumn(i, c)})) for c in COLUMNS[source]))
        for i, (name, source) in enumerate(zip(names, sources))
    }
    try:
        columns = separable_columns(plain_query(query, names), tables)
    except NotSeparableError as reason:
        return str(reason)
    lineages = {c.name: " ".join(map(shown, sorted(c.lineage))) for c in columns if c.lineage}
    return "\n".join(f"{name}: {lineage}" for name, lineage in lineages.items())


def shown(column: SourceColumn) -> str:
    window = f" {column.window.end} of {column.window.size}+{column.window.offset}" if column.window else ""
    return f"{column.source}.{column.name}{window}"


@pytest.mark.parametrize("title", CASES)
def test_a_query_has_these_separable_columns(title):
    query, _, expected = CASES[title].partition("\n--\n")
    assert keys_of(query) == expected.strip("\n")
