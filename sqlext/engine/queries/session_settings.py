"""Reads the settings of a session that change values or ways, and refuses invalid ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.errors import BindError
from sqlext.expressions.function import (
    BOOLEAN_SETTINGS,
    ON_BY_DEFAULT,
    VALUES_OF_SETTINGS,
    ExecutionSettings,
)
from sqlext.expressions.spark_types import TIMESTAMP_TYPE
from sqlext.rewriter.checkpoint_words.local_times import reads_local_times
from sqlext.rewriter.checkpoint_words.read_settings import read_settings

_TIME_ZONE = "spark.sql.session.timeZone"


def time_zone(spark: SparkSession) -> str:
    """The name of the session's time zone."""
    return spark.conf.get(_TIME_ZONE, "UTC") or "UTC"


def execution_settings(spark: SparkSession) -> ExecutionSettings:
    """The settings of a session on which computed values depend."""
    return ExecutionSettings(
        is_ansi=is_on(spark, "spark.sql.ansi.enabled", default="true"),
        time_zone=time_zone(spark),
        timestamp_type=timestamp_type(spark),
        is_on=SettingsThatAreOn(partial(_is_setting_on, spark)),
    )


def settings_of_rules(spark: SparkSession) -> ExecutionSettings:
    """The settings of a session on which rules depend, which workers compile."""
    names = (*BOOLEAN_SETTINGS, *VALUES_OF_SETTINGS)
    are_on = frozenset(name for name in names if _is_setting_on(spark, name))
    return replace(execution_settings(spark), is_on=are_on)


class SettingsThatAreOn:
    """The settings of `expressions.function` that are on. Spark is asked for one when an expression first depends on
    it, because asking for all of them takes as long as the rest of a plan.

    Pickled, it is a set, in which the settings that no expression depends on have their default values.

    >>> import pickle
    >>> settings = SettingsThatAreOn({"a": True, "b": False}.__getitem__)
    >>> "a" in settings, "b" in settings, sorted(pickle.loads(pickle.dumps(settings)) - ON_BY_DEFAULT)
    (True, False, ['a'])
    """

    def __init__(self, is_setting_on: Callable[[str], bool]) -> None:
        self._is_setting_on = cache(is_setting_on)
        self._asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self._asked.add(str(name))
        return self._is_setting_on(str(name))

    def __reduce__(self) -> tuple[Any, ...]:
        are_on = (ON_BY_DEFAULT - self._asked) | {name for name in self._asked if self._is_setting_on(name)}
        return frozenset, (sorted(are_on),)


def _is_setting_on(spark: SparkSession, name: str) -> bool:
    setting, _, value = name.partition(" = ")
    if value:
        return _is(spark, setting, value, default=VALUES_OF_SETTINGS[name])
    return is_on(spark, name, default=str(name in ON_BY_DEFAULT).lower())


def settings_of(spark: SparkSession, text: str) -> dict[str, str]:
    """The values of the settings on which the rows of a query depend, as far as its text shows."""
    zone = {_TIME_ZONE} if reads_local_times(text) else set()
    return values_of_settings(spark, {*read_settings(text), *zone, TIMESTAMP_TYPE})


@contextmanager
def temporary_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Give settings of the session these values, and restore them at the end."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def other_values(spark: SparkSession, settings: Mapping[str, str]) -> dict[str, str]:
    """The values that the session has of those settings to which it gives another value."""
    now = values_of_settings(spark, settings)
    return {name: value for name, value in now.items() if value.lower() != settings[name].lower()}


def values_of_settings(spark: SparkSession, names: Iterable[str]) -> dict[str, str]:
    """The values of settings, without those that this version of Spark does not have."""
    values = {name: _value(spark, name) for name in sorted(names)}
    return {name: value.strip() for name, value in values.items() if value is not None}


def _value(spark: SparkSession, name: str) -> str | None:
    try:
        return spark.conf.get(name)
    except PySparkException:
        return None


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
