"""Reads the words before a query: CREATE, DROP, INSERT, SHOW."""
