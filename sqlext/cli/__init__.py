"""The commands of `sqlext`, each in a file."""
