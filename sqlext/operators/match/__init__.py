"""MATCH_RECOGNIZE on executors."""
