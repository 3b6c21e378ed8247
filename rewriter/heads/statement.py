"""The types of statements, by their heads. All are frozen, and a `query` of one has its place in the text."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.rewriter.text.tokens import QUERY_STARTS, tokenize


class Statement:
    """A statement of some type."""


class OwnStatement(Statement):
    """A statement that Spark does not know."""


@dataclass(frozen=True)
class OtherStatement(Statement):
    """A statement whose head is Spark's alone: a query, for example, with or without parts of ours."""

    text: str

    @property
    def is_query(self) -> bool:
        """Whether it returns rows and has no effect, which `WITH … INSERT` and `FROM … INSERT` have."""
        tokens = tokenize(self.text)
        writes = any(token.word in ("INSERT", "MERGE", "UPDATE", "DELETE") and token.depth == 0 for token in tokens)
        return bool(tokens) and tokens[0].word in {*QUERY_STARTS, "("} and not writes


@dataclass(frozen=True)
class Script(Statement):
    """BEGIN … END, which `read_script` divides into statements."""

    text: str
