"""Limits on the rules that a stream takes up from a table, if no setting says otherwise."""

from __future__ import annotations

MAX_VERSIONS = 10_000
MAX_LENGTH = 100_000  # in characters of a rule
