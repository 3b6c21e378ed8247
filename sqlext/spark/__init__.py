"""The differences between Spark's versions, sessions and clusters."""
