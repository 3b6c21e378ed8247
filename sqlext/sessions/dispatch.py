"""The hooked `spark.sql`: the extension reads a statement, and runs it or leaves it to Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sqlext.catalog import warehouse
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements import runners
from sqlext.errors import SetupError


def dispatch(call: SqlCall) -> DataFrame:
    """The result of a statement in an extended session.

    Raises SetupError SESSION_WITHOUT_DELTA for objects that are kept in tables of Delta or Iceberg: views, streaming
    tables and rules.
    """
    try:
        return runners.run(call)
    except Exception as error:  # a thin client has no Py4J, which defines the error of a classic session
        if warehouse.is_without_delta(error, call.text):
            hint = (
                "start the session with sqlext.session(), with Delta's jar and its two settings, or with a catalog of "
                "Iceberg. Without both: a TEMPORARY VIEW, and a stream by spark.sql(…).writeStream."
            )
            message = "views, streaming tables and rules are kept by Delta or Iceberg, and the catalog has neither"
            raise SetupError("SESSION_WITHOUT_DELTA", message, hint=hint) from None
        raise
