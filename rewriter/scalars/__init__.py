"""Scalar text: its references, functions and types."""
