"""Conditions on rows and on paths."""
