-- Databricks notebook source
-- MAGIC %md
-- MAGIC # Widgets
-- MAGIC
-- MAGIC The statements follow the examples of Databricks' documentation of notebook widgets,
-- MAGIC on our own rows.

-- COMMAND ----------

-- DBTITLE 1,Diamonds
CREATE OR REPLACE TEMPORARY VIEW diamonds AS
SELECT * FROM VALUES
  (1, 'Good', 326), (2, 'Premium', 326), (3, 'Good', 327), (4, 'Fair', 334), (5, 'Good', NULL)
  AS t(id, cut, price);

-- COMMAND ----------

CREATE WIDGET DROPDOWN cuts DEFAULT "Good" CHOICES SELECT DISTINCT cut FROM diamonds;
CREATE WIDGET TEXT table DEFAULT "diamonds";
CREATE WIDGET TEXT filter_value DEFAULT "300";

-- COMMAND ----------

SELECT * FROM diamonds WHERE cut LIKE :cuts

-- COMMAND ----------

SELECT count(*) AS n FROM IDENTIFIER(:table) WHERE price > :filter_value

-- COMMAND ----------

SELECT cut, max(price) AS price FROM ${table} WHERE price > ${filter_value} AND cut = getArgument("cuts") GROUP BY cut

-- COMMAND ----------

-- MAGIC %python
-- MAGIC first = _sqldf.first()
-- MAGIC print(dbutils.widgets.get("cuts"), getArgument("filter_value"), first.price)
-- MAGIC
-- MAGIC display(_sqldf)

-- COMMAND ----------

-- MAGIC %run ./prices

-- COMMAND ----------

-- DBTITLE 1,Falls and rises
SELECT * FROM prices MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY day
  MEASURES FIRST(down.day) AS fell_from, LAST(up.day) AS rose_until
  PATTERN (start down{1,} up+)
  DEFINE down AS price < PREV(price), up AS price > PREV(price)
)

-- COMMAND ----------

REMOVE WIDGET cuts
