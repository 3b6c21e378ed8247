"""Windows with row patterns: parse, check, and the SQL around the match (ISO/IEC 9075-2, R020)."""
