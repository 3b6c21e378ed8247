"""The relations that the data files read."""

from __future__ import annotations

import pytest

from sqlext.catalog import views
from sqlext.sessions.hook import unhooked

VIEWS = {
    "trades": """VALUES (1, 'A', 10), (2, 'A', 20), (3, 'B', 15), (4, 'B', 5), (5, NULL, 12), (6, 'A', NULL),
        (7, 'A', 20) AS t(id, sym, at)""",
    "quotes": """VALUES ('A', 10, 100), ('A', 10, 99), ('A', 15, 101), ('A', 25, 103), ('B', 15, 200), (NULL, 11, 300),
        ('C', 1, 400), ('A', NULL, 999) AS q(sym, at, price)""",
    "imps": """VALUES (1, 'x', TIMESTAMP'2024-05-01 10:00:00'), (2, 'x', TIMESTAMP'2024-05-01 10:10:00'),
        (3, 'y', TIMESTAMP'2024-05-01 10:00:00'), (4, NULL, TIMESTAMP'2024-05-01 10:00:00'), (5, 'x', NULL)
        AS i(id, ad, at)""",
    "clks": """VALUES (11, 'x', TIMESTAMP'2024-05-01 10:05:00'), (12, 'x', TIMESTAMP'2024-05-01 10:10:00'),
        (13, 'y', TIMESTAMP'2024-05-01 10:30:00'), (14, NULL, TIMESTAMP'2024-05-01 10:00:00'), (15, 'x', NULL),
        (16, 'x', TIMESTAMP'2024-05-01 10:05:00') AS c(id, ad, at)""",
    "seasons": """VALUES ('early', 'x', TIMESTAMP'2024-05-01 10:00:00', TIMESTAMP'2024-05-01 10:06:00'),
        ('ever', 'x', TIMESTAMP'1900-01-01 00:00:00', TIMESTAMP'9999-12-31 00:00:00'),
        ('none', 'x', NULL, TIMESTAMP'9999-12-31 00:00:00'),
        ('open', 'y', TIMESTAMP'2024-05-01 10:00:00', TIMESTAMP'9999-12-31 00:00:00'),
        ('reversed', 'x', TIMESTAMP'2024-05-01 10:10:00', TIMESTAMP'2024-05-01 10:00:00')
        AS s(name, ad, start, stop)""",
    "names": "VALUES ('A', 'Ay'), ('B', 'Bee') AS n(sym, name)",
}

# For many joins of few rows: most of the time would be compiling code.
QUICK = {"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.enabled": "false"}


@pytest.fixture(scope="package")
def given(spark):
    """The session with the views."""
    for name, rows in VIEWS.items():
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {rows}")
    yield spark
    for name in VIEWS:
        spark.catalog.dropTempView(name)
    unhooked(spark)(f"DROP TABLE IF EXISTS {views.TABLE}")  # else every DROP VIEW asks it
