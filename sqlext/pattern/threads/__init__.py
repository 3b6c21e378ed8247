"""The matcher for conditions that read the path of a match."""
