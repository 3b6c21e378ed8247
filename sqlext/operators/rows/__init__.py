"""Conversion between Arrow and NumPy, and the order of rows."""
