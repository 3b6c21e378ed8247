"""What a measure reads: rows of a match, aggregates over these rows, and the event time of a result row."""
