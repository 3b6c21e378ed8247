"""`sqlext server start`, `stop` and `status`: Spark that stays started, for the commands that follow."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlext.cli.option_types import minutes
from sqlext.cli.session_options import add_settings
from sqlext.server import places
from sqlext.server.client import connected
from sqlext.server.messages import STATUS, receive, send
from sqlext.server.places import Place, Settings

_PURPOSE = "keep Spark started, so that run, explain, compile, rules and shell do not wait for it"
RUNS_ALREADY = "a server with these settings runs already; sqlext server status lists it"
_IDLE_MINUTES = 30.0
_FAILED, _MISUSED = 1, 2  # exit statuses
_STOP_SECONDS = 60


def add_command(commands: Any) -> None:
    """Add `server` to the parser."""
    command = commands.add_parser("server", help=_PURPOSE, description=_PURPOSE)
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION")
    start = _action(actions, "start", "start a server for this folder, unless one runs", _start)
    _add_options(start)
    start.add_argument(
        "--idle",
        type=minutes,
        default=_IDLE_MINUTES,
        metavar="MINUTES",
        help="end after so many minutes without a command (default: %(default)g)",
    )
    start.add_argument("--foreground", action="store_true", help="do not start a process of its own for the server")
    stop = _action(actions, "stop", "end the server with these settings, and what runs on it", _stop)
    _add_options(stop)
    stop.add_argument("--all", action="store_true", help="end all servers of this user")
    _action(actions, "status", "list the servers of this user", _status)


def _action(actions: Any, name: str, purpose: str, tool: Any) -> argparse.ArgumentParser:
    action: argparse.ArgumentParser = actions.add_parser(name, help=purpose, description=purpose)
    action.set_defaults(tool=tool)
    return action


def _add_options(action: argparse.ArgumentParser) -> None:
    action.add_argument("--warehouse", metavar="DIR", help="folder of the tables (default: spark-warehouse)")
    action.add_argument("--master", help="Spark's master (default: local[*])")
    add_settings(action)


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings that a command wants of a server."""
    return places.settings(options.warehouse, options.master, dict(options.conf))


def _start(options: argparse.Namespace) -> int:
    if sys.platform != "linux":
        print("sqlext: a server needs Linux", file=sys.stderr)
        return _MISUSED
    wanted = settings_of(options)
    arguments = json.dumps({**asdict(wanted), "idle": 60 * options.idle})
    command = [sys.executable, "-m", "sqlext.cli.serve", arguments]
    if options.foreground:
        os.execv(sys.executable, command)
    place = places.place_of(wanted)
    if place.is_running():
        print(RUNS_ALREADY)
        return 0
    return _start_in_background(command, place)


def _start_in_background(command: list[str], place: Place) -> int:
    """Start the process of a server, and wait for its sentence."""
    log = os.open(f"{place.log}.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.replace(f"{place.log}.{os.getpid()}", place.log)
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
    )
    os.close(log)
    assert server.stdout is not None
    sentence = server.stdout.read()
    print(sentence, end="", flush=True)
    if sentence:
        os._exit(0)  # Python would wait for the server, or warn that it still runs
    print(place.log.read_text("utf-8", "replace").strip(), file=sys.stderr)
    return _FAILED


def _status(options: argparse.Namespace) -> int:
    running = [place for place in places.all_places() if place.is_running()]
    for place in running:
        print(_line(place))
    if not running:
        print("no server runs")
    return 0


def _line(place: Place) -> str:
    """What a server is: its folder, settings, process, clients, and whether this process would use it."""
    record, count = place.read(), 0
    connection = connected(place)
    if connection is not None:
        with connection:
            send(connection, want=STATUS)
            count = receive(connection)[0].get("clients", 0)
    use = "" if place.is_current else "; not for this folder, environment and version"
    since = datetime.fromtimestamp(record["since"]).isoformat(" ", "seconds")
    wanted = Settings(record["warehouse"], record["master"], tuple(record["conf"]))
    return (
        f"{record['folder']}: {wanted}; process {record['process']} since {since}, {count} running, ends after "
        f"{record['idle'] / 60:g} idle minutes{use}"
    )


def _stop(options: argparse.Namespace) -> int:
    wanted = places.all_places() if options.all else [places.place_of(settings_of(options))]
    running = [place for place in wanted if place.is_running() and place.record.exists()]
    if not running:
        print("no server runs" if options.all else "no server with these settings runs; sqlext server status lists all")
        return 0 if options.all else _FAILED
    for place in running:
        process = int(place.read()["process"])
        os.kill(process, signal.SIGTERM)
        end = time.monotonic() + _STOP_SECONDS
        while place.is_running() and time.monotonic() < end:
            time.sleep(0.05)
        print(f"the server of process {process} has ended")
    return 0
