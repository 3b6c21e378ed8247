"""What executors need of the engine: `sqlext_match`, whose calls are analysed and run in processes of Spark."""
