"""Spark's aggregate functions, computed row by row in a Python worker: one list, one way to bind a call.

`aggregate_table` has the list AGGREGATES with every fact about an aggregate, `bind` the function `bind_aggregate`. The
states of an `Aggregator` are values, so that a search through paths may keep and resume them.
"""
