"""Row pattern matching without Spark: pattern → Program → Spans → navigation values. numpy and numba only."""
