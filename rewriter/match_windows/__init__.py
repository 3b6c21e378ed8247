"""Row patterns in windows (feature R020 of the standard)."""
