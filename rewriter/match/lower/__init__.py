"""From parsed clauses to plans: names are bound, types are asked of Spark."""
