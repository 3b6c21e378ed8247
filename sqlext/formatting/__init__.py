"""The layout of SQL text, and the templater of sqlfluff."""
