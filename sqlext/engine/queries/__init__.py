"""What Spark is asked: queries, types, errors, settings and functions of the session."""
