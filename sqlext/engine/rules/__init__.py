"""Pattern rules: compiled from their text, and run side by side over the same rows."""
