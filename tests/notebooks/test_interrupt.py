"""The progress of a cell, and the stop button, in a real kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from tests.sampling import sample

pytestmark = [pytest.mark.slow, pytest.mark.spark]
ENDLESS = "SELECT count(*) AS n FROM range(0, 1000000, 1, 5000) a JOIN range(100000) b ON a.id + b.id = -1"
SECONDS = 120


IS_SERVED = (
    sample([True, False], 2)[0] and sys.platform == "linux"
)  # whether a server runs, whose Spark the kernel uses


@pytest.fixture(scope="module")
def kernel(tmp_path_factory) -> Iterator[KernelManager]:
    """A kernel of this Python."""
    specs, folder = KernelSpecManager(), str(tmp_path_factory.mktemp("kernel"))
    specs.kernel_dirs = []
    variables = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("s"))}  # of the servers of this test
    server = [sys.executable, "-m", "sqlext", "server"]
    if IS_SERVED:
        subprocess.run([*server, "start"], env=variables, cwd=folder, check=True)
    manager = KernelManager(kernel_name="python3", kernel_spec_manager=specs)
    manager.start_kernel(cwd=folder, env=variables, extra_arguments=["--IPKernelApp.log_level=40"])
    yield manager
    manager.shutdown_kernel()
    if IS_SERVED:
        subprocess.run([*server, "stop", "--all"], env=variables, cwd=folder, check=True)


@pytest.fixture(scope="module")
def client(kernel) -> Iterator[BlockingKernelClient]:
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=SECONDS)
    yield client
    client.stop_channels()


def run(
    client: BlockingKernelClient, code: str, seen: Callable[[str], None] = lambda text: None
) -> tuple[str, list[str]]:
    """Run a cell. Returns its status and the text of each output, of each display the last one. `seen` is called with
    each text."""
    shown: dict[str, str] = {}

    def receive(message: dict[str, Any]) -> None:
        content, kind = message["content"], message["msg_type"]
        if kind not in ("display_data", "update_display_data", "execute_result", "stream", "error"):
            return
        text = content.get("text") or content.get("data", {}).get("text/plain") or f"{kind} {content}"
        shown[content.get("transient", {}).get("display_id") or f"output {len(shown)}"] = text
        seen(text)

    reply = client.execute_interactive(code, output_hook=receive, timeout=SECONDS)["content"]
    return reply["status"], list(shown.values())


def test_the_stop_button_cancels_the_job_and_shows_no_traceback(kernel, client):
    progress = []

    def stop(text: str) -> None:
        progress.append(text)
        if "tasks, " in text:
            kernel.interrupt_kernel()

    assert run(client, "%load_ext sqlext") == ("ok", [])
    status, shown = run(client, f"%%sql\n{ENDLESS}", stop)
    assert (status, len(shown), shown[-1].partition(" after ")[0]) == ("error", 1, "canceled")
    assert any(" of " in text and " tasks, " in text for text in progress)
    program = "spark.conf.get('spark.app.name')"
    assert run(client, f"print({program})") == ("ok", ["sqlext server\n" if IS_SERVED else "sqlext\n"])
    active = "spark.sparkContext.statusTracker().getActiveJobsIds()"
    assert run(client, f"print({active}, spark.sql('SELECT 7').collect())") == ("ok", ["[] [Row(7=7)]\n"])


BESIDE_A_STREAM = f"""
rows = spark.readStream.format("rate").load().writeStream.format("noop")
stream = rows.trigger(processingTime="100 milliseconds").start()
spark.sql("{ENDLESS}").show()
"""
SOON = "import os, signal, threading\nthreading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"


def test_the_stop_button_cancels_the_jobs_of_a_cell_of_python_but_no_stream(kernel, client):
    def stop(text: str) -> None:
        if "tasks, " in text:
            kernel.interrupt_kernel()

    run(client, "%load_ext sqlext")
    run(client, "import sqlext\nspark = globals().get('spark') or sqlext.session()")
    status, shown = run(client, BESIDE_A_STREAM, stop)
    assert (status, len(shown), shown[-1].partition(" after ")[0]) == ("error", 1, "canceled")
    active = "spark.sparkContext.statusTracker().getActiveJobsIds()"
    seven = "spark.sql('SELECT 7 AS n').collect()"
    assert run(client, f"print(stream.isActive, stream.exception(), {seven})")[1][-1] == "True None [Row(n=7)]\n"

    status, shown = run(client, f"{SOON}stream.awaitTermination()")
    assert (status, "KeyboardInterrupt" in shown[-1]) == ("error", True)
    assert run(client, f"print(stream.isActive, {seven})")[1][-1] == "True [Row(n=7)]\n"
    assert run(client, "stream.stop()") == ("ok", [])
    assert run(client, f"print({active})")[1][-1] == "[]\n"
