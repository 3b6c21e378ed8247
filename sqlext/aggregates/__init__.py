"""Spark's aggregate functions, and how each is computed."""
