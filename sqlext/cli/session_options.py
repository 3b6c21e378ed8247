"""The options of commands that start Spark, and how their actions are run. PySpark is loaded when one is run."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from sqlext.cli.option_types import parameter, setting
from sqlext.server.client import NO_SERVER


def statements_command(commands: Any, name: str, purpose: str, action: str | None = None) -> argparse.ArgumentParser:
    """Add a command that reads statements. `action`: as in `session_command`."""
    command = session_command(commands, name, purpose, action)
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "file", metavar="FILE", nargs="?", help="statements, separated by semicolons; - reads standard input"
    )
    source.add_argument(
        "-e",
        dest="sql",
        action="append",
        default=None,
        metavar="SQL",
        help="the statements themselves; may be repeated, and all are run in this order",
    )
    command.add_argument(
        "--param",
        action="append",
        default=[],
        type=parameter,
        metavar="NAME=VALUE",
        help="a value for :NAME; integers, decimals, true, false, dates, timestamps; 'quotes' force text",
    )
    command.add_argument("-q", "--quiet", action="store_true", help="show no progress on stderr")
    return command


def session_command(commands: Any, name: str, purpose: str, action: str | None = None) -> argparse.ArgumentParser:
    """Add a command that needs a session, and reads no statements unless arguments for them are added.

    `action`: its name in ACTIONS of `on_session`, by default the name of the command.
    """
    command: argparse.ArgumentParser = commands.add_parser(name, help=purpose, description=purpose)
    command.set_defaults(tool=partial(run_action, action or name), sql=[])
    command.add_argument("--warehouse", metavar="DIR", help="folder of the tables (default: spark-warehouse)")
    command.add_argument("--master", help="Spark's master (default: that of spark-submit, else local[*])")
    add_settings(command)
    add_no_server(command)
    return command


def add_no_server(command: argparse.ArgumentParser) -> None:
    """Add the option that refuses a server. It has no effect where the arguments are parsed: `hand_over` has read
    it."""
    command.add_argument(NO_SERVER, action="store_true", help="start Spark even if a server with these settings runs")


def add_settings(command: argparse.ArgumentParser) -> None:
    """Add the option for settings of the session."""
    command.add_argument(
        "--conf",
        action="append",
        default=[],
        type=setting,
        metavar="KEY=VALUE",
        help="a setting of Spark or of sqlext, such as spark.sql.shuffle.partitions=4; may be repeated",
    )


def run_action(action: str, options: argparse.Namespace) -> int:
    """Run an action on a session, and return the exit status."""
    from sqlext.cli import on_session  # PySpark takes half a second to load

    return on_session.run_action(action, options)
