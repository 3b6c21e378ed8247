"""A CTE that is random is carried to a clause only if nothing else reads it."""

from __future__ import annotations

import pytest

from sqlext.errors import UnsupportedError
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.sources import check_repeatable, visible_ctes

CLAUSE = "MATCH_RECOGNIZE (ORDER BY i PATTERN (A) DEFINE A AS i > 0)"
RANDOM = "WITH c AS (SELECT id AS i, rand() AS r FROM range(3)) "


def check(text: str) -> None:
    tree = read_tree(text)
    for site in scan(text):
        check_repeatable(tree, visible_ctes(tree, site.whole), [site.relation])


@pytest.mark.parametrize(
    "text",
    [
        RANDOM + f"SELECT * FROM c {CLAUSE}",
        RANDOM + f"SELECT c.i, c.r FROM (SELECT * FROM c) {CLAUSE} AS m",
        f"WITH c AS (SELECT i, rand FROM t) SELECT * FROM c, c {CLAUSE}",
        RANDOM + f", d AS (SELECT 1 AS i) SELECT * FROM c, c AS x, d {CLAUSE}",
    ],
)
def test_nothing_can_differ(text):
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        RANDOM + f"SELECT * FROM c, c {CLAUSE}",
        RANDOM + f", d AS (SELECT * FROM c) SELECT * FROM c JOIN d {CLAUSE} AS m",
        f"WITH c AS (SELECT * FROM t TABLESAMPLE (5 ROWS)) SELECT * FROM c {CLAUSE} AS a UNION ALL SELECT * FROM c",
    ],
)
def test_two_readers_would_see_other_rows(text):
    with pytest.raises(UnsupportedError, match="RANDOM_CTE"):
        check(text)
