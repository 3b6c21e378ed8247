"""Joins on time: each is bound to the types that Spark finds, and written in Spark's own SQL."""
