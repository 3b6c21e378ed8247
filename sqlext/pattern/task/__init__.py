"""What a matcher reads and returns."""
