# Databricks notebook source
# MAGIC %md Prices of two symbols, for other notebooks

# COMMAND ----------

rows = [("ACME", d, p) for d, p in enumerate([20, 18, 15, 17, 21, 19, 16, 18, 18])]
rows += [("GLOBEX", d, p) for d, p in enumerate([30, 31, 32, 30, 33])]
spark.createDataFrame(rows, "symbol STRING, day INT, price INT").createOrReplaceTempView("prices")

# COMMAND ----------

dbutils.widgets.text("symbol", "ACME")

# COMMAND ----------

# DBTITLE 1,One symbol
# MAGIC %sql
# MAGIC SELECT count(*) AS days FROM prices WHERE symbol = :symbol
