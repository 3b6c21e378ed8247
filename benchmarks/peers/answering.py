"""Peers with a virtual environment of their own, where a script answers each line of JSON with a line of JSON."""

from __future__ import annotations

import contextlib
import json
import select
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.downloads import cache


class PeerError(Exception):
    """A peer refused or failed; the text is its innermost reason."""


class Answering:
    """A process that answers one request after another. The first request starts it.

    name: for messages. command: starts the process. errors: the file for its stderr. An answer that takes longer than
    `limit_s` seconds raises TimeoutError and ends the process; the next request starts another one.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        errors: Path,
        limit_s: float,
        variables: Mapping[str, str] | None = None,
    ):
        self.name, self.command, self.errors, self.limit_s, self.variables = name, command, errors, limit_s, variables
        self.server: subprocess.Popen | None = None

    def start(self) -> None:
        with open(self.errors, "w") as errors:
            self.server = subprocess.Popen(
                self.command,
                env=self.variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def stop(self) -> None:
        server, self.server = self.server, None
        if server is not None:
            server.kill()  # its JVM reads the end of a pipe and ends too
            server.communicate()

    def ask(self, request: Mapping[str, object]) -> list[tuple]:
        """The rows that answer a request.

        Raises PeerError: the peer refuses the statement or fails. TimeoutError: it took longer than the limit.
        """
        if self.server is None:
            self.start()
        server = self.server
        assert server is not None and server.stdin is not None and server.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the process is dead: the missing answer is reported below
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
        if not select.select([server.stdout], [], [], self.limit_s)[0]:
            self.stop()
            raise TimeoutError(f"{self.name} took longer than {self.limit_s:g} s")
        if not (line := server.stdout.readline()):
            self.stop()
            raise PeerError(f"{self.name}'s process died: {self.errors.read_text()[-2000:]}")
        reply = json.loads(line)
        if "error" in reply:
            raise PeerError(reply["error"])
        return [tuple(row) for row in reply["rows"]]


def environment(name: str, requirement: str, pythons: Sequence[str] = (sys.executable,), supported: str = "") -> Path:
    """The Python of the virtual environment `name`, which is created when it is first needed, with `requirement`.

    Its base is the first of `pythons` that is on the path and for which the program `supported` exits with 0.
    """
    home = cache(name)
    python = home / "bin" / "python"
    if not (home / "installed").exists():
        base = next((p for p in pythons if _is_supported(p, supported)), None)
        if base is None:
            raise RuntimeError(f"{requirement} needs one of {', '.join(pythons)}, none is on the path")
        subprocess.run([base, "-m", "venv", "--clear", str(home)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, requirement], check=True)
        (home / "installed").touch()  # a virtual environment cannot be renamed, so this file marks a complete one
    return python


def _is_supported(name: str, program: str) -> bool:
    python = shutil.which(name)
    return bool(python) and subprocess.run([python, "-c", program], stderr=subprocess.DEVNULL).returncode == 0
