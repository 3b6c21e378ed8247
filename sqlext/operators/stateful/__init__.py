"""The stateful operator: its protocol, its bucket of keys, and the log of its state."""
