"""INTERVAL JOIN and ASOF JOIN: from text to text of Spark's own SQL."""
