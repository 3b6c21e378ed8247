"""Runs the SQL of plans. Errors are reported in the user's text, and warnings at the line of the user's code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any
from weakref import WeakSet

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.engine.queries.sent_texts import note
from sqlext.engine.queries.spark_errors import ERRORS, HELPER, failure_of_spark, user_error
from sqlext.engine.reports.shown_values import shown_name
from sqlext.errors import BindError
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Constant
from sqlext.expressions.values import from_arrow
from sqlext.operators.rows.arrow import to_values
from sqlext.pattern.task.task import LiteralValue
from sqlext.rewriter.scalars.certain_types import certain_types
from sqlext.rewriter.scalars.static_binder import certain_constant, stored_value
from sqlext.rewriter.text.names import only_column, quoted
from sqlext.rewriter.text.shuffle import APART
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.tree.sources import without_unread_ctes
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes

WATERMARK = "spark.watermarkDelayMs"  # in the metadata of a column that has a watermark

# a text that Spark need not read: it would cost a small statement a sixth of its plan
_WHOLE_HELPER = re.compile(rf"\s*SELECT\s+\*\s+FROM\s+({HELPER.pattern})\s*", re.IGNORECASE)

_WITH = re.compile(r"\bWITH\b", re.IGNORECASE)

# the DataFrames of texts with keyword DataFrames, which name temporary views that Spark has dropped since
_NAMING_VIEWS: WeakSet[DataFrame] = WeakSet()


def helper_name(number: int) -> str:
    """The name of a DataFrame in the texts of one statement, as HELPER finds it."""
    return f"__sqlext_helper_{number}__"


class Queries:
    """The queries of one statement. `sql` is Spark's own `spark.sql`; `frames` are the user's keyword DataFrames;
    `identifier`, `inputs`, `takes_last`: see `SqlCall`.

    In texts a planned clause is a DataFrame with a helper name. Spark receives it as a keyword DataFrame, which leaves
    nothing in the session afterwards.
    """

    def __init__(
        self,
        sql: Callable[..., DataFrame],
        frames: Mapping[str, Any],
        user_text: str,
        identifier: Callable[[], str] | None = None,
        inputs: Mapping[str, DataFrame] | None = None,
        *,
        takes_last: bool = False,
    ):
        self.sql, self.frames, self.user_text, self.identifier = sql, dict(frames), user_text, identifier
        self.helpers: dict[str, DataFrame] = dict(inputs or {})
        self.takes_last = takes_last
        self._kept: dict[str, DataFrame] = {}
        self.is_aggregate = cache(partial(_is_aggregate, sql))

    def name(self, frame: DataFrame) -> str:
        """Register `frame`, and return its name in texts of this statement."""
        name = helper_name(len(self.helpers))
        self.helpers[name] = frame
        return name

    def run(self, text: Text) -> DataFrame:
        """The DataFrame of a text, analysed. Raises BindError with a place for an error that Spark reports."""
        kept = self._kept.get(str(text))
        if kept is not None:
            return kept
        try:
            return self._analysed(text)
        except ERRORS as e:
            raise self.error(e, text) from None
        except Py4JError as e:
            raise failure_of_spark(e, text, self.user_text) from None

    def _analysed(self, text: Text) -> DataFrame:
        with quiet_probes():
            frame = self.execute(text)
            frame.schema  # noqa: B018  (on Connect only this analyses the text)
            return frame

    def keep(self, text: Text) -> bool:
        """Keep the DataFrame of a text that `run` is going to get. Return False if Spark cannot analyse the text."""
        frame = self.accepted(text)
        if frame is not None:
            self._kept[str(text)] = frame
        return frame is not None

    def accepted(self, text: Text) -> DataFrame | None:
        """The DataFrame of a text, analysed; None if Spark cannot analyse it. Nobody reads the error, so it gets no
        text."""
        try:
            return self._analysed(text)
        except (*ERRORS, Py4JError):
            return None

    def accepts(self, text: Text) -> bool:
        """Return True if Spark can analyse the text."""
        return self.accepted(text) is not None

    def execute(self, text: Text) -> DataFrame:
        """The DataFrame of a text; a command is carried out.

        A CTE that only clauses read is in their inputs. If it is a stream, Spark would also count it as a source here,
        which has no rows and so holds the watermark back.
        """
        frame = self._executed(text)
        if _WITH.search(str(text)) and frame.isStreaming:
            read = without_unread_ctes(text)
            return frame if read is text else self._executed(read)
        return frame

    def _executed(self, text: Text) -> DataFrame:
        note(text, self.user_text)
        whole = _WHOLE_HELPER.fullmatch(str(text))
        if whole is not None:
            return self.helpers[whole[1]]
        used = {name: self.helpers[name] for name in HELPER.findall(str(text))}
        frames = {**self.frames, **used}
        if not frames:
            return self.sql(str(text))
        frame = self.sql(_format_string(text, is_formatted=bool(self.frames)), **frames)
        _NAMING_VIEWS.add(frame)
        return frame

    def error(self, e: PySparkException, text: Text) -> BindError:
        """Spark's error with its place in the user's text, if it has one there."""
        return user_error(e, text, self.user_text, lambda: [row[0] for row in self.sql("SHOW FUNCTIONS").collect()])


def _format_string(text: Text, *, is_formatted: bool) -> str:
    """The text for `spark.sql(…, **frames)`, which Spark passes through str.format. Its fields are the helpers and, if
    the user also passes keyword DataFrames (`is_formatted`), the user's own fields."""
    parts = [
        p.text if is_formatted and p.is_verbatim else p.text.replace("{", "{{").replace("}", "}}") for p in text.pieces
    ]
    return HELPER.sub(lambda m: "{" + m[0] + "}", "".join(parts))


def names_views(frame: DataFrame) -> bool:
    """Return True if the text of the DataFrame names temporary views that Spark has dropped."""
    return frame in _NAMING_VIEWS


class SparkTypeResolver:
    """The types and constants that Spark computes for the lowering of a clause, over the rows of one relation.

    Spark is asked only once for the type or the value of a text; not at all while all types are certain, and not for a
    value that is certain, because Spark computes it by a job.
    """

    def __init__(
        self,
        queries: Queries,
        prefix: Text,
        relation: Text,
        beside: Text | None = None,
        columns: Sequence[tuple[str, str]] = (),
        settings: ExecutionSettings | None = None,
    ):
        """`beside`: the select list to which the relation's GROUP BY and HAVING may refer; `columns`: the name and type
        of all columns of the relation, if they are known; `settings`: those of the session, without which Spark
        computes all constants."""
        self.queries, self.prefix, self.relation, self.beside = queries, prefix, relation, beside
        self.columns, self.settings = columns, settings
        self._types: dict[str, str] = {}
        self._constants: dict[str, LiteralValue] = {}
        self._values: dict[tuple[str, str], Any] = {}

    def types(self, texts: Sequence[Text]) -> list[str]:
        new = {str(text): text for text in texts if str(text) not in self._types}
        if new:
            types = certain_types(new, self.columns) if self.columns else None
            self._types.update(zip(new, types or self._ask(list(new.values()))))
        return [self._types[str(text)] for text in texts]

    def _ask(self, texts: Sequence[Text]) -> list[str]:
        columns = join(*(join("(", t, f") AS __t{i}") for i, t in enumerate(texts)), separator=", ")
        items = columns if self.beside is None else join(self.beside, ", ", columns)
        frame = self.queries.run(join(self.prefix, "SELECT ", items, " FROM ", self.relation))
        return [field.dataType.simpleString() for field in frame.schema.fields[-len(texts) :]]

    def constant(self, text: Text) -> LiteralValue:
        key = str(text)
        if key not in self._constants:
            certain = self._certain(text)
            self._constants[key] = (
                stored_value(certain.value, certain.type) if certain else _stored(self._computed(text))
            )
        return self._constants[key]

    def values(self, texts: Sequence[Text], types: Sequence[str]) -> list[Any]:
        return list(map(self._value, texts, types))

    def _value(self, text: Text, spark_type: str) -> Any:
        key = str(text), spark_type
        if key not in self._values:
            certain = self._certain(text)
            if certain is not None and certain.type == spark_type:
                self._values[key] = certain.value
            else:
                (self._values[key],) = from_arrow(self._computed(text), spark_type)
        return self._values[key]

    def _certain(self, text: Text) -> Constant | None:
        return certain_constant(text, self.settings) if self.settings else None

    def _computed(self, text: Text) -> pa.Array:
        """The value of a constant expression, which Spark computes by a job."""
        query = join("SELECT ", text, " AS __t")
        try:
            return self.queries.run(query).toArrow().column(0).combine_chunks()
        except PySparkException as e:
            raise self.queries.error(e, query) from None


def _stored(array: pa.Array) -> LiteralValue:
    """The only value of an array, as compiled conditions store it."""
    value = to_values(array)
    return None if value.valid is not None and not value.valid[0] else value.values.tolist()[0]


def _is_aggregate(sql: Callable[..., DataFrame], name: str) -> bool:
    """Return True if `name` is a user's own aggregate. Built-in aggregates are known by name (aggregates.registry).

    A function is an aggregate if Spark accepts that it reads, with one argument or two, an ungrouped column in a GROUP
    BY.
    """
    if name not in {function.rpartition(".")[2] for function in user_functions(sql)}:
        return False
    return any(
        is_accepted(sql, f"SELECT {name}({arguments}) FROM VALUES (1, 2) AS t(k, c) GROUP BY k")
        for arguments in ("c", "c, c")
    )


def user_functions(sql: Callable[..., DataFrame]) -> set[str]:
    """The functions that are not built in, in lower case. Temporary ones have no schema in their names."""
    # USER is a reserved word if the session enforces the words that ANSI reserves
    return {str(row[0]).lower() for row in sql("SHOW `USER` FUNCTIONS").collect()}


def is_accepted(sql: Callable[..., DataFrame], query: str) -> bool:
    """Return True if Spark can analyse the query."""
    try:
        with quiet_probes():
            sql(query).schema  # noqa: B018  (on Connect only this analyses the text)
        return True
    except (PySparkException, Py4JError):
        return False


def watermarks(rows: DataFrame) -> list[str]:
    """The columns that have a watermark."""
    return [field.name for field in rows.schema.fields if WATERMARK in field.metadata]


def after_watermark(time: str) -> str:
    """An expression as hints write it after WATERMARK: a column without its relation.

    >>> after_watermark("l.`event.time`"), after_watermark("l.ts")
    ('`event.time`', 'ts')
    """
    name = only_column(time)
    return time if name is None else shown_name(quoted(name))


def with_outer_hint(error: BindError, hint: str) -> BindError:
    """The error, with the hint if it is about an unknown column, which may have been meant for an outer query."""
    return error.with_(hint=hint) if error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN") else error


def with_whole_keys(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows, with all rows of a key in one task. `keys`: the names of columns; without any, all rows are in one."""
    return rows.repartition(*(F.col(quoted(key)) for key in keys), F.expr(APART)) if keys else rows.repartition(1)
