"""Parses `relation MATCH_RULES (PARTITION BY … ORDER BY … RULES table)`, and keeps the place of each part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.errors import UnsupportedError
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import RelationName, name_at, unquoted
from sqlext.rewriter.text.tokens import Tokens, closed, closing, is_at, split_at_commas
from sqlext.rewriter.tree.read_clauses import read_clauses
from sqlext.rewriter.tree.statement_tree import Tree

WORD = "MATCH_RULES"
_SYNTAX = f"write {WORD} ([PARTITION BY column, …] ORDER BY time [, column, …] RULES table)."
_HEADS = ("PARTITION", "ORDER", "RULES")


@dataclass(frozen=True, kw_only=True)
class KeyColumn:
    """A column of PARTITION BY or ORDER BY."""

    name: str
    fragment: Fragment


@dataclass(frozen=True, kw_only=True)
class RulesClause:
    """`whole` runs from the relation to the closing parenthesis; `keyword` is the word MATCH_RULES."""

    whole: Fragment
    relation: Fragment
    keyword: Fragment
    partition_by: tuple[KeyColumn, ...]
    order_by: tuple[KeyColumn, ...]
    rules: RelationName


def is_rules_clause(tokens: Tokens, i: int) -> bool:
    """Whether token i begins a MATCH_RULES clause, and is not the alias of a relation with names of columns.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [is_rules_clause(tokenize(t), 2) for t in ("FROM e MATCH_RULES (RULES r)", "FROM e MATCH_RULES (rules, r)")]
    [True, False]
    """
    if not is_at(tokens, i, WORD, "("):
        return False
    stop = closing(tokens, i + 1) or len(tokens)
    names, commas = tokens[i + 2 : stop : 2], tokens[i + 3 : stop : 2]
    return len(names) != len(commas) + 1 or not all(t.text == "," for t in commas)


def parse_rules_clauses(tree: Tree) -> tuple[RulesClause, ...]:
    """The MATCH_RULES clauses of a statement, inner ones first.

    Raises ParseError and UnsupportedError, the errors of all clauses together.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT * FROM STREAM e MATCH_RULES (PARTITION BY k ORDER BY ts RULES db.r) AS m"
    >>> (clause,) = parse_rules_clauses(read_tree(text))
    >>> clause.relation.text, clause.partition_by[0].name, clause.order_by[0].name, clause.rules.parts
    ('STREAM e', 'k', 'ts', ('db', 'r'))
    """
    keywords = (i for i in range(len(tree.tokens)) if is_rules_clause(tree.tokens, i))
    return read_clauses(keywords, lambda keyword: _RulesReader(tree, keyword).clause())


class _RulesReader:
    def __init__(self, tree: Tree, keyword: int):
        self.tree, self.tokens, self.keyword = tree, tree.tokens, keyword
        self.cursor = Cursor(tree.tokens, keyword, text=tree.text, error_class="RULES_CLAUSE", hint=_SYNTAX)
        self.depth = tree.tokens[keyword].depth + 1

    def clause(self) -> RulesClause:
        tree, keyword = self.tree, self.keyword
        relation = tree.relation_of(keyword)
        if relation is None:
            message = f"{WORD} must directly follow the relation that it reads"
            hint = f"write FROM relation {WORD} (…) AS alias."
            raise self.cursor.error(message, keyword, keyword + 1, hint=hint, error_class="MISPLACED_CLAUSE")
        close = closed(tree.text, self.tokens, keyword + 1)
        sections = self._sections(close)
        missing = [head for head in ("ORDER", "RULES") if head not in sections]
        if missing:
            what = {"ORDER": "ORDER BY", "RULES": "RULES"}[missing[0]]
            raise self.cursor.error(f"{WORD} needs {what}", keyword, keyword + 1)
        return RulesClause(
            whole=tree.fragment(relation.start, close + 1),
            relation=tree.fragment(relation.start, keyword),
            keyword=tree.fragment(keyword, keyword + 1),
            partition_by=tuple(self._columns(*sections["PARTITION"])) if "PARTITION" in sections else (),
            order_by=tuple(self._columns(*sections["ORDER"])),
            rules=self._table(*sections["RULES"]),
        )

    def _sections(self, close: int) -> dict[str, tuple[int, int]]:
        """The tokens of each section, by the first word of its head. Raises ParseError."""
        heads = [(i, head) for i in range(self.keyword + 2, close) if (head := self._head(i))]
        starts = [i for i, _ in heads] + [close]
        words = [head for _, head in heads]
        if starts[0] != self.keyword + 2:
            raise self.cursor.error(f"{WORD} cannot read this", self.keyword + 2, starts[0])
        if words != [head for head in _HEADS if head in words]:
            raise self.cursor.error(f"the parts of {WORD} are written in another order, or twice", starts[0], close)
        return {
            head: (i + (2 if head != "RULES" else 1), stop) for (i, head), stop in zip(heads, starts[1:], strict=True)
        }

    def _head(self, i: int) -> str:
        token = self.tokens[i]
        if token.depth != self.depth or self.tokens[i - 1].word in ("BY", ",", ".", "RULES"):
            return ""
        if token.word in ("PARTITION", "ORDER"):
            return token.word if is_at(self.tokens, i + 1, "BY") else ""
        return token.word if token.word == "RULES" else ""

    def _columns(self, lo: int, hi: int) -> Iterator[KeyColumn]:
        """The columns between the commas. Raises ParseError and UnsupportedError."""
        for start, stop in split_at_commas(self.tokens, lo, hi):
            if start >= stop:
                raise self.cursor.error("a column is missing here", max(start - 1, lo - 1), start)
            end = stop - 1 if stop - start > 1 and self.tokens[stop - 1].word == "ASC" else stop
            fragment = self.tree.fragment(start, end)
            if end - start > 1 or not self.tokens[start].is_name:
                raise UnsupportedError(
                    "RULES_KEY",
                    f"{WORD} partitions and orders by columns, ascending, not by {fragment.text}",
                    place=fragment.place,
                    hint="compute it in a subquery that is the input.",
                )
            yield KeyColumn(name=unquoted(self.tokens[start].text), fragment=fragment)

    def _table(self, lo: int, hi: int) -> RelationName:
        name = name_at(self.tokens, lo) if lo < hi else None
        if name is None or name.stop != self.tokens[hi - 1].stop:
            raise self.cursor.error("RULES needs the name of a table of rules", lo - 1, max(hi, lo))
        return name
