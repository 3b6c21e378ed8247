"""The two relations of a join on time: which of them can compute an expression, and the type that Spark reports for
it."""

from __future__ import annotations

from functools import cache

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField

from sqlext.engine.queries.queries import Queries
from sqlext.errors import BindError
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, NEITHER, RIGHT
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, Text, TextLike, join
from sqlext.rewriter.text.tokens import index_at, tokenize
from sqlext.rewriter.tree.statement_tree import Tree


class JoinSides:
    """`relations`: the texts of LEFT and RIGHT. `prefix`: a WITH clause for the CTEs that they name. `number`
    distinguishes the joins of a statement. Spark analyses each expression once."""

    def __init__(self, clause: JoinClause, *, number: int, tree: Tree, source: Source, prefix: Text, queries: Queries):
        self.clause, self.number, self.tree = clause, number, tree
        self.source, self.prefix, self.queries = source, prefix, queries
        self.relations = {LEFT: self.text(clause.left), RIGHT: self.text(clause.right)}
        self.field_on = cache(self._field_on)

    @property
    def is_in_subquery(self) -> bool:
        return self.tree.tokens[index_at(self.tree.tokens, self.clause.keyword.start)].depth > 0

    def text(self, fragment: Fragment) -> Text:
        return self.source.slice(fragment.start, fragment.stop)

    def select(self, columns: TextLike, relation: TextLike) -> DataFrame:
        """The analysed query. Raises BindError for the errors that Spark finds in it."""
        return self.queries.run(join(self.prefix, "SELECT ", columns, " FROM ", relation))

    def rows(self, side: str, columns: TextLike = "*") -> DataFrame:
        """Columns of one relation. Raises BindError."""
        return self.select(columns, self.relations[side])

    def side_of(self, expression: Fragment) -> str:
        """The relation that alone can compute the expression: BOTH for constants, NEITHER if both relations are needed
        together.

        Raises BindError: AMBIGUOUS_REFERENCE.
        """
        sides = [side for side in (LEFT, RIGHT) if self.field_on(side, expression) is not None]
        if len(sides) == 2 and any(token.text == "." for token in tokenize(expression.text)):
            raise BindError(
                "AMBIGUOUS_REFERENCE",
                f"{expression.text} could be of either relation",
                place=expression.place,
                hint="give the relations other names than their columns have.",
            )
        return BOTH if len(sides) == 2 else sides[0] if sides else NEITHER

    def _field_on(self, side: str, expression: Fragment) -> StructField | None:
        """The expression as a column of one relation; None if the relation cannot compute it."""
        try:
            return self.rows(side, join("(", self.text(expression), ") AS c")).schema.fields[0]
        except BindError:
            return None
