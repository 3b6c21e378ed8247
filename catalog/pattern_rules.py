"""Tables of pattern rules: the versions of each rule, the times at which streams took them up, and their mistakes.

| table | one row for |
|---|---|
| `rules` | a version of a rule; rows are only appended, and a rule that is dropped gets a version without a clause |
| `rules_log` | a version that a stream took up, with the watermark at which the stream took it up |
| `rules_errors` | a mistake in a version; streams skip the version |

The table of events and its schema are properties of the table of rules. All times are microseconds since 1970, UTC.
All functions take the session's own, unhooked `sql(text, args=None, **frames)`.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from sqlext.catalog.conflicts import ATTEMPTS
from sqlext.catalog.views import is_known, string_literal
from sqlext.catalog.warehouse import is_without_delta, remove_unfinished, table_folder
from sqlext.errors import BindError, DataError
from sqlext.formats.known_formats import format_of, is_conflict
from sqlext.rewriter.text.names import Parts, quote, quoted
from sqlext.spark.quiet_probes import quiet_probes

LOG, ERRORS = "_log", "_errors"  # the endings of the names of the tables beside a table of rules
_EVENTS, _SCHEMA = "sqlext.rules.events", "sqlext.rules.schema"  # properties of the table
_COLUMNS = (
    "name STRING, version BIGINT, clause STRING, enabled BOOLEAN, effective_from TIMESTAMP_LTZ, author STRING, "
    "comment STRING, `time` TIMESTAMP_LTZ"
)
_LOG_COLUMNS = "name STRING, version BIGINT, taken_up TIMESTAMP_LTZ, stream STRING"
_ERROR_COLUMNS = "name STRING, version BIGINT, error_class STRING, message STRING, `time` TIMESTAMP_LTZ"
_TIMES = frozenset({"effective_from", "time", "taken_up"})
_LAST_VERSION = 2**63 - 1
_FOLDER_WITHOUT_TABLE = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
_SECONDS_TO_CREATE = 5  # how long another session may take to create a table

Sql = Callable[..., Any]

# Threads of one process write one after the other: Spark's log would show the stack of each conflict between them.
_WRITERS: dict[Parts, threading.Lock] = {}


@dataclass(frozen=True)
class RulesTable:
    """A table of rules.

    `events`: the quoted name of the table of events; `schema`: the columns of that table, a StructType as JSON.
    """

    name: Parts
    events: str
    schema: str


@dataclass(frozen=True, kw_only=True)
class RuleVersion:
    """A row of a table of rules.

    If the row was not written by one of our statements, any field except the fields of its key may be None, and the
    version may occur twice.

    `clause` is `MATCH_RECOGNIZE (…)` as written, or None if the rule was dropped. `effective_from` None means at once.
    """

    name: str | None
    version: int | None
    clause: str | None
    enabled: bool | None = True
    effective_from: int | None = None
    author: str | None = None
    comment: str | None = None
    time: int | None = None

    @property
    def is_dropped(self) -> bool:
        return self.clause is None


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """A version that the stream of that name took up at a watermark."""

    name: str
    version: int
    taken_up: int
    stream: str


@dataclass(frozen=True, kw_only=True)
class RuleError:
    """A mistake in a version. It is recorded once for each name, version and class of error."""

    name: str | None
    version: int | None
    error_class: str
    message: str
    time: int | None = None


Row = TypeVar("Row", RuleVersion, LogEntry, RuleError)


def rules_table(spark: Any, sql: Sql, name: Parts) -> RulesTable | None:
    """The table of rules of that name; None if there is no such table. Raises BindError: NOT_A_RULES_TABLE."""
    if not _exists(spark, name):
        return None
    try:
        with quiet_probes():
            properties = dict(map(tuple, sql(f"SHOW TBLPROPERTIES {quote(name)}").collect()))
    except Exception as error:
        if not hasattr(error, "getCondition"):
            raise
        properties = {}  # a view, or a table that is not Delta's
    if _EVENTS not in properties or _SCHEMA not in properties:
        raise BindError(
            "NOT_A_RULES_TABLE",
            f"{'.'.join(name)} is not a table of pattern rules",
            hint="the first CREATE PATTERN RULE … ON name FOR TABLE events creates one.",
        )
    check_columns(name, dict(spark.table(quote(name)).dtypes))
    return RulesTable(name, properties[_EVENTS], properties[_SCHEMA])


def create_table(spark: Any, sql: Sql, table: RulesTable) -> RulesTable:
    """Create a table of rules and return it, or return the table that another session has created meanwhile."""
    # The properties are not written in SQL: as literals they would be subject to settings of the parser.
    tables = format_of(spark, table.name)
    writer = spark.createDataFrame([], _COLUMNS).writeTo(quote(table.name)).using(tables.name)
    for key, value in {_EVENTS: table.events, _SCHEMA: table.schema, **tables.append_only}.items():
        writer = writer.tableProperty(key, value)
    try:
        _create(spark, sql, table.name, writer.create)
    except Exception as error:
        if is_without_delta(error, ""):
            raise  # the session reports it for all that is kept in Delta tables
        if not is_conflict(error):
            reason = str(error).strip().split("\n")[0].rpartition("] ")[2].partition(" SQLSTATE")[0]
            raise BindError("RULES_TABLE", f"{'.'.join(table.name)} cannot be created: {reason}") from None
    create_errors(spark, sql, table.name)
    return rules_table(spark, sql, table.name) or table


def create_errors(spark: Any, sql: Sql, table: Parts) -> None:
    """Create the table of errors beside a table of rules unless it exists, so that it can be read before any error."""
    _create_beside(spark, sql, beside(table, ERRORS), _ERROR_COLUMNS)


def check_exists(spark: Any, sql: Sql, name: Parts) -> None:
    """Raise BindError (NO_RULES_TABLE, NOT_A_RULES_TABLE) unless there is a table of rules of that name."""
    if rules_table(spark, sql, name) is None:
        raise no_rules_table(name)


def no_rules_table(parts: Parts) -> BindError:
    """The error for a table of rules that does not exist."""
    return BindError(
        "NO_RULES_TABLE",
        f"there is no table {'.'.join(parts)} of pattern rules",
        hint="the first rule creates it: CREATE PATTERN RULE name ON table FOR TABLE events AS …",
    )


def versions(sql: Sql, table: Parts, rule: str | None = None) -> list[RuleVersion]:
    """The versions of all rules, or of one rule, in the order of names and versions.

    Names compare without case. Raises BindError (NOT_A_RULES_TABLE) if the table lacks a column.
    """
    condition = "" if rule is None else f"WHERE lower(name) = lower({string_literal(rule)})"
    return sorted(_read(sql, table, RuleVersion, condition), key=_order)


def current(rules: Iterable[RuleVersion]) -> dict[str, RuleVersion]:
    """The last version of each rule, by the names of the rules. Rows without a name or a version are ignored.

    >>> rows = [RuleVersion(name="r", version=n, clause="MATCH_RECOGNIZE (…)") for n in (2, 1)]
    >>> current(rows)["r"].version
    2
    """
    last: dict[str, RuleVersion] = {}
    for row in rules:
        if row.name is not None and row.version is not None:
            before = last.get(row.name)
            if before is None or before.version is None or before.version <= row.version:
                last[row.name] = row
    return last


def change(
    spark: Any,
    sql: Sql,
    table: Parts,
    rule: str,
    next_version: Callable[[Sequence[RuleVersion]], RuleVersion | None],
    *,
    is_new: bool = True,
) -> RuleVersion | None:
    """Append the version that `next_version` makes from the existing versions of a rule, and return it, or None.

    None means that `next_version` made no version. The name, number, author and time of the version are filled in. If
    another writer is quicker, `next_version` is called again with the versions that exist then. So the numbers of a
    rule stay 1, 2, 3, … whatever writers do at the same time. Raises DataError: RULE_CONFLICT.

    With `is_new` false the row has the number of the last version, from which it may differ only by its comment: SHOW
    reads the last row of a number, and streams the first one.
    """
    later = ">=" if is_new else ">"
    for _ in range(ATTEMPTS):
        rows = [row for row in versions(sql, table, rule) if row.version is not None]
        wanted = next_version(rows)
        if wanted is None:
            return None
        names = [row.name for row in rows if row.name is not None]
        name = rule if rule in names or not names else names[-1]
        number = is_new + max((row.version or 0 for row in rows), default=0)
        if number > _LAST_VERSION:
            raise DataError("RULE_VERSION", f"{'.'.join(table)} has version {_LAST_VERSION} of {rule}, the last one")
        columns = {"name": string_literal(name), "version": _literal(number),
                   "clause": _literal(wanted.clause), "enabled": _literal(wanted.enabled),
                   "effective_from": _time(wanted.effective_from), "author": "current_user()",
                   "comment": _literal(wanted.comment), "time": "current_timestamp()"}  # fmt: skip
        source = ", ".join(f"{value} AS {quoted(column)}" for column, value in columns.items())
        is_known = f"old.name = new.name AND old.version {later} new.version"
        if _merge(spark, sql, table, columns, f"SELECT {source}", is_known):
            return wanted
    raise DataError("RULE_CONFLICT", f"other sessions kept changing {rule} in {'.'.join(table)}", hint="try again.")


# what streams report


def log(spark: Any, sql: Sql, table: Parts) -> list[LogEntry]:
    """The entries of versions that were taken up, in the order of names and versions."""
    return _read_beside(spark, sql, table, LOG, LogEntry)


def append_log(spark: Any, sql: Sql, table: Parts, entries: Sequence[LogEntry]) -> None:
    """Record entries. Each name, version and stream is recorded once, however often and by however many callers."""
    _append(spark, sql, beside(table, LOG), _LOG_COLUMNS, entries, ("name", "version", "stream"))


def errors(spark: Any, sql: Sql, table: Parts) -> list[RuleError]:
    """The mistakes in the versions, in the order of names and versions."""
    return _read_beside(spark, sql, table, ERRORS, RuleError)


def append_errors(spark: Any, sql: Sql, table: Parts, entries: Sequence[RuleError]) -> None:
    """Record errors. Each name, version and class is recorded once. An entry without a time gets the current time."""
    _append(spark, sql, beside(table, ERRORS), _ERROR_COLUMNS, entries, ("name", "version", "error_class"))


def beside(table: Parts, ending: str) -> Parts:
    """The name of the table LOG or ERRORS beside a table of rules.

    >>> beside(("db", "rules"), LOG)
    ('db', 'rules_log')
    """
    return (*table[:-1], table[-1] + ending)


def _read_beside(spark: Any, sql: Sql, table: Parts, ending: str, kind: type[Row]) -> list[Row]:
    name = beside(table, ending)
    return sorted(_read(sql, name, kind, ""), key=_order) if _exists(spark, name) else []


def _order(row: Row) -> tuple:
    """The sort key of a row: name, version and time, NULL first.

    To sort a few rows here costs less than a shuffle of Spark.
    """
    time = getattr(row, "time", None)
    return row.name or "", row.version or 0, -(2**63) if time is None else time


def _append(spark: Any, sql: Sql, table: Parts, columns: str, entries: Sequence[Row], key: Sequence[str]) -> None:
    """Append the entries whose key is not in the table."""
    if not entries:
        return
    _create_beside(spark, sql, table, columns)
    distinct = {tuple(getattr(entry, column) for column in key): entry for entry in reversed(entries)}
    names = [field.name for field in fields(entries[0])]
    rows = (
        ", ".join(f"'{column}', {_value(column, getattr(entry, column))}" for column in names)
        for entry in distinct.values()
    )
    source = f"SELECT inline(array({', '.join(f'named_struct({row})' for row in rows)}))"
    condition = " AND ".join(f"old.{column} <=> new.{column}" for column in key)
    for _ in range(ATTEMPTS):
        if _merge(spark, sql, table, names, source, condition) is not None:
            return
    raise DataError("RULE_CONFLICT", f"other sessions kept writing into {'.'.join(table)}", hint="try again.")


def _create_beside(spark: Any, sql: Sql, table: Parts, columns: str) -> None:
    if not _exists(spark, table):
        tables = format_of(spark, table)
        statement = f"CREATE TABLE IF NOT EXISTS {quote(table)} ({columns}) USING {tables.name}"
        if tables.append_only:
            properties = ", ".join(f"'{key}' = '{value}'" for key, value in tables.append_only.items())
            statement = f"{statement} TBLPROPERTIES ({properties})"
        _create(spark, sql, table, lambda: sql(statement))


def _create(spark: Any, sql: Sql, table: Parts, create: Callable[[], object]) -> None:
    """Run `create`. If another session is creating the table, wait until it exists.

    Delta creates the folder before its first commit; in between, other sessions find a folder that is not a table. A
    process that is killed in between leaves such a folder for ever, so the folder is removed after the wait.
    """
    end = time.monotonic() + _SECONDS_TO_CREATE
    while time.monotonic() < end:
        try:
            with _writer(table), quiet_probes():
                create()
            return
        except Exception as error:
            if _FOLDER_WITHOUT_TABLE not in str(error)[:2000]:
                raise
        if _exists(spark, table):
            return
        time.sleep(0.2)
    if "/" not in table[-1]:
        remove_unfinished(table_folder(spark, sql, table))
    create()


def _writer(table: Parts) -> threading.Lock:
    return _WRITERS.setdefault(table, threading.Lock())


# SQL


def _exists(spark: Any, name: Parts) -> bool:
    if "/" not in name[-1]:
        return is_known(spark, name)
    try:
        with quiet_probes():
            return bool(spark.read.format(name[0]).load(name[-1]).columns is not None)
    except Exception as error:
        if hasattr(error, "getCondition"):
            return False
        raise


def _read(sql: Sql, table: Parts, kind: type[Row], tail: str) -> list[Row]:
    """The rows of a table as values of `kind`."""
    columns = [field.name for field in fields(kind)]
    wanted = ", ".join(f"unix_micros({quoted(c)}) AS {quoted(c)}" if c in _TIMES else c for c in columns)
    try:
        with quiet_probes():
            rows = sql(f"SELECT {wanted} FROM {quote(table)} {tail}").collect()
    except Exception as error:
        if not getattr(error, "getCondition", str)().startswith(("UNRESOLVED_COLUMN", "DATATYPE_MISMATCH")):
            raise _unreadable(table, error) from error
        raise _changed(table, columns) from None
    return [kind(**row.asDict()) for row in rows]


def check_columns(table: Parts, types: Mapping[str, str]) -> None:
    """Raise BindError (NOT_A_RULES_TABLE) unless a table with columns of these names and types is a table of rules."""
    words = (column.replace("`", "").split(" ") for column in _COLUMNS.split(", "))
    columns = {name: spark_type.lower().removesuffix("_ltz") for name, spark_type in words}
    if any(types.get(name) != kind for name, kind in columns.items()):
        raise _changed(table, columns)


def _changed(table: Parts, columns: Iterable[str]) -> BindError:
    name = ".".join(table)
    return BindError(
        "NOT_A_RULES_TABLE",
        f"{name} has lost a column of a table of pattern rules, or its type has changed",
        hint=f"its columns are {', '.join(columns)}: RESTORE TABLE {name} TO VERSION AS OF … brings them back.",
    )


def _unreadable(table: Parts, error: Exception) -> DataError:
    """The error for a table whose files Spark cannot read."""
    name, text = ".".join(table), str(error).strip()
    cause = re.search(r"\[[A-Z][A-Z0-9_.]+\] ([^\n]*)", text)
    reason = (cause[1] if cause else text.split("\n")[0]).partition(" SQLSTATE")[0][:300]
    return DataError(
        "RULES_FILES",
        f"{name} cannot be read or written: {reason}",
        hint=f"if files of {name} were removed, RESTORE TABLE {name} TO VERSION AS OF … where they are still there, or "
        "drop the table and create its rules again.",
    )


def _merge(spark: Any, sql: Sql, table: Parts, columns: Iterable[str], source: str, condition: str) -> int | None:
    """Insert, in one commit, the rows of a query with these columns for which no row of the table meets `condition`.

    Returns the number of inserted rows, or None if another session has changed the table meanwhile. The format refuses
    the second of two simultaneous commits if it has read, as MERGE does, what the first one has changed.
    """
    names, tables = [quoted(column) for column in columns], format_of(spark, table)
    statement = (
        f"MERGE INTO {quote(table)} AS old USING ({source}) AS new ON {condition} {tables.never_matched}"
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f'new.{name}' for name in names)})"
    )
    try:
        with _writer(table), quiet_probes():
            return tables.merged(spark, sql, table, statement)
    except Exception as error:
        if not is_conflict(error):
            raise _unreadable(table, error) from error
        return None


def _value(column: str, value: Any) -> str:
    if column in _TIMES:
        return "current_timestamp()" if column == "time" and value is None else _time(value)
    return _literal(value)


def _literal(value: str | bool | int | None) -> str:  # noqa: FBT001, a value of an option
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"CAST('{value}' AS BIGINT)"
    return "CAST(NULL AS STRING)" if value is None else string_literal(value)


def _time(micros: int | None) -> str:
    return "CAST(NULL AS TIMESTAMP_LTZ)" if micros is None else f"timestamp_micros(CAST('{micros}' AS BIGINT))"
