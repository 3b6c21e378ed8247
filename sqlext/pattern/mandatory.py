"""Which variables every match must map."""

from __future__ import annotations

from sqlext.pattern import ast


def mandatory(pattern: ast.Pattern) -> frozenset[str]:
    """The names of the variables that map at least one row in every match of the pattern, whatever the rows.

    Empty for a pattern that matches no row at all. Absences (`!N`) map nothing.

    >>> a, b, c = ast.Variable("A"), ast.Variable("B"), ast.Variable("C")
    >>> optional = ast.Quantified(b, 0, None)
    >>> sorted(mandatory(ast.Concatenation((a, optional, ast.Alternation((c, ast.Concatenation((b, c))))))))
    ['A', 'C']
    """
    if isinstance(pattern, ast.Variable):
        return frozenset({pattern.name})
    if isinstance(pattern, ast.Alternation):
        return frozenset.intersection(*map(mandatory, pattern.items))
    if isinstance(pattern, (ast.Concatenation, ast.Permutation)):
        return frozenset().union(*map(mandatory, pattern.items))
    if isinstance(pattern, ast.Quantified):
        return mandatory(pattern.item) if pattern.at_least else frozenset()
    if isinstance(pattern, (ast.Exclusion, ast.Relaxed, ast.Until)):
        return mandatory(pattern.item)
    return frozenset()  # (), ^, $, absences
