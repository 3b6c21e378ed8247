"""From extended SQL text to plans: find the clauses, parse, check, lower. sqlglot's tokenizer, never pyspark."""
