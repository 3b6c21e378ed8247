"""Readers of the data files of these tests.

A block begins with `== title`; before the first block, # begins a comment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlext.errors import SqlExtError, raise_all
from sqlext.pattern.program import ast
from sqlext.rewriter.emit.check_emit import check_emit
from sqlext.rewriter.emit.emit_clause import parse_emits
from sqlext.rewriter.emit.window_tvf import parse_window_tvfs
from sqlext.rewriter.match.check import check
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.sites import scan
from sqlext.rewriter.statements.idle_sources import parse_idle_sources
from sqlext.rewriter.text.tokens import tokenize
from sqlext.rewriter.tree.read_tree import read_tree

HERE = Path(__file__).parent
CLAUSE = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true)"


def lines(name: str) -> list[str]:
    return [line for line in (HERE / name).read_text("utf-8").splitlines() if line and not line.startswith("#")]


def blocks(name: str) -> Iterator[tuple[str, str]]:
    """(title, rest) of each block."""
    for block in ("\n" + (HERE / name).read_text("utf-8")).split("\n== ")[1:]:
        title, _, rest = block.partition("\n")
        yield title, rest.strip("\n")


def expand(text: str) -> str:
    return text.replace("MR", CLAUSE)


def compile_statement(text: str) -> list[MatchClause]:
    """All clauses of a statement, checked as the engine does it: all syntax errors first, then rules by clause."""
    tokens = tokenize(text)
    errors: list[SqlExtError] = []
    clauses = []
    for site in scan(text):
        try:
            clauses.append(parse_match(text, tokens, site))
        except SqlExtError as e:
            errors += getattr(e, "errors", [e])
    raise_all(errors)
    for clause in clauses:
        check(clause)
    tree = read_tree(text)
    for emit in parse_emits(tree, parse_window_tvfs(tree)):
        check_emit(emit)
    parse_idle_sources(tree)
    return clauses


def show(node: ast.Pattern) -> str:
    """A pattern tree as in patterns.txt."""
    if isinstance(node, ast.Variable):
        return node.name
    if isinstance(node, (ast.Empty, ast.PartitionStart, ast.PartitionEnd)):
        return {ast.Empty: "()", ast.PartitionStart: "^", ast.PartitionEnd: "$"}[type(node)]
    if isinstance(node, (ast.Concatenation, ast.Alternation, ast.Permutation)):
        prefix = {ast.Concatenation: "", ast.Alternation: "|", ast.Permutation: "PERMUTE"}[type(node)]
        return f"{prefix}({' '.join(map(show, node.items))})"
    if isinstance(node, ast.Exclusion):
        return f"{{-{show(node.item)}-}}"
    if isinstance(node, ast.Absence):
        return node.operator + show(node.variable)
    if isinstance(node, ast.Until):
        return f"{show(node.item)}UNTIL{show(node.variable)}"
    if isinstance(node, ast.Relaxed):
        return node.operator + show(node.item)
    return f"{show(node.item)}{{{node.at_least},{'' if node.at_most is None else node.at_most}}}{node.mode[0]}"
