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


def test_a_clause_is_planned_with_three_queries(spark, monkeypatch):
    texts = []
    begin = Queries.__init__

    def begin_counting(self, sql, *arguments, **options):
        begin(self, lambda text, **named: texts.append(str(text)) or sql(text, **named), *arguments, **options)

    monkeypatch.setattr(Queries, "__init__", begin_counting)
    spark.sql(V_SHAPE)
    assert len(texts) == 3, texts
