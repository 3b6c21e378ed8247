"""Windows with row patterns on Spark."""
