"""Conditions that depend on the rows matched so far: strategy `threads`."""
