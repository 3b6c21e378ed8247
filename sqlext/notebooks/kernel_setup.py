"""Sets up the kernel for `sqlext notebook run` before the first cell of a notebook runs."""

from __future__ import annotations

import logging
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
    logging.getLogger("asyncio").addFilter(_is_of_the_notebook)
    with short_errors():
        spark = session(master=master, warehouse=warehouse, **{"spark.log.level": "OFF", **conf})
        spark.conf.set(TRIGGER, AVAILABLE_NOW)
    shell.user_ns["spark"] = spark
    load(shell, Display).widgets.receive(values)


def _is_of_the_notebook(record: logging.LogRecord) -> bool:
    """False for what a kernel that is told to end sometimes says of itself: its own last answer was still pending."""
    return "Kernel.dispatch_control" not in record.getMessage()
