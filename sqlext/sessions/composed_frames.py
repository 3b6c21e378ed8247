"""Runs statements that are composed of the arguments of Python functions, and remembers them by their DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sqlext.engine.queries.sql_call import SqlCall
from sqlext.rewriter.text.composed import Composed
from sqlext.sessions.hook import unhooked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# This is light by design, as `explain` is.


@dataclass(frozen=True)
class ComposedCall:
    """A composed statement, and its call."""

    composed: Composed
    call: SqlCall

    def asking(self, composed: Composed) -> ComposedCall:
        """Another statement over the same inputs."""
        return ComposedCall(composed, replace(self.call, text=composed.text))


_CALLS: WeakKeyDictionary[DataFrame, ComposedCall] = WeakKeyDictionary()


def input_name(number: int) -> str:
    """The name of an input in a composed statement, from 0."""
    from sqlext.engine.queries.queries import helper_name  # needs pyspark, which workers do not load

    return helper_name(number)


def run_composed(composed: Composed, inputs: Sequence[DataFrame], *, takes_last: bool = False) -> DataFrame:
    """The DataFrame of a statement that reads `inputs` by the names of `input_name`, lazy as Spark's own.

    `takes_last`: its ASOF JOIN takes the largest of right rows with one time. The session need not be extended. Raises
    SqlExtError, with places in the arguments.
    """
    from sqlext.engine.queries.sent_texts import note_composed
    from sqlext.sessions.dispatch import dispatch  # needs pyspark and sqlglot, which workers do not load

    spark = inputs[0].sparkSession
    named = {input_name(number): frame for number, frame in enumerate(inputs)}
    call = SqlCall(spark=spark, sql=unhooked(spark), text=composed.text, inputs=named, takes_last=takes_last)
    note_composed(composed)
    with composed.places():
        frame = dispatch(call)
    _CALLS[frame] = ComposedCall(composed, call)
    return frame


def call_of(frame: object) -> ComposedCall | None:
    """The statement of a DataFrame that `run_composed` returned; None for anything else."""
    if isinstance(frame, ComposedCall):
        return frame
    try:
        return _CALLS.get(frame)  # type: ignore[call-overload]
    except TypeError:  # it has no weak reference
        return None
