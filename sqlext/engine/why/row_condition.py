"""The condition of FOR ROW, and the errors of Spark about it, which are shown at the condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from sqlext.engine.queries.queries import Queries
from sqlext.errors import BindError
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.text.tokens import tokenize
from sqlext.spark.quiet_probes import quiet_probes

Result = TypeVar("Result")
_SYNTAX_ERROR, _NOT_BOOLEAN = "SQLEXT_PARSE_SYNTAX_ERROR", "SQLEXT_DATATYPE_MISMATCH_FILTER_NOT_BOOLEAN"


@dataclass(frozen=True, kw_only=True)
class RowCondition:
    """`written`: the condition in the whole statement; `sql`: the same with its parameters bound."""

    written: Fragment
    sql: Text

    def over(self, queries: Queries, prefix: Text, relation: Text) -> ConditionOver:
        """The condition over the rows of a relation. Raises BindError, with a place, if Spark refuses it there."""
        over = ConditionOver(self, queries, prefix.unplaced, relation.unplaced)
        over.check()
        return over


@dataclass(frozen=True)
class ConditionOver:
    """A condition over the rows of a relation.

    Spark analyses it without the rest of the query, in which its errors could mean something else. Of the texts of
    these queries only the condition has a place.
    """

    condition: RowCondition
    queries: Queries
    prefix: Text
    relation: Text

    def check(self) -> None:
        """Let Spark analyse the condition. Raises BindError."""
        if _closes_more(self.condition.written.text):  # as `a) OR (b`, which would be valid in brackets
            self._find_syntax_error()
        try:
            self._rows()
        except BindError as error:
            if error.error_class == _NOT_BOOLEAN:
                raise self._not_boolean() from None
            if error.error_class == _SYNTAX_ERROR:
                self._find_syntax_error()
            raise

    def run(self, query: Callable[[], Result]) -> Result:
        """The result of a query that evaluates the condition on each row. If that fails on a row, Spark's error is the
        one about the condition alone."""
        try:
            with quiet_probes() as records:
                return query()
        except PySparkException:
            self._rows().collect()
            records.release()
            raise

    def _rows(self) -> DataFrame:
        """The rows on which the condition holds."""
        # Spark reads `FROM t WHERE (id)` as t AS `where` (id)
        return self._placed(join(self._rows_where(), "((", self.condition.sql, "))"))

    def _rows_where(self) -> Text:
        return join(self.prefix, "SELECT 1 FROM ", self.relation, " WHERE ")

    def _find_syntax_error(self) -> None:
        """Raise the syntax error of the condition. Without brackets its end is that of the text; with one bracket the
        words of a further clause are refused."""
        self._placed(join(self._rows_where(), self.condition.sql))
        self._placed(join(self._rows_where(), "NOT (", self.condition.sql, ")"))

    def _not_boolean(self) -> BindError:
        values = self._placed(join(self.prefix, "SELECT (", self.condition.sql, ") AS c FROM ", self.relation))
        (field,) = values.schema.fields
        message = f"the condition of FOR ROW must be boolean, not {field.dataType.simpleString()}"
        return BindError("NOT_A_CONDITION", message, place=self.condition.written.place)

    def _placed(self, query: Text) -> DataFrame:
        """The DataFrame of a query, whose errors are in the statement of the condition. Raises BindError."""
        queries = Queries(self.queries.sql, self.queries.frames, self.condition.written.source)
        queries.helpers = self.queries.helpers
        try:
            return queries.run(query)
        except BindError as error:
            raise error.placed(self.condition.written.place) from None


def _closes_more(condition: str) -> bool:
    """Whether a bracket closes one that the condition has not opened.

    >>> _closes_more("(a) OR (b)"), _closes_more("a) OR (b"), _closes_more("a = ')'")
    (False, True, False)
    """
    steps = ({"(": 1, ")": -1}.get(token.text, 0) for token in tokenize(condition))
    return min(accumulate(steps), default=0) < 0


def likeliest(errors: Sequence[BindError]) -> BindError:
    """The error to report of a condition that no relation can compute: one whose columns are there, if there is one.

    >>> unknown, other = BindError("UNRESOLVED_COLUMN", "no x"), BindError("NOT_A_CONDITION", "not boolean")
    >>> likeliest([unknown, other]).message, likeliest([unknown]).message
    ('not boolean', 'no x')
    """
    return min(errors, key=lambda error: error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN"))
