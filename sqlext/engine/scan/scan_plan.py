"""Which relations a worker reads by itself, and the plan of what it computes of their rows.

`sqlext.read` is auto, spark or worker. A worker reads a relation if Spark runs on this machine only, the relation is a
projection and a filter of one table of files that PyArrow reads as Spark does (`file_relation`), and NumPy computes
all that is asked of a row (`column_values.is_computed_at_once`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyspark.sql import DataFrame

from sqlext.engine.scan.file_relation import FileRelation, NotRead, check_functions, file_relation
from sqlext.errors import Place, SqlExtError, UnsupportedError
from sqlext.expressions.column_values import is_computed_at_once, text_search
from sqlext.expressions.function import ExecutionSettings
from sqlext.expressions.scalar_tree import Column, Scalar, ScalarCall, columns_in, substituted
from sqlext.operators.rows.columns import SORT_ONLY
from sqlext.operators.rows.limits import FILES, SHARE_OF_MEMORY, Limits
from sqlext.operators.rows.worker_memory import free_bytes
from sqlext.operators.scan.footers import is_type_read
from sqlext.operators.scan.plan import FileColumn, MaskColumn, ScanPlan
from sqlext.rewriter.text.splice import Text

MODES = AUTO, SPARK, WORKER = "auto", "spark", "worker"
_WIDTHS = {"boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "float": 4, "date": 4, "bigint": 8, "double": 8}
_UNKNOWN_MEMORY = 8 << 30
PARTS = FILES // 4  # of rows divided by their keys, so that one fits in memory although some have more than others
_FEW_ROWS = 1 << 18  # that are read at once where memory is short
REASON = "one worker reads the files of the table and matches their rows with the threads of all cores."


@dataclass(frozen=True, kw_only=True)
class LocalScan:
    """The list of `files` that one worker reads, and what it reads and computes. `needed_bytes`: how many bytes of rows
    these are at most; `held_bytes`: if it has read more, it divides them by their keys, on disk."""

    relation: FileRelation
    plan: ScanPlan
    needed_bytes: int
    held_bytes: int

    @property
    def files(self) -> DataFrame:
        return self.relation.files([column.name for column in self.plan.constants]).coalesce(1)

    def filtered(self, conditions: Iterable[Text]) -> LocalScan:
        """The scan of the rows on which these conditions hold as well, as far as workers compute them: conditions
        that only drop rows which change nothing."""
        found = (_scalar_or_none(self.relation, condition) for condition in conditions)
        filters = (*self.plan.filters, *(scalar for scalar in found if scalar is not None))
        plan = _plan(self.relation, filters, self.plan.computed, self.plan.masks, self.plan.threads)
        return replace(self, plan=replace(plan, batch_rows=self.plan.batch_rows, order=self.plan.order))


def local_scan(
    rows: DataFrame,
    settings: ExecutionSettings,
    computed: Sequence[tuple[str, Text]],
    masks: Sequence[tuple[str, int, Sequence[Text]]],
    threads: int,
    written: Mapping[str, str] = MappingProxyType({}),
    parts: int = 1,
    order: str | None = None,
) -> LocalScan:
    """The scan of a relation. `computed`: (name, expression) of each column that is asked for; `masks`: (name, bits,
    conditions) of each column of conditions; `written`: as the user wrote them, columns of the relation that have names
    of their own; `parts`: in how many parts the worker can divide the rows on disk; `order`: the column of `computed`
    in whose order rows are wanted, if they are stored so.

    Raises NotRead.
    """
    return scan_of(file_relation(rows, settings), computed, masks, threads, written, parts, order)


def scan_of(
    relation: FileRelation,
    computed: Sequence[tuple[str, Text]],
    masks: Sequence[tuple[str, int, Sequence[Text]]],
    threads: int,
    written: Mapping[str, str] = MappingProxyType({}),
    parts: int = 1,
    order: str | None = None,
) -> LocalScan:
    """See `local_scan`."""

    def scalar(text: Text) -> Scalar:
        return _scalar(relation, text, written.get(str(text)))

    columns = tuple((name, scalar(text)) for name, text in computed)
    conditions = tuple(
        MaskColumn(name=name, bits=bits, conditions=tuple(map(scalar, texts))) for name, bits, texts in masks
    )
    filters = tuple(_checked(each, "the filter of the input") for each in relation.filters)
    ordering = dict(columns).get(order or "")
    plan = _plan(relation, filters, columns, conditions, threads)
    plan = replace(plan, order=ordering.name if isinstance(ordering, Column) else None)
    needed, held = _needed_bytes(relation, plan), _held_bytes()
    check_bytes(needed, held, parts)
    if needed > held:
        plan, held = replace(plan, batch_rows=_FEW_ROWS), min(held, Limits.held_bytes)
    return LocalScan(relation=relation, plan=plan, needed_bytes=needed, held_bytes=held)


def check_bytes(needed: int, held: int, parts: int = 1) -> None:
    """Raise NotRead if rows that are divided into parts need more bytes than a worker may hold.

    >>> check_bytes(3 << 30, 1 << 30, parts=16)
    >>> check_bytes(3 << 30, 1 << 30)
    Traceback (most recent call last):
    sqlext.engine.scan.file_relation.NotRead: the rows need 3,072 MB, and a third of the free memory is 1,024 MB
    """
    if needed > held * parts:
        than = f"{parts} times a third of the free memory" if parts > 1 else "a third of the free memory"
        raise NotRead(f"the rows need {needed >> 20:,} MB, and {than} is {held * parts >> 20:,} MB")


def chosen_scan(
    scan: Callable[[], LocalScan], mode: str, place: Place | None, reason: str
) -> tuple[LocalScan | None, str]:
    """The scan by a worker, None if Spark reads the rows, and the reason as EXPLAIN MATCH shows it; empty where no
    table is read. `mode`: one of MODES; `reason`: why a worker reads; `scan` raises NotRead where it cannot.

    Raises UnsupportedError: READ_BY_WORKER, if the session asks for a worker.
    """
    if mode == SPARK:
        return None, "Spark reads the rows, sqlext.read is spark."
    try:
        return scan(), reason
    except NotRead as refusal:
        why = reason_of(refusal, mode, place)
    return None, f"Spark reads the rows: {why}." if why else ""


def reason_of(refusal: NotRead, mode: str, place: Place | None) -> str:
    """The reason why Spark reads the rows; empty where no table is read. `mode`: one of MODES.

    Raises UnsupportedError: READ_BY_WORKER, if the session asks for a worker.
    """
    if mode == WORKER:
        message = f"no worker can read the input: {str(refusal) or 'it is no table of files'}"
        raise UnsupportedError("READ_BY_WORKER", message, place=place, hint="SET sqlext.read = auto.")
    return str(refusal)


def _scalar_or_none(relation: FileRelation, text: Text) -> Scalar | None:
    try:
        return _scalar(relation, text)
    except NotRead:
        return None


def _scalar(relation: FileRelation, text: Text, written: str | None = None) -> Scalar:
    """An expression over the columns of a relation, over those of its files. `written`: as messages show it.

    Raises NotRead.
    """
    check_functions(relation.spark, str(text))
    try:
        tree = relation.binder.tree(text)
    except SqlExtError as error:
        raise NotRead(f"{text} is computed by Spark: {error.message}") from None
    return _checked(substituted(tree, relation.columns), written or str(text))


def _checked(scalar: Scalar, written: str) -> Scalar:
    if not isinstance(scalar, Column) and not is_computed_at_once(scalar):
        raise NotRead(f"{written} is computed by Spark")
    return scalar


def _plan(
    relation: FileRelation,
    filters: tuple[Scalar, ...],
    computed: tuple[tuple[str, Scalar], ...],
    masks: tuple[MaskColumn, ...],
    threads: int,
) -> ScanPlan:
    conditions = [*filters, *(c for mask in masks for c in mask.conditions)]
    scalars = [*conditions, *(scalar for _, scalar in computed)]
    keys = {key.column for key in relation.keys}
    read = {column.name for scalar in scalars for column in columns_in(scalar)} | keys
    kept = [scalar for name, scalar in computed if not name.startswith(SORT_ONLY)]
    coded = read - keys - set(_with_whole_texts([*conditions, *kept]))
    columns = [
        FileColumn(
            name=name,
            spark_type=kind,
            is_coded=kind == "string" and name in coded,
            stored=relation.stored.get(name, ""),
        )
        for name, kind in relation.table.items()
        if name in read
    ]
    if others := [column for column in columns if not is_type_read(column.spark_type)]:
        raise NotRead(f"{others[0].name} has the type {others[0].spark_type}")
    return ScanPlan(
        columns=tuple(column for column in columns if column.name not in relation.partitions),
        constants=tuple(column for column in columns if column.name in relation.partitions),
        filters=filters,
        computed=computed,
        masks=masks,
        threads=threads,
        log=relation.log,
        keys=relation.keys,
    )


def _with_whole_texts(scalars: Iterable[Scalar]) -> Iterable[str]:
    """The names of the columns whose values are needed; of others only whether they are one of some texts."""
    for scalar in scalars:
        if isinstance(scalar, Column):
            yield scalar.name
        elif isinstance(scalar, ScalarCall) and text_search(scalar) is None:
            yield from _with_whole_texts(scalar.arguments)


def _needed_bytes(relation: FileRelation, plan: ScanPlan) -> int:
    size = relation.size(plan.columns)
    return max(size.bytes, size.rows * sum(_WIDTHS.get(column.spark_type, 16) for column in plan.columns))


def _held_bytes() -> int:
    """How many bytes of rows the worker may hold."""
    free = free_bytes()
    return (_UNKNOWN_MEMORY if free is None else free) // SHARE_OF_MEMORY
