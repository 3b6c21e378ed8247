"""Spark's expressions, computed in a Python worker where Spark cannot, because values of several rows meet.

`function_table` has one list of functions, `parameter_types` (the types to which Spark casts their arguments) and
`bind` (a Python function that computes Spark's value). `values` defines the Python value of each Spark type.
"""
