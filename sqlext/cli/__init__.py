"""Each command of `sqlext` in a file."""
