"""Which relations are files that a worker reads by itself, and what it computes of their rows."""
