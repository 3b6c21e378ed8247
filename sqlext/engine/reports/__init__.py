"""How reports write counts, names, values and rows."""
