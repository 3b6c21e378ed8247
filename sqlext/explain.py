"""What becomes of extended text, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlext.engine.sql_call import SqlCall
from sqlext.hook import unhooked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Light by design: `import sqlext` loads this, in workers too, and must not wait for pyspark or numba.


def explain(text: str, args: Any = None, *, spark: SparkSession | None = None, **frames: Any) -> str:
    """How `spark.sql(text, args, **frames)` would match: clauses, plans, programs, strategies and why, Spark's SQL.

    `spark`: the session, default the active one. Raises SqlExtError as running the text would.

    >>> print(explain("SELECT * FROM ticks MATCH_RECOGNIZE (…)"))   # doctest: +SKIP
    == Clause 1, line 1 ==
    …
    """
    from sqlext.engine.explanation import explain_statement

    session = spark or _active()
    return explain_statement(SqlCall(spark=session, sql=unhooked(session), text=text, args=args, frames=frames))


def compile(text: str, args: Any = None, *, spark: SparkSession | None = None) -> str:
    """The text in plain Spark SQL: every clause is a call of the table function `sqlext_match`.

    `spark`: the session, default the active one; it must know the tables. Any session that has called
    `sqlext.extend`, or where `sqlext.engine.portable.table_function.register` was called, can run the result.
    Raises SqlExtError as running the text would.
    """
    from sqlext.engine.statement import compile_statement

    session = spark or _active()
    return compile_statement(SqlCall(spark=session, sql=unhooked(session), text=text, args=args))


def _active() -> SparkSession:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("no Spark session is active: pass spark=…, or start one with sqlext.session()")
    return session
