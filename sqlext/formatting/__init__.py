"""The layout of SQL text, and the templater for sqlfluff."""
