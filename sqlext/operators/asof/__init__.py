"""ASOF JOIN of two streams on executors."""
