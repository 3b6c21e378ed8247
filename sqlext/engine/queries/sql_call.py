"""A call of `spark.sql` on its way through the engine, and the sessions that may have variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlext.spark.kind import session_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sqlext.catalog.views import View
    from sqlext.rewriter.text.names import Parts

# This is light by design: `import sqlext` loads it, in workers too, and must not wait for pyspark or numba.


@dataclass(frozen=True, kw_only=True)
class SqlCall:
    """`spark.sql(text, args, **frames)`; `sql` is Spark's own method of the session, which our hook calls.

    `views`: the stored views that were looked up on the way to the planner, by their names as written; `is_first_run`:
    returns whether the query of a streaming table begins, whose first micro-batch reads all rows, or is resumed, None
    for any other statement; `query_identifier`: returns what names the query of a streaming table, likewise;
    `has_watermark`: a statement around this one has a watermark; `inputs`: the DataFrames that the text reads, by names
    of helpers (`Queries.helpers`), which unlike `frames` leave the braces of the text alone; `takes_last`: an ASOF
    JOIN takes the largest of right rows with one time; `is_run`: it is planned in order to be run, and not only checked
    or explained.
    """

    spark: SparkSession
    sql: Callable[..., DataFrame]
    text: str
    args: Any = None
    frames: Mapping[str, Any] = field(default_factory=dict)
    views: Mapping[Parts, View] = field(default_factory=dict)
    is_first_run: Callable[[], bool] | None = None
    query_identifier: Callable[[], str] | None = None
    has_watermark: bool = False
    inputs: Mapping[str, DataFrame] = field(default_factory=dict)
    takes_last: bool = False
    is_run: bool = False

    def by_spark(self) -> DataFrame:
        """The result of Spark's own method."""
        return self.sql(self.text, self.args, **self.frames)


_DECLARING: set[str] = set()  # Spark does not list the variables of a session


def note_declaration(call: SqlCall) -> None:
    """Remember that the session may have variables, if the statement declares one."""
    if "DECLARE" in call.text.upper():
        _DECLARING.add(session_of(call.spark))


def may_have_variables(spark: SparkSession) -> bool:
    """Return True if a statement of the session has declared a variable."""
    return session_of(spark) in _DECLARING
