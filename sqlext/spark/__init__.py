"""What differs between Spark's versions, sessions and clusters."""
