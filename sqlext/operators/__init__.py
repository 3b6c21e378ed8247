"""What executors run: Arrow in, Arrow out, without Spark."""
