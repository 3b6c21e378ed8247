"""Lowers a clause, with the types of its columns, to the plan of an operator."""
