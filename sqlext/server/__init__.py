"""A server that keeps Spark started, and runs commands of the command line in forks of a warm Python."""
