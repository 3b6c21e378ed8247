"""Spark's aggregate functions, computed row by row in a Python worker: one list, one interface.

`aggregate_table` has the list AGGREGATES and the function `aggregate`, which binds one of them to its types. The states
of an `Aggregator` are values, so that a search through paths may keep and resume them.
"""
