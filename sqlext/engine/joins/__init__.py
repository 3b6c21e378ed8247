"""Joins on time: each is bound to the types that Spark reports, and written in Spark's own SQL."""
