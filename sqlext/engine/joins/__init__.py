"""Joins on time: what Spark is asked before they are written as Spark's own."""
