"""What a measure reads: rows of a match, aggregates over them, and the event time of a result row."""
