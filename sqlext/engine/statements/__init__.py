"""A statement from text to DataFrame: plan, run, explain; scripts and stored views."""
