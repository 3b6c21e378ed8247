"""Connections of dbt, all of which are one Spark session that understands the extended language."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark import session
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod, SparkCredentials
from dbt.adapters.sqlext.compiled_place import database_error
from dbt_common.exceptions import DbtConfigError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext
from sqlext import SetupError, SqlExtError
from sqlext.rewriter.statements.parameters import literal
from sqlext.server.places import settings as server_settings
from sqlext.server.served_session import use_server
from sqlext.spark.quiet_probes import quiet_probes

_ANSI = "spark.sql.ansi.enabled"


@dataclass
class SqlextCredentials(SparkCredentials):
    """A profile: `schema`, and where Spark is.

    `master` starts Spark in this process, or uses the session that runs in it (default: local[*]). `remote` is a
    Connect server, `sc://host:15002`. `warehouse` is the folder of the tables, `server_side_parameters` are settings
    of Spark.
    """

    master: str | None = None
    remote: str | None = None
    warehouse: str | None = None
    server_side_parameters: dict[str, Any] = field(default_factory=dict)  # numbers and Booleans too

    def __post_init__(self) -> None:
        self.method = self.method or SparkConnectionMethod.SESSION
        if self.method != SparkConnectionMethod.SESSION:
            raise DbtConfigError(f"type sqlext has no method {self.method}: write `remote: sc://…` or `master: …`")
        if self.remote and (self.master or self.warehouse):
            raise DbtConfigError("a Connect server has its own master and warehouse: leave them out of the profile")
        self.host = self.host or self.remote or self.master or "local[*]"
        ansi = self.server_side_parameters.get(_ANSI)
        super().__post_init__()  # switches ANSI off, as macros of dbt-spark need it
        if ansi is not None:
            self.server_side_parameters[_ANSI] = str(ansi)

    @property
    def type(self) -> str:
        return "sqlext"

    def _connection_keys(self) -> tuple[str, ...]:
        return "schema", "master", "remote", "warehouse"


class ExtendedCursor(session.Cursor):
    """A cursor of an extended session, whose errors are dbt's."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__()
        self._spark = spark
        self._statement = ""

    def execute(self, sql: str, *parameters: Any) -> None:
        self._statement = sql % parameters if parameters else sql
        with _errors_of_dbt(self._statement):
            self._df = self._spark.sql(self._statement)

    def fetchall(self) -> Any:
        with _errors_of_dbt(self._statement):
            return super().fetchall()

    def fetchone(self) -> Any:
        with _errors_of_dbt(self._statement):
            return super().fetchone()


class ExtendedConnection(session.Connection):
    def __init__(self, spark: SparkSession) -> None:
        super().__init__()
        self._spark = spark

    def cursor(self) -> ExtendedCursor:
        return ExtendedCursor(self._spark)


class ExtendedConnectionWrapper(session.SessionConnectionWrapper):
    """What dbt calls with the values of seeds."""

    @classmethod
    def _fix_binding(cls, value: Any) -> str:
        """A value in SQL. (dbt-spark writes an empty cell as the text None, and quotes as they are.)

        A timestamp is text, so that it is one of Spark's session time zone.
        """
        return literal(str(value) if isinstance(value, datetime) else value)


class SqlextConnectionManager(SparkConnectionManager):
    TYPE = "sqlext"

    _spark: SparkSession | None = None  # of the command of dbt that runs
    _opening = threading.Lock()

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            with cls._opening:
                SqlextConnectionManager._spark = cls._spark or start_session(connection.credentials)
        except (SetupError, PySparkException) as error:
            connection.state = ConnectionState.FAIL
            raise FailedToConnectError(str(error)) from error
        connection.handle = ExtendedConnectionWrapper(ExtendedConnection(cls._spark))
        connection.state = ConnectionState.OPEN
        return connection

    def cleanup_all(self) -> None:
        """The end of a command: the next one may find that its session was stopped."""
        super().cleanup_all()
        SqlextConnectionManager._spark = None

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        yield  # the cursor raises errors of dbt


def start_session(credentials: SqlextCredentials) -> SparkSession:
    """The extended session of a profile, the one that runs if there is one. Raises SetupError or PySparkException."""
    settings = credentials.server_side_parameters
    if credentials.remote is None:
        # dbt reports each error. Spark's log would repeat it with a stack, also an error after which we try again.
        served = {key: str(value) for key, value in settings.items() if key != _ANSI}
        if SparkSession.getActiveSession() is None:
            use_server(server_settings(credentials.warehouse, credentials.master, served))
        settings = {"spark.log.level": "OFF"} | settings
        return sqlext.session("dbt", credentials.master or "local[*]", credentials.warehouse, **settings)
    return sqlext.extend(SparkSession.builder.config(map=settings).remote(credentials.remote).getOrCreate())


@contextmanager
def _errors_of_dbt(statement: str) -> Iterator[None]:
    """Raise errors as those of dbt. PySpark does not write them to its log, because dbt shows them."""
    try:
        with quiet_probes():
            yield
    except (SqlExtError, PySparkException) as error:
        raise database_error(error, statement) from error
