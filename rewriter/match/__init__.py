"""MATCH_RECOGNIZE: from the text of a clause to its plan."""
