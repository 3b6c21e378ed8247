"""Which partitions and rows of a large input are drawn, and what the title says of the others."""

from __future__ import annotations

import pytest

from sqlext.notebooks import draw_matches
from sqlext.notebooks.draw_matches import panels_of

pytestmark = pytest.mark.spark
CLAUSE = """MATCH_RECOGNIZE ({} ORDER BY t MEASURES A.t AS at PATTERN (A B) DEFINE A AS v = 10, B AS v = 10)"""


@pytest.fixture(scope="module")
def drawn(spark):
    """A function that returns the panels, as (title, rows, different values), and the title of a drawing."""
    spark.range(40_000).selectExpr(
        "CAST(id AS INT) AS t", "id % 8 AS k", "IF(id % 8 IN (3, 7) AND id div 8 BETWEEN 4000 AND 4001, 10, 1) AS v"
    ).createOrReplaceTempView("many_rows")

    def draw(statement: str):
        panels = []

        def noted(*args):
            for panel in panels_of(*args):
                panels.append((panel.title, len(panel.rows), sorted(panel.rows["v"].unique().tolist())))
                yield panel

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(draw_matches, "panels_of", noted)
            return panels, draw_matches.draw_matches(spark, statement).title

    yield draw
    spark.catalog.dropTempView("many_rows")


def test_whole_partitions_are_drawn_and_the_title_says_what_is_not(drawn):
    panels, title = drawn(f"SELECT at FROM many_rows {CLAUSE.format('PARTITION BY k')}")
    assert panels == [("k 3", 5_000, [1, 10]), ("k 7", 5_000, [1, 10])]
    assert title == "2 matches in 10,000 rows; not drawn: 6 partitions, 30,000 rows"


def test_the_partitions_that_the_result_shows_come_first(drawn):
    panels, _ = drawn(f"SELECT * FROM many_rows {CLAUSE.format('PARTITION BY k')} WHERE k > 3")
    assert panels == [("k 7", 5_000, [1, 10]), ("k 3", 5_000, [1, 10])]


def test_of_one_large_partition_the_rows_from_its_first_match_on_are_drawn(drawn):
    panels, title = drawn(f"SELECT * FROM many_rows {CLAUSE.format('')}".replace("A B", "A X{7} B"))
    assert panels == [("rows 32,004 to 40,000 of 40,000", 7_997, [1, 10])]
    assert title == "1 match in 7,997 rows; not drawn: 32,003 rows"
