"""What a stream takes up from a table of rules, if no setting says otherwise. `sqlext check` reads it without NumPy."""

MAX_VERSIONS = 10_000
MAX_LENGTH = 100_000  # in characters of a rule
