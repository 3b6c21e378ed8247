"""The result of planning a part of a statement, for every kind of part: a clause, a join, a window function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from pyspark.sql import DataFrame, SparkSession

from sqlext.engine.planning.answers import (
    Analysis,
    Explained,
    KeptClause,
    MissesQuestion,
    PartitionMisses,
    WhyQuestion,
)
from sqlext.engine.planning.stream_clause import StreamClause
from sqlext.engine.queries.queries import Queries
from sqlext.errors import SqlExtError
from sqlext.rewriter.text.splice import Edit, Source, Text

Part = TypeVar("Part", contravariant=True)
# the hint for what plain SQL with `sqlext_match` cannot express
NOT_PORTABLE = "run the statement with spark.sql in an extended session."


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of EXPLAIN MATCH, about a part of a `kind`, whose title ends with `title`.

    `text`: returns the lines below the title, and is called only if they are shown; `name`: the name of the part.
    Sections without a name are numbered throughout the statement, and follow the sections with a name.
    """

    kind: str
    text: Callable[[], str]
    title: str = ""
    name: str = ""

    def shown(self, name: str) -> str:
        """
        >>> print(Section(kind="Clause", title=", line 3", text=lambda: "input events").shown("1"))
        == Clause 1, line 3 ==
        input events
        """
        return f"== {self.kind} {name}{self.title} ==\n{self.text()}"


class PlannedPart(Protocol):
    """A planned part of a statement, and what it says about itself.

    A kind of parts inherits from this class and overrides what it has an answer to. If all parts of a statement have
    none, the statement that asks is an error.
    """

    @property
    def reads_files(self) -> bool:
        """Whether one worker reads the files of the tables by itself."""
        return False

    def why(self, queries: Queries, spark: SparkSession, question: WhyQuestion) -> Iterable[Explained]:
        """What EXPLAIN MATCH WHY can explain: the part, or the parts of the stored view that it is."""
        return ()

    def analysis(self, queries: Queries, spark: SparkSession) -> Iterable[Analysis]:
        """What EXPLAIN MATCH ANALYZE can count."""
        return ()

    def kept(self, queries: Queries, spark: SparkSession) -> Iterable[KeptClause]:
        """What an operator of ours keeps in the checkpoint of a stream, for DESCRIBE STREAMING TABLE … FOR KEY."""
        return ()

    def near_misses(
        self, queries: Queries, spark: SparkSession, question: MissesQuestion
    ) -> Mapping[str, PartitionMisses] | None:
        """The near misses of some partitions, for pictures; None for a part without a pattern."""
        return None

    def about_result(self, error: SqlExtError) -> SqlExtError:
        """An error of the statement, with a hint if it is about a column that the part reads and does not show."""
        return error


class PlannedRelation(PlannedPart, Protocol):
    """A DataFrame that replaces a part in the statement for Spark.

    `has_effect`: building the DataFrame has an effect on the session or the catalog; with False there, it is a preview
    with the same columns. `stream_clauses`: the records that are stored beside the checkpoint of a stream.
    """

    @property
    def has_effect(self) -> bool: ...

    @property
    def stream_clauses(self) -> Sequence[StreamClause]: ...

    def frame(self, queries: Queries, spark: SparkSession) -> DataFrame: ...


@dataclass(frozen=True, kw_only=True)
class Planned:
    """The result of planning a part.

    `edits`: the edits of the statement, which then reads the part as planned; `relations`: by the names that replace
    them in the statement, each after the relations that it reads; `sections`: the sections of EXPLAIN MATCH;
    `needs_workers`: our code runs in Python workers; `warnings`: sentences for the user.
    """

    edits: Sequence[Edit] = ()
    relations: Mapping[str, PlannedRelation] = field(default_factory=dict)
    sections: Sequence[Section] = ()
    needs_workers: bool = False
    warnings: Sequence[str] = ()


class Planner(Protocol[Part]):
    """Plans the parts of one kind in a statement.

    `source`: the statement, as the plans of the parts inside this one have edited it; `prefix`: the WITH clause that
    the relations of the part need. Raises BindError and UnsupportedError.
    """

    def plan(self, part: Part, /, source: Source, prefix: Text) -> Planned: ...
