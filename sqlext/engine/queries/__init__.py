"""What the engine reads from Spark: queries, types, errors, settings and functions of the session."""
