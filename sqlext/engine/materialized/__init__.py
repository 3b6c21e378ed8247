"""Materialized views: created, and brought up to date by the keys whose rows have changed."""
