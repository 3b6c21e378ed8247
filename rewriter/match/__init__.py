"""MATCH_RECOGNIZE: from the text of a clause to its plan.

Read the files in this order:

| step | files |
|---|---|
| the parsed clause and the plan, as types | `match_clause.py`, `match_plan.py` |
| text → clause | `parse_match.py`, `parse_pattern.py` |
| rules that need no catalog | `check.py` |
| scalar expressions: which words read rows of the match | `references.py`, `scalars.py` |
| conditions over several rows: tree, types, Condition | `expression.py`, `condition.py` |
| clause → plan | `lower/` |
| the statement around the clause: filters, unread columns | `pushdown.py`, `unread.py` |
| conditions that exclude each other | `contradiction.py` |
"""
