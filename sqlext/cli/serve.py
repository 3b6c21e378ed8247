"""The process that `sqlext server start` starts: a server with the commands of the command line."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress

from sqlext.cli import commands
from sqlext.cli.main import main as main_of_commands
from sqlext.cli.server_command import RUNS_ALREADY, settings_of
from sqlext.server import places
from sqlext.server.listener import Listener
from sqlext.server.places import Settings


class Commands:
    """The commands that a server runs for its clients."""

    def load(self) -> None:
        with suppress(ModuleNotFoundError):  # the shell needs libraries that other commands do not need
            from sqlext.cli import on_session, shell  # noqa: F401  (PySpark, which a failed start need not load)
        from sqlext.engine.statements import run_statement  # noqa: F401
        from sqlext.server import attach  # noqa: F401
        from sqlext.sessions import catalog_methods, dispatch, worker_errors  # noqa: F401

    def settings(self, arguments: list[str]) -> Settings:
        with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):  # --help ends the process, too
            options = commands.parser().parse_args(arguments)
        return settings_of(options)

    def run(self, arguments: list[str]) -> int:
        return main_of_commands(arguments)


def main(wanted: Settings, idle: float) -> int:
    """Serve until the end. What whoever started this process is to read is written to standard output, in one
    sentence."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process that forks has no threads
    place = places.place_of(wanted)
    lock = place.lock()
    if lock is None:
        print(RUNS_ALREADY)
        return 0

    def tell(sentence: str) -> None:
        print(f"{sentence}. The server ends after {idle / 60:g} minutes without a command, or by sqlext server stop.")
        sys.stdout.flush()
        os.dup2(2, 1)  # whoever waits for the sentence reads until the end

    return Listener(place, wanted, Commands(), idle).serve(lock, tell)


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    sys.exit(main(Settings(options["warehouse"], options["master"], tuple(options["conf"])), options["idle"]))
