"""Clauses whose names are shared give on Spark the rows of their twins, in which each thing has a name of its own."""

from __future__ import annotations

import pytest

from tests.rewriter.scopes import COLUMNS, RELATION, Draw, Names
from tests.sampling import sample, seeded

pytestmark = pytest.mark.spark
ROWS = """VALUES
  (1, 2, array(named_struct('f', 1, 'g', -2), named_struct('f', 3, 'g', 0)), named_struct('f', 5, 'g', 7)),
  (2, -3, array(named_struct('f', -4, 'g', 4)), named_struct('f', 0, 'g', -1)),
  (3, 0, array(named_struct('f', 0, 'g', 0)), named_struct('f', 1, 'g', 1)),
  (4, 11, array(named_struct('f', 2, 'g', 2)), named_struct('f', -6, 'g', 3)),
  (5, 4, NULL, named_struct('f', 8, 'g', 9))"""


def rows(spark, text: str, names: Names) -> list[str]:
    columns = ", ".join(names[column] for column in COLUMNS)
    query = text.replace(f"FROM rows AS {names[RELATION]} ", f"FROM {ROWS} AS {names[RELATION]}({columns}) ")
    assert query != text
    return sorted(str(tuple(row)) for row in spark.sql(query).collect())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("number", sample(range(10_000), 1000))
def test_shared_names_give_the_rows_of_names_that_nothing_shares(spark, number):
    draw = Draw(seeded(number))
    trees = draw.trees()
    shared, unique = (rows(spark, draw.text(trees, names), names) for names in (draw.names, draw.unique))
    assert shared == unique, draw.text(trees, draw.names)
