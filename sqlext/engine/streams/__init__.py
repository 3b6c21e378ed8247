"""Streaming tables and their side tables, and how an operator runs on a stream."""
