"""The state of a stream: in numbers, or what it keeps for a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from sqlext.engine.queries.sql_call import SqlCall
from sqlext.errors import BindError
from sqlext.sessions.explain import active_session
from sqlext.sessions.hook import unhooked
from sqlext.spark import progress
from sqlext.spark.progress import StreamState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.streaming.listener import StreamingQueryProgress

# This is light by design: `import sqlext` loads it, in workers too, and must not wait for pyspark or numba.


@overload
def state(query: StreamingQuery | StreamingQueryProgress, key: None = None) -> StreamState | None: ...


@overload
def state(query: StreamingQuery | str, key: str, *, spark: SparkSession | None = None) -> DataFrame: ...


def state(query: Any, key: str | None = None, *, spark: SparkSession | None = None) -> StreamState | DataFrame | None:
    """The state that MATCH_RECOGNIZE and EMIT keep in a streaming query after its last micro-batch; None before the
    first one. A listener passes the progress of a micro-batch (`event.progress`) instead of the query.

    With `key`, a condition on the keys, it is what the query keeps for these keys and what it waits for, as DESCRIBE
    STREAMING TABLE … FOR KEY shows it; `query` is then the query of a streaming table, or the name of the table, whose
    query need not run. `spark`: the session, by default the active one.

    Raises BindError MISSING_ARGUMENT for a name without `key`, and the SqlExtError that the statement would raise.

    >>> state(spark.streams.active[0])                          # doctest: +SKIP
    StreamState(rows=1042, bytes=66688, oldest_us=1767225603000000, late_rows=0, failed_rows=0, failed_results=0,
                windows=0, emitted=12)
    >>> state("alerts", key="card = '4711'").show()             # doctest: +SKIP
    """
    if key is None:
        if isinstance(query, str):
            raise BindError(
                "MISSING_ARGUMENT",
                "the name of a streaming table needs `key`, a condition on its keys",
                hint=f"state({query!r}, key=\"card = '4711'\"); without a key, pass the streaming query itself.",
            )
        if not hasattr(query, "recentProgress") and not hasattr(query, "get"):  # which progress has
            raise _no_query(query)
        return progress.state(query)
    from sqlext.engine.statements.runners import run  # loads the tokenizer
    from sqlext.rewriter.text.names import quote, split_name  # loads the tokenizer

    session = spark or active_session()
    name = query if isinstance(query, str) else getattr(query, "name", None)
    if not isinstance(name, str):
        raise _no_query(query)
    text = f"DESCRIBE STREAMING TABLE {quote(split_name(str(name)))} FOR KEY ({key})"
    return run(SqlCall(spark=session, sql=unhooked(session), text=text))


def _no_query(query: object) -> BindError:
    return BindError(
        "ARGUMENT_TYPE",
        f"{type(query).__name__} is neither a streaming query with a name nor the name of a streaming table",
        hint="the queries that run are in spark.streams.active; SHOW STREAMING TABLES has the names.",
    )
