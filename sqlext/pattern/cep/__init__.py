"""Patterns whose rows need not be neighbours, absences, every match: strategy `nfa`, in batch and on streams."""
