"""The structure of a statement: its queries, relations, joins and CTEs, read from its tokens once."""
