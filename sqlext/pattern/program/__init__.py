"""Patterns, and the programs that they are compiled to."""
