-- Databricks notebook source
-- MAGIC %md
-- MAGIC # Falls and rises
-- MAGIC
-- MAGIC Where does a price fall for at least `:falls` days in a row, and then rise again?

-- COMMAND ----------

CREATE WIDGET TEXT falls DEFAULT '2'

-- COMMAND ----------

CREATE OR REPLACE TEMPORARY VIEW ticker AS
SELECT symbol, DATE '2026-03-02' + pos AS day, price
FROM VALUES ('ACME', array(20, 18, 15, 17, 21, 19, 16, 18, 18, 20)), ('GLOBEX', array(30, 31, 32, 30, 28, 27, 29, 33))
  AS series(symbol, prices) LATERAL VIEW posexplode(prices) AS pos, price

-- COMMAND ----------

-- DBTITLE 1,Rebounds
-- sqlext: --draw
SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY day
  MEASURES
    FIRST(down.day) AS fell_from,
    LAST(up.day)    AS rose_until,
    MIN(down.price) AS bottom,
    COUNT(down.*)   AS falls
  PATTERN (start down{2,} up+)
  DEFINE
    down AS price < PREV(price),
    up   AS price > PREV(price)
)
WHERE falls >= :falls

-- COMMAND ----------

-- MAGIC %python
-- MAGIC print("the deepest fall ends at", min(row.bottom for row in _sqldf.collect()))
