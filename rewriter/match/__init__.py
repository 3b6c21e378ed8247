"""The syntax of MATCH_RECOGNIZE: where clauses are (`sites`), their text read (`parse_match`, `parse_pattern`), and the
rules that need no catalog (`check`). `match_clause` has the types of the parsed clause."""
