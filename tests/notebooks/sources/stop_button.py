# Databricks notebook source
# MAGIC %md A stream goes on when its cell has ended; the button below it stops it.

# COMMAND ----------

spark.conf.unset("sqlext.stream.trigger")

# COMMAND ----------

# MAGIC %sql
# MAGIC CREATE STREAMING TABLE copies AS SELECT * FROM STREAM quotes

# COMMAND ----------

from ipywidgets import Widget

models = Widget.get_manager_state()["state"]
button = next(model for model, content in models.items() if content["model_name"] == "ButtonModel")
before = [query.isActive for query in spark.streams.active]
click = {"comm_id": button, "data": {"method": "custom", "content": {"event": "click"}}}  # the message of a front end
get_ipython().kernel.comm_manager.comm_msg(None, None, {"content": click, "buffers": []})
print(before, spark.streams.active)
