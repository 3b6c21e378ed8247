"""Pattern rules on executors."""
