"""MATCH_RECOGNIZE on Spark, in each of its forms."""
