"""Pattern rules: clauses that stand in a table, and the clause MATCH_RULES that reads them."""
