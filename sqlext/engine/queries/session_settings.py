"""Reads settings of a session, and refuses invalid values."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.errors import BindError
from sqlext.expressions.function import BOOLEAN_SETTINGS, LAST_KEY_WINS, ON_BY_DEFAULT, ExecutionSettings
from sqlext.expressions.spark_types import TIMESTAMP_TYPE


def time_zone(spark: SparkSession) -> str:
    """The name of the session's time zone."""
    return spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"


def execution_settings(spark: SparkSession) -> ExecutionSettings:
    """The settings of a session on which computed values depend."""
    return ExecutionSettings(
        is_ansi=is_on(spark, "spark.sql.ansi.enabled", default="true"),
        time_zone=time_zone(spark),
        timestamp_type=timestamp_type(spark),
    )


def settings_of_rules(spark: SparkSession) -> ExecutionSettings:
    """The settings of a session on which expressions depend of which Spark computes nothing."""
    are_on = {name for name in BOOLEAN_SETTINGS if is_on(spark, name, default=str(name in ON_BY_DEFAULT).lower())}
    if _is(spark, "spark.sql.mapKeyDedupPolicy", "LAST_WIN", default="EXCEPTION"):
        are_on.add(LAST_KEY_WINS)
    has_legacy_times = _is(spark, "spark.sql.legacy.timeParserPolicy", "LEGACY", default="CORRECTED")
    return replace(execution_settings(spark), is_on=frozenset(are_on), has_legacy_times=has_legacy_times)


def timestamp_type(spark: SparkSession) -> str:
    """The simple name of the type that the word TIMESTAMP names in the SQL of a session."""
    is_local = _is(spark, TIMESTAMP_TYPE, "TIMESTAMP_NTZ", default="TIMESTAMP_LTZ")
    return "timestamp_ntz" if is_local else "timestamp"


def _is(spark: SparkSession, name: str, value: str, *, default: str) -> bool:
    """Whether a setting has a value, which a user may write in any case. `default`: a valid value of the setting."""
    return (spark.conf.get(name, default) or default).strip().upper() == value


def is_on(spark: SparkSession, name: str, *, default: str) -> bool:
    """The value of a Boolean setting, which a user may write as TRUE or True. Spark keeps what was written."""
    return is_true(spark.conf.get(name, default) or default)


def is_true(value: str) -> bool:
    """
    >>> is_true("TRUE "), is_true("False")
    (True, False)
    """
    return value.strip().lower() == "true"


def choice(spark: SparkSession, name: str, default: str, values: tuple[str, ...]) -> str:
    """The value of a setting, which must be one of `values`. Raises BindError."""
    value = spark.conf.get(name, default) or default
    if value not in values:
        what = name.rpartition(".")[2]
        raise BindError(what.upper(), f'there is no {what} "{value}"', hint=f"{name} is {', '.join(values)}.")
    return value


def count(spark: SparkSession, name: str, default: int) -> int:
    """The value of a setting as a whole number; `default` if it is 0 or not set. Raises BindError SETTING."""
    value = (spark.conf.get(name, "") or "0").strip()
    if not value.isdecimal():
        raise BindError("SETTING", f'"{value}" is not a number', hint=f"SET {name} to a whole number.")
    return int(value) or default
