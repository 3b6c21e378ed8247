"""Runs the SQL of plans, and reports errors in it as errors in the user's text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame

from sqlext.engine.worker.arrow import to_values
from sqlext.errors import BindError, Place
from sqlext.expressions.values import from_arrow
from sqlext.quiet import quiet_probes
from sqlext.rewriter.text.splice import Text, join

WATERMARK = "spark.watermarkDelayMs"  # in the metadata of a column that has one
CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"  # in the metadata of CHAR and VARCHAR: Spark pads what it compares them with
HELPER = re.compile(r"__sqlext_helper_\d+__")


class Queries:
    """The queries of one statement. `sql` is Spark's own `spark.sql`; `frames` are the user's keyword DataFrames.

    In texts a planned clause is a DataFrame with a helper name. Spark gets it as a keyword DataFrame, which leaves
    nothing behind.
    """

    def __init__(self, sql: Callable[..., DataFrame], frames: Mapping[str, Any], user_text: str):
        self.sql, self.frames, self.user_text = sql, dict(frames), user_text
        self.helpers: dict[str, DataFrame] = {}

    def name(self, frame: DataFrame) -> str:
        """Register `frame`, and return its name in texts of this statement."""
        name = f"__sqlext_helper_{len(self.helpers)}__"
        self.helpers[name] = frame
        return name

    def run(self, text: Text) -> DataFrame:
        """The DataFrame of a text, analysed. Raises BindError with a place for an error that Spark finds."""
        try:
            with quiet_probes():
                frame = self.execute(text)
                frame.schema  # noqa: B018  (on Connect only this analyses the text)
            return frame
        except (AnalysisException, ParseException) as e:
            raise self.error(e, text) from None

    def execute(self, text: Text) -> DataFrame:
        """The DataFrame of a text; a command is carried out."""
        used = {name: self.helpers[name] for name in HELPER.findall(str(text))}
        frames = {**self.frames, **used}
        if not frames:
            return self.sql(str(text))
        return self.sql(_format_string(text, is_formatted=bool(self.frames)), **frames)

    def error(self, e: PySparkException, text: Text) -> BindError:
        """Spark's error with its place in the user's text."""
        condition = getattr(e, "getCondition", e.getErrorClass)() or "ANALYSIS"
        first_line = str(e).strip().split("\n")[0]
        message = re.sub(r"^\[[A-Z0-9_.]+\] ?|;? ?SQLSTATE: \w+.*$", "", first_line).rstrip("; ")
        return BindError(condition.replace(".", "_"), message, place=self._place(e, text))

    def _place(self, e: PySparkException, text: Text) -> Place | None:
        contexts = [c for c in e.getQueryContext() or [] if c.contextType().name == "SQL"]
        if not contexts:
            return self._place_of_syntax(str(e), text)
        fragment, near = contexts[0].fragment(), contexts[0].startIndex()
        starts = [m.start() for m in re.finditer(re.escape(fragment), str(text))]  # helper names change the offsets
        for start in sorted(starts, key=lambda s: abs(s - near)):
            origins = [o for i in range(start, start + len(fragment)) if (o := text.origin(i)) is not None]
            if origins:
                return Place(self.user_text, origins[0], max(origins) + 1)
        return None

    def _place_of_syntax(self, message: str, text: Text) -> Place | None:
        """The place of a syntax error; where the text is not the user's, the last character of the user's before it."""
        position = re.search(r"\(line (\d+), pos (\d+)\)", message)
        if position is None:
            return None
        lines = str(text).splitlines(keepends=True)[: int(position[1])]
        if HELPER.search(lines[-1][: int(position[2])]):  # Spark knows it by another name, of another length
            return None
        at = len("".join(lines[:-1])) + int(position[2])
        origins = (text.origin(i) for i in range(min(at, len(str(text)) - 1), -1, -1))
        origin = next((o for o in origins if o is not None and not self.user_text[o].isspace()), None)
        return None if origin is None else Place(self.user_text, origin, origin + 1)


def _format_string(text: Text, is_formatted: bool) -> str:
    """The text for `spark.sql(…, **frames)`, which Spark passes through str.format. Its fields are the helpers and, if
    the user has keyword DataFrames too (`is_formatted`), the user's own fields."""
    parts = [
        p.text if is_formatted and p.is_verbatim else p.text.replace("{", "{{").replace("}", "}}") for p in text.pieces
    ]
    return HELPER.sub(lambda m: "{" + m[0] + "}", "".join(parts))


class SparkTypeResolver:
    """The types and constants that Spark computes for the lowering of a clause, over the rows of one relation."""

    def __init__(self, queries: Queries, prefix: Text, relation: Text):
        self.queries, self.prefix, self.relation = queries, prefix, relation

    def types(self, texts: Sequence[Text]) -> list[str]:
        if not texts:
            return []
        columns = join(*(join("(", t, f") AS __t{i}") for i, t in enumerate(texts)), separator=", ")
        frame = self.queries.run(join(self.prefix, "SELECT ", columns, " FROM ", self.relation))
        return [field.dataType.simpleString() for field in frame.schema.fields]

    def constants(self, texts: Sequence[Text]) -> list[bool | int | float | None]:
        columns = join(*(join(t, f" AS __t{i}") for i, t in enumerate(texts)), separator=", ")
        table = self.queries.run(join("SELECT ", columns)).toArrow()
        values = [to_values(column.combine_chunks()) for column in table.columns]
        return [None if v.valid is not None and not v.valid[0] else v.values.tolist()[0] for v in values]

    def values(self, texts: Sequence[Text], types: Sequence[str]) -> list[Any]:
        columns = join(*(join(t, f" AS __t{i}") for i, t in enumerate(texts)), separator=", ")
        table = self.queries.run(join("SELECT ", columns)).toArrow()
        return [from_arrow(column.combine_chunks(), t)[0] for column, t in zip(table.columns, types)]


def is_aggregate(sql: Callable[..., DataFrame], name: str) -> bool:
    """Is `name` a user's own aggregate? Built-in ones are known by name (rewriter.match.scalars.AGGREGATES).

    It is if Spark lets it, with one argument or two, read an ungrouped column in a GROUP BY.
    """
    if not any(f"{row[0]}".lower().split(".")[-1] == name for row in sql("SHOW USER FUNCTIONS").collect()):
        return False
    return any(is_accepted(sql, f"SELECT {name}({arguments}) FROM VALUES (1, 2) AS t(k, c) GROUP BY k")
               for arguments in ("c", "c, c"))  # fmt: skip


def is_accepted(sql: Callable[..., DataFrame], query: str) -> bool:
    """Can Spark analyse the query?"""
    try:
        with quiet_probes():
            sql(query).schema  # noqa: B018  (on Connect only this analyses the text)
        return True
    except PySparkException:
        return False


def with_outer_hint(error: BindError, hint: str) -> BindError:
    """The error; one about an unknown column, which may have been meant for an outer query, with the hint."""
    return error.with_(hint=hint) if error.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN") else error
