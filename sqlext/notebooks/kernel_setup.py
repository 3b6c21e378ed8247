"""Sets up the kernel for `sqlext notebook run` before the first cell of a notebook runs."""

from __future__ import annotations

from collections.abc import Mapping

from IPython.core.interactiveshell import InteractiveShell

from sqlext.engine.streams.streaming_tables import TRIGGER
from sqlext.notebooks.magics import load, short_errors
from sqlext.rewriter.heads.triggers import AVAILABLE_NOW
from sqlext.sessions.session import session
from sqlext.sessions.watched import Display


def set_up(
    shell: InteractiveShell, master: str, warehouse: str, conf: Mapping[str, str], values: Mapping[str, str]
) -> None:
    """Start the session `spark`, load the magics, and pass the values of parameters to the widgets. `conf`: settings.

    Streaming tables process the rows that exist, and their cells wait until this is done, as in a Databricks job.
    """
    with short_errors():
        spark = session(master=master, warehouse=warehouse, **{"spark.log.level": "OFF", **conf})
        spark.conf.set(TRIGGER, AVAILABLE_NOW)
    shell.user_ns["spark"] = spark
    load(shell, Display).widgets.receive(values)
