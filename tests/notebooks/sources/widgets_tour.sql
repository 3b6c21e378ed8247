-- Databricks notebook source
-- MAGIC %md
-- MAGIC # Widgets
-- MAGIC
-- MAGIC The examples of Databricks' documentation, on our own rows: "Databricks widgets" (all kinds of widgets in SQL and
-- MAGIC Python, values in SQL in the new and the old way), "Develop code in Databricks notebooks" (`_sqldf`), and the source
-- MAGIC form of "Import and export Databricks notebooks".

-- COMMAND ----------

-- DBTITLE 1,Diamonds
CREATE OR REPLACE TABLE diamonds AS
SELECT * FROM VALUES
  (1, 'Good', 326), (2, 'Premium', 326), (3, 'Good', 327), (4, 'Fair', 334), (5, 'Good', NULL)
  AS t(id, cut, price);

-- COMMAND ----------

-- the value of a dropdown is one of its choices
CREATE WIDGET DROPDOWN cuts DEFAULT "Good" CHOICES SELECT DISTINCT cut FROM diamonds;
CREATE WIDGET DROPDOWN state DEFAULT "CA"
CHOICES SELECT * FROM (VALUES ("CA"), ("IL"), ("MI"), ("NY"), ("OR"), ("VA"));
CREATE WIDGET TEXT database DEFAULT "default";
CREATE WIDGET TEXT table DEFAULT "";
CREATE WIDGET TEXT filter_value DEFAULT "300"

-- COMMAND ----------

SELECT * FROM diamonds WHERE cut LIKE :cuts ORDER BY id

-- COMMAND ----------

-- MAGIC %python
-- MAGIC dbutils.widgets.remove("table")
-- MAGIC dbutils.widgets.text("table", "diamonds", "Table")
-- MAGIC dbutils.widgets.multiselect("colors", "orange", ["red", "orange", "black", "blue"], "Traffic Sources")
-- MAGIC dbutils.widgets.combobox("fruits", "apple", ["apple", "pear"])
-- MAGIC print(dict(dbutils.widgets.getAll()))

-- COMMAND ----------

SELECT id FROM IDENTIFIER(:database || '.' || :table) WHERE price == :filter_value ORDER BY id LIMIT 100

-- COMMAND ----------

SHOW TABLES IN IDENTIFIER(:database) LIKE 'dia*'

-- COMMAND ----------

SELECT getArgument("cuts") AS cuts, '${state}' AS state, cut, max(price) AS price
FROM ${database}.${table} WHERE price > ${filter_value} AND cut LIKE '%$cuts%' GROUP BY cut

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

REMOVE WIDGET state

-- COMMAND ----------

-- MAGIC %python
-- MAGIC dbutils.widgets.removeAll()
