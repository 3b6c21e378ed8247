"""Pattern rules: clauses that are stored in a table, the statements about them, and the clause that reads them."""
