-- Databricks notebook source
-- MAGIC %run ./widgets_tour

-- COMMAND ----------

-- MAGIC %run ./stream

-- COMMAND ----------

-- MAGIC %run ./stop_button

-- COMMAND ----------

-- MAGIC %run ./rebounds $falls=3

-- COMMAND ----------

-- DBTITLE 1,A mistake
SELECT 1 AS one;
SELECT * FROM prices MATCH_RECOGNIZE (
  ORDER BY day PATTERN (a) DEFINE b AS true)

-- COMMAND ----------

SELECT 'never run'
