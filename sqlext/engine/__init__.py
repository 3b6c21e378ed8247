"""Runs plans on Spark."""
