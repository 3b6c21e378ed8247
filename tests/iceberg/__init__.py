"""Iceberg instead of Delta, on Spark 4.1, because its runtime has no build for the Spark of the suite."""
