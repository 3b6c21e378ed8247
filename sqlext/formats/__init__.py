"""What the tables of each format can do, and how Spark is told: Delta, Iceberg, and Parquet, which lacks most of it."""
