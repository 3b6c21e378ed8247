"""A statement from text to DataFrame: planned, run and explained; scripts and stored views."""
