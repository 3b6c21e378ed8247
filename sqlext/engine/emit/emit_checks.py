"""The further checks of a query with EMIT if it reads a stream."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sqlext.engine.queries.queries import watermarks
from sqlext.engine.queries.spark_errors import cast_hint
from sqlext.errors import BindError, UnsupportedError
from sqlext.operators.emit.parts import AFTER_WATERMARK, GLOBAL
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.emit.window_tvf import WindowTvf
from sqlext.rewriter.text.names import column_name


def check_stream(emit: EmitClause, rows: DataFrame) -> None:
    """Raise UnsupportedError (WATERMARK, STREAM_HAS_NO_END) and BindError (WINDOW_TIME, EMIT_TRIGGER) for a stream."""
    known, call = watermarks(rows), emit.call
    if not known:
        column = "ts" if call.time is None else call.time.text.rpartition(".")[2]
        raise UnsupportedError(
            "WATERMARK",
            "a stream fires its windows when its watermark passes rows, and this one has none",
            place=call.data.place,
            hint=f"write TABLE STREAM t WATERMARK {column} DELAY OF INTERVAL 10 SECONDS.",
        )
    if call.time is not None and column_name(call.time.text).lower() not in map(str.lower, known):
        raise BindError(
            "WINDOW_TIME",
            f"the windows of a stream are those of its watermark column, and {call.time.text} is not",
            place=call.time.place,
            hint=f"write DESCRIPTOR({known[0]}).",
        )
    if emit.order is not None:
        raise UnsupportedError(
            "STREAM_HAS_NO_END",
            f"{emit.order.text} needs the end of the firings, and a stream has none",
            place=emit.order.place,
            hint="write it where you read the streaming table.",
        )
    if call.kind == GLOBAL and all(trigger.kind == AFTER_WATERMARK for trigger in emit.triggers):
        raise BindError(
            "EMIT_TRIGGER",
            "the global window of a stream is never complete, and without a trigger it never fires",
            place=emit.keyword.place,
            hint="write EMIT EVERY n ROWS, or EMIT EARLY EVERY interval.",
        )


def check_grouped_time(call: WindowTvf, kind: str) -> None:
    """Raise UnsupportedError (WATERMARK) for windows of a stream over a time of type `kind` that has no watermark."""
    if call.time is not None and kind != "timestamp":
        raise UnsupportedError(
            "WATERMARK",
            f"on a stream the time of windows is a TIMESTAMP with a watermark, not {kind}",
            place=call.time.place,
            hint=cast_hint(call.time.text),
        )
