"""Reads the text of scalar expressions: its references, functions and types."""
