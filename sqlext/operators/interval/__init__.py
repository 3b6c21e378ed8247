"""INTERVAL JOIN of two relations that one process has read."""
