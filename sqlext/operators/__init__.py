"""Operators that run on executors: they take Arrow and return Arrow, without Spark."""
