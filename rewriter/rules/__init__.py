"""Pattern rules: clauses that stand in a table, the statements about them, and the clause that reads them."""
