"""The clauses as functions on DataFrames: each composes the statement of its clause and returns its DataFrame."""
