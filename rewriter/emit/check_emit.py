"""Checks that the parts of EMIT fit together, as far as this needs no types."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.errors import BindError, SqlExtError, raise_all
from sqlext.operators.emit.parts import CUMULATE, KEEP_ROWS, NOT_FOR_SESSIONS, SESSION
from sqlext.rewriter.emit.emit_clause import EmitClause
from sqlext.rewriter.text.names import unquoted


def check_emit(clause: EmitClause) -> None:
    """Raise all errors of a clause together as BindError (EMIT_TRIGGER, EMIT_GROUP_BY, EMIT_EVICTOR)."""
    raise_all([error for rule in (_session_triggers, _steps, _evictor) for error in rule(clause)])


def _session_triggers(clause: EmitClause) -> Iterator[SqlExtError]:
    for trigger in clause.triggers:
        if clause.call.kind == SESSION and trigger.kind in NOT_FOR_SESSIONS:
            yield BindError(
                "EMIT_TRIGGER",
                f"sessions cannot fire {trigger.kind}, because two of them may become one",
                place=trigger.whole.place,
                hint="write EARLY EVERY interval or EVERY n ROWS.",
            )


def _steps(clause: EmitClause) -> Iterator[SqlExtError]:
    names = {unquoted(key.text.rpartition(".")[2].strip()).lower(): key for key in clause.keys}
    if clause.call.kind == CUMULATE and "window_start" in names and "window_end" not in names:
        yield BindError(
            "EMIT_GROUP_BY",
            "windows of CUMULATE begin together, so window_start alone does not tell them apart",
            place=names["window_start"].place,
            hint="write GROUP BY …, window_start, window_end.",
        )


def _evictor(clause: EmitClause) -> Iterator[SqlExtError]:
    evictor = clause.evictor
    if evictor is not None and evictor.kind == KEEP_ROWS and evictor.amount and int(evictor.amount.text) == 0:
        yield BindError(
            "EMIT_EVICTOR",
            "without rows there is nothing to compute",
            place=evictor.amount.place,
            hint="keep one row at least: EVICT KEEP LAST 1 ROW.",
        )
