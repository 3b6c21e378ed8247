"""How often planning asks Spark: each query costs some 20 ms, and over Connect a round trip."""

from __future__ import annotations

from sqlext.engine.queries.queries import Queries

V_SHAPE = """
    SELECT * FROM VALUES (1, 'a', 2.0D) AS t(day, symbol, price) MATCH_RECOGNIZE (
      PARTITION BY symbol ORDER BY day
      MEASURES FIRST(down.day) AS fell_from, LAST(up.day) AS rose_until, MIN(down.price) AS bottom
      AFTER MATCH SKIP TO LAST up
      PATTERN (start down+ up+) WITHIN 5
      DEFINE down AS price < PREV(price), up AS price > PREV(price))"""


def test_a_clause_is_planned_with_five_queries(spark, monkeypatch):
    texts = []
    execute = Queries.execute
    monkeypatch.setattr(Queries, "execute", lambda self, text: texts.append(str(text)) or execute(self, text))
    spark.sql(V_SHAPE)
    assert len(texts) == 5, texts
