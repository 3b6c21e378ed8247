"""Clauses as plain Spark SQL that calls the table function `sqlext_match`."""
