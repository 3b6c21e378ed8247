"""Functions for workers, which find the sqlext that was sent to their executor, in streams too.

Spark Connect puts the files of a session into a separate folder on each executor. The workers of a batch query know
that folder, but Spark plans the micro-batches of a stream without it, so their workers know only the parent folder
(seen in Spark 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.cloudpickle import dumps

from sqlext.spark import void_columns
from sqlext.spark.comet import handed_over
from sqlext.spark.executors import sent_archive
from sqlext.spark.pandas_versions import without_sparks_warning
from sqlext.spark.worker_tasks import prompt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as T


def map_in_arrow(rows: DataFrame, function: Callable[..., Any], schema: T.StructType | str) -> DataFrame:
    """The result of `rows.mapInArrow(function, schema)`, on workers that may have only the sqlext that was sent to
    them. Its columns have the metadata of the schema."""
    worker = for_workers(rows.sparkSession, function)
    sent = handed_over(void_columns.typed(rows))
    with without_sparks_warning():
        if isinstance(schema, str):
            return sent.mapInArrow(worker, schema)
        returned = sent.mapInArrow(worker, void_columns.typed_schema(schema))
    return with_metadata(void_columns.restored(returned, schema), schema)


def with_metadata(rows: DataFrame, schema: T.StructType) -> DataFrame:
    """The rows, with the metadata of `schema` copied to the columns of the same names."""
    for field in schema.fields:
        if field.metadata:
            rows = rows.withMetadata(field.name, field.metadata)
    return rows


def for_workers(spark: SparkSession, function: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """The function or, if sqlext was sent, one that is unpickled without sqlext and then finds it."""
    archive = sent_archive(spark)
    if archive is None:
        return prompt(function)
    import_sent, pickled = importer(archive), dumps(prompt(function))

    def run(batches: Any) -> Iterator[Any]:
        import pickle

        import_sent()
        yield from pickle.loads(pickled)(batches)

    return run


def importer(archive: str | None) -> Callable[[], None]:
    """A function that makes a worker able to import the sqlext in the file `archive`, which was sent. `archive` is None
    if no file was sent.

    It is pickled by its code, because it is defined in a function.
    """

    def import_sent() -> None:
        import sys
        from glob import glob
        from importlib.util import find_spec

        from pyspark import SparkFiles

        if archive is not None and find_spec("sqlext") is None:
            sys.path[:0] = glob(f"{SparkFiles.getRootDirectory()}/*/{archive}")[:1]

    return import_sent
