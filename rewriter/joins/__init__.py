"""Rewrites INTERVAL JOIN and ASOF JOIN as text in Spark's own SQL."""
