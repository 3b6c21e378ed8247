"""What people see of the output of Spark and its Python workers on stderr: without what says nothing to them.

Left out are the start of workers for streams, the log of tasks that failed, whose error is raised as well, and the
workers whose rows nobody reads any more, because a LIMIT has enough of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# The lines that Spark's Python worker for stateful streams prints when it starts, each followed by an empty line.
_WORKER_LINE = re.compile(rb"(?:Starting )?Streaming TransformWithStateInPandas Python worker\b")
_RECORD = re.compile(rb"\d\d/\d\d/\d\d \d\d:\d\d:\d\d [A-Z]+ ")
_FAILED_TASK = re.compile(
    rb".{18}ERROR (?:Executor: Exception in task |TaskSetManager: Task \d+ in stage |Utils: Aborting task|"
    rb"\w*FileFormatWriter: |\w+Exec: |DataWritingSparkTask: )"
)
_JAVA_ERROR = re.compile(rb"(?:Caused by: )?(?:[a-z]\w*\.)+[\w$]*(?:Exception|Error)\b")
_STACK = re.compile(rb"\tat |\t\.\.\. \d+ |\t*Suppressed: |Caused by: ")
_TRACEBACK = b"Traceback (most recent call last):"
_INSIDE_TRACEBACK = re.compile(rb" |\r?\n$")
_NOBODY_READS = re.compile(rb"(?:BrokenPipeError|ConnectionResetError): ")
_BETWEEN_TRACEBACKS = re.compile(rb"\r?\n$|During handling of the above |The above exception was ")
_OF_PYSPARK = re.compile(rb'File "[^"]*[/\\]pyspark[/\\.]')


def shown_output(chunks: Iterable[bytes], *, shows_failed_tasks: bool = False) -> Iterator[bytes]:
    """The lines that people need. A line also ends at a carriage return, as those of progress bars do.

    >>> start = b"Starting Streaming TransformWithStateInPandas Python worker.\\n\\n"
    >>> list(shown_output([b"1\\n" + start[:9], start[9:] + b"\\n2", b"3\\r4"]))
    [b'1\\n', b'\\n', b'23\\r', b'4']
    >>> head = b"26/11/29 08:20:53 ERROR Executor: Exception in task 0.0\\n"
    >>> list(shown_output([head, b"java.lang.Error: no\\n\\tat a.b(C:1)\\nprinted\\n"]))
    [b'printed\\n']
    """
    lines = _without_worker_lines(_lines(chunks))
    return _without_broken_pipes(lines if shows_failed_tasks else _without_failed_tasks(lines))


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = re.split(rb"(?<=[\r\n])", rest + chunk)
        yield from lines
    if rest:
        yield rest


def _without_worker_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    was_dropped = False
    for line in lines:
        is_dropped = _WORKER_LINE.match(line) is not None
        if not is_dropped and not (was_dropped and line == b"\n"):
            yield line
        was_dropped = is_dropped


def _without_failed_tasks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """A record of the log is its first line, and then the message of an error and its stack, if it has one."""
    part = ""  # of a record that is left out: "head", "message" or "stack"; "" outside
    for line in lines:
        if _RECORD.match(line):
            part = "head" if _FAILED_TASK.match(line) else ""
        elif part == "head":
            part = "message" if _JAVA_ERROR.match(line) else ""
        elif part and _STACK.match(line):
            part = "message" if line.startswith(b"Caused by: ") else "stack"
        elif part == "stack":
            part = ""
        if not part:
            yield line


def _without_broken_pipes(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without the tracebacks of workers that nobody reads. Other tracebacks are shown when they are complete."""
    held: list[bytes] = []
    was_dropped = False
    for line in lines:
        if line.startswith(_TRACEBACK) or (held and _INSIDE_TRACEBACK.match(line)):
            held.append(line)
        elif held:
            was_dropped = _NOBODY_READS.match(line) is not None and any(map(_OF_PYSPARK.search, held))
            if not was_dropped:
                yield from [*held, line]
            held = []
        elif not (was_dropped and _BETWEEN_TRACEBACKS.match(line)):
            was_dropped = False
            yield line
    yield from held
