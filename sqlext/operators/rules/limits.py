"""What a stream takes up from a table of rules, if no setting says otherwise."""

from __future__ import annotations

MAX_VERSIONS = 10_000
MAX_LENGTH = 100_000  # characters of a rule
