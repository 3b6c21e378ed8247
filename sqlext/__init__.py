"""Row pattern recognition for Apache Spark."""
