"""Why rows match or do not: what the search that defines matching tried, and its counts."""
