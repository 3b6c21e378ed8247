"""EXPLAIN MATCH WHY: why rows are, or are not, in a match, and the smallest changes of the clause that match them."""
