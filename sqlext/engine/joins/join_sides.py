"""The two relations of a join on time: which of them can compute an expression, and the type that Spark reports for
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField

from sqlext.engine.queries.pushable_columns import pushable_columns
from sqlext.engine.queries.queries import Queries
from sqlext.errors import BindError, Place
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.joins.join_conditions import BOTH, LEFT, NEITHER, RIGHT, other_side
from sqlext.rewriter.joins.qualified_names import qualified_column, qualifiers
from sqlext.rewriter.scalars.scalar_keys import RowValue, check_scalar
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Source, Text, TextLike, join
from sqlext.rewriter.text.tokens import index_at, tokenize
from sqlext.rewriter.tree.statement_tree import Tree


class JoinSides:
    """`relations`: the texts of LEFT and RIGHT. `prefix`: a WITH clause for the CTEs that they name. `number`
    distinguishes the joins of a statement. `hidden`: the columns that rewritten joins inside the relations add, by the
    name of their relation in lower case. Spark analyses each expression at most once."""

    def __init__(
        self,
        clause: JoinClause,
        *,
        number: int,
        tree: Tree,
        source: Source,
        prefix: Text,
        queries: Queries,
        hidden: Mapping[str, Sequence[str]] | None = None,
    ):
        self.clause, self.number, self.tree = clause, number, tree
        self.source, self.prefix, self.queries = source, prefix, queries
        self.hidden = hidden or {}
        self.relations = {LEFT: self.text(clause.left), RIGHT: self.text(clause.right)}
        self.names = {side: self._name(of) for side, of in ((LEFT, clause.left), (RIGHT, clause.right))}
        self.field_on = cache(self._field_on)
        self.whole = cache(self._whole)

    @property
    def is_in_subquery(self) -> bool:
        return self.tree.tokens[index_at(self.tree.tokens, self.clause.keyword.start)].depth > 0

    def check_scalar(self) -> None:
        """Raise BindError (NOT_SCALAR) for a condition that has not one value for each pair of rows."""
        clause = self.clause
        values = [RowValue("ON", conjunct) for conjunct in clause.conjuncts]
        if clause.match_condition is not None:
            condition = clause.match_condition
            values += [RowValue("MATCH_CONDITION", operand) for operand in (condition.left, condition.right)]
        check_scalar(values, self.source, self.queries.is_aggregate)

    def only_name(self, side: str) -> str | None:
        """The name of a relation, as written, if nothing else can qualify its columns."""
        relation = self.tree.relation_at(self.clause.left if side == LEFT else self.clause.right)
        name = self.tree.name_of(relation) if relation is not None else None
        if relation is None or name is None:
            return None
        # The columns of a table without an alias may be qualified by its whole path.
        has_path = relation.table is not None and relation.aliases[-1] is None and len(relation.table.parts) > 1
        if has_path or any(token.word == "_METADATA" for token in self.tree.tokens):
            return None
        return name.text

    @property
    def only_names(self) -> list[str]:
        """The names of both relations, as written, where `only_name` has one."""
        return [name for side in (LEFT, RIGHT) if (name := self.only_name(side)) is not None]

    def text(self, fragment: Fragment) -> Text:
        return self.source.of(fragment)

    def select(self, columns: TextLike, relation: TextLike) -> DataFrame:
        """The analysed query. Raises BindError for the errors that Spark finds in it."""
        return self.queries.run(join(self.prefix, "SELECT ", columns, " FROM ", relation))

    def rows(self, side: str, columns: TextLike) -> DataFrame:
        """Columns of one relation. Raises BindError."""
        return self.select(columns, self.relations[side])

    def _whole(self, side: str) -> DataFrame:
        """All columns of one relation, analysed once. Raises BindError."""
        return self.rows(side, "*")

    def filter(self, side: str, condition: Text) -> Text:
        """A condition on one relation as a filter that loses no row of it. Raises BindError."""
        columns = [(field.name, field.dataType.simpleString()) for field in self.whole(side).schema.fields]
        return pushable_columns(self.queries, self.prefix, self.relations[side], columns, [condition]).filter(condition)

    def check_spellings(self, condition: Fragment) -> None:
        """Raise BindError DUPLICATE_COLUMN if the condition reads two columns of one relation whose names differ only
        in case, since the conditions of a join are compared without regard to case."""
        names = [token for token in tokenize(condition.text) if token.is_name]
        spellings = {unquoted(token.text) for token in names}
        if len(spellings) == len({name.lower() for name in spellings}):
            return
        for side in (LEFT, RIGHT):
            read = sorted(spellings & set(self.whole(side).columns))
            if len(read) > len({name.lower() for name in read}):
                last = [token for token in names if unquoted(token.text) in read][-1]
                raise BindError(
                    "DUPLICATE_COLUMN",
                    f"this condition reads columns whose names differ only in case: {', '.join(read)}",
                    place=Place(condition.source, condition.start + last.start, condition.start + last.stop),
                    hint="name the columns in a subquery: (SELECT x AS other, … FROM …).",
                )

    def side_of(self, expression: Fragment) -> str:
        """The relation that alone can compute the expression: BOTH for constants, NEITHER if both relations are needed
        together.

        Raises BindError: AMBIGUOUS_REFERENCE.
        """
        sides = [side for side in (LEFT, RIGHT) if self.field_on(side, expression) is not None]
        if len(sides) == 2 and any(a.is_name and b.text == "." for a, b in pairwise(tokenize(expression.text))):
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
            if self._reads_other(side, expression):
                return None
            return self.named_column(side, self.text(expression)) or self._computed(side, expression)
        except BindError:
            return None

    def _computed(self, side: str, expression: Fragment) -> StructField | None:
        """The expression, analysed by Spark."""
        rows = self.queries.accepted(
            join(self.prefix, "SELECT (", self.text(expression), ") AS c FROM ", self.relations[side])
        )
        return rows.schema.fields[0] if rows is not None else None

    # Most conditions are comparisons of qualified columns. The schemas of both relations answer those without an
    # analysis by Spark, of which each takes as long as that of a whole plain JOIN.

    def _name(self, relation: Fragment) -> str | None:
        """The only qualifier of the relation's columns in lower case; None if it has none or several."""
        whole = self.tree.relation_at(relation)
        name = self.tree.name_of(whole) if whole is not None else None
        return unquoted(name.text).lower() if name is not None else None

    def _is_qualifier(self, name: str | None, side: str) -> bool:
        """Return True if `name.x` can only be a column x of that relation. Raises BindError."""
        other = other_side(side)
        if name is None or self.names[side] != name or self.names[other] in (None, name):
            return False
        return all(name != column.lower() for both in (LEFT, RIGHT) for column in self.whole(both).columns)

    def other_qualifier(self, side: str) -> str:
        """The name in lower case of the other relation if `name.x` can only be a column of that one, or ""."""
        other = other_side(side)
        name = self.names[other]
        return name if name is not None and self._is_qualifier(name, other) else ""

    def _reads_other(self, side: str, expression: Fragment) -> bool:
        """Return True if the expression surely reads a column of the other relation. Raises BindError."""
        other = other_side(side)
        names = qualifiers(self.text(expression))
        return self.names[other] in names and self._is_qualifier(self.names[other], other)

    def named_column(self, side: str, expression: Text) -> StructField | None:
        """The column of the relation that the expression is, by its qualified name; None for any other expression.

        Raises BindError.
        """
        qualifier, column = qualified_column(expression) or (None, "")
        if not self._is_qualifier(qualifier, side):
            return None
        fields = [field for field in self.whole(side).schema.fields if field.name.lower() == column]
        return fields[0] if len(fields) == 1 else None
