"""What runs in Python workers: Arrow batches in, result rows out. No pyspark."""
