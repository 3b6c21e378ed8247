"""Answer SQL in Flink's own virtual environment, which has none of our packages: a script that flink.py starts.

It reads lines of JSON, {"sql": …, "is_stream": …}, and answers each with one line, {"rows": […]} or {"error": …}.
Numbers, text, Booleans and NULL are JSON values; all other values are text. The JVM starts and ends with this process,
and this process ends when the JVM dies. Batch and streaming mode have their own tables. The rows of a stream are all
changes of its result, in order.
"""

from __future__ import annotations

import json
import os
import sys

from pyflink.common import Configuration
from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment

CORES = os.environ.get("FLINK_PARALLELISM", "2")
SETTINGS = {
    "parallelism.default": CORES,
    # All stages run at once, as in Spark's and Trino's shuffles within one process; the batch scheduler accepts only
    # exchanges by file.
    "jobmanager.scheduler": "Default",
    "execution.batch-shuffle-mode": "ALL_EXCHANGES_PIPELINED",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    # The defaults of the small cluster inside the process, 128 MB and 64 MB, make sorts spill.
    "taskmanager.memory.managed.size": "1g",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
}
STREAM_SETTINGS = {
    # Totals are emitted once, at the end of the file, and not after every row that changes them.
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 h",
    "table.exec.mini-batch.size": "1000000000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
}


def environment(*, is_stream: bool) -> TableEnvironment:
    configuration = Configuration()
    for key, value in {**SETTINGS, **(STREAM_SETTINGS if is_stream else {})}.items():
        configuration.set_string(key, value)
    mode = EnvironmentSettings.new_instance()
    settings = (mode.in_streaming_mode() if is_stream else mode.in_batch_mode()).with_configuration(configuration)
    return TableEnvironment.create(settings.build())


def answer(tables: TableEnvironment, sql: str) -> dict:
    try:
        with tables.execute_sql(sql).collect() as rows:
            return {"rows": [list(row) for row in rows]}
    except Exception as error:  # the failure is the answer to this query; the next one may succeed
        get_gateway().jvm.System.nanoTime()  # raises where the JVM died, and ends this process
        return {"error": cause(str(error))}


def cause(trace: str) -> str:
    """The innermost reason in a stack trace of Java, or the text before the trace.

    >>> cause("SQL validation failed.\\n\\tat a.B\\nCaused by: org.x.E: Greedy\\n\\tat c.D")
    'org.x.E: Greedy'
    """
    reasons = [line for line in trace.splitlines() if line.startswith("Caused by: ")]
    return reasons[-1].removeprefix("Caused by: ") if reasons else trace.split("\n\tat ")[0].split("\n: ")[-1]


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the output of Flink goes to the log
    modes = {False: environment(is_stream=False)}
    for line in sys.stdin:
        request = json.loads(line)
        is_stream = bool(request.get("is_stream"))
        if is_stream not in modes:
            modes[is_stream] = environment(is_stream=is_stream)
        answers.write(json.dumps(answer(modes[is_stream], request["sql"]), default=str) + "\n")


if __name__ == "__main__":
    main()
