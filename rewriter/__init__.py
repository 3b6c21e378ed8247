"""From extended SQL text to plans: find the clauses, parse, check and lower them. sqlglot's tokenizer, never pyspark."""
