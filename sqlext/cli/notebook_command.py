"""`sqlext notebook run FILE` and `sqlext notebook convert FILE -o FILE`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlext.cli.option_types import named_text
from sqlext.cli.session_options import add_settings
from sqlext.errors import SqlExtError, with_pages

FAILED, INTERRUPTED = 1, 130  # exit statuses
_RUN = "execute the cells of a notebook in a Jupyter kernel"
_CONVERT = "write a notebook in another form: .sql, .py (source form of Databricks) or .ipynb"


def add_command(commands: Any) -> None:
    """Add `notebook` with its two commands to the parser."""
    notebook = commands.add_parser("notebook", help="run or convert notebooks", description="run or convert notebooks")
    actions = notebook.add_subparsers(dest="notebook_command", required=True, metavar="COMMAND")
    convert = actions.add_parser("convert", help=_CONVERT, description=_CONVERT)
    convert.set_defaults(tool=_convert)
    convert.add_argument("file", metavar="FILE", type=Path)
    convert.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="its ending names the form")
    run = actions.add_parser("run", help=_RUN, description=_RUN)
    run.set_defaults(tool=_run)
    run.add_argument("file", metavar="FILE", type=Path)
    run.add_argument(
        "--param",
        action="append",
        default=[],
        type=named_text,
        metavar="NAME=VALUE",
        help="a value for the widget or the marker :NAME",
    )
    run.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the executed notebook: .html or .ipynb")
    run.add_argument("--warehouse", metavar="DIR", type=Path, help="folder of the tables (default: spark-warehouse)")
    run.add_argument("--master", default="local[*]", help="Spark's master (default: %(default)s)")
    add_settings(run)


def _run(options: argparse.Namespace) -> int:
    with _reported() as status:
        from sqlext.notebooks.run_notebook import NotebookRun, check_output, run_notebook, write_executed

        if options.output is not None:
            check_output(options.output)
        run = NotebookRun(
            file=options.file,
            values=dict(options.param),
            master=options.master,
            warehouse=options.warehouse or Path("spark-warehouse"),
            conf=dict(options.conf),
        )
        node, failure = run_notebook(run, print if options.output is None else lambda text: None)
        if options.output is not None:
            write_executed(node, options.output)
        if failure is not None:
            print(failure, file=sys.stderr)
            status.code = FAILED
    return status.code


def _convert(options: argparse.Namespace) -> int:
    with _reported() as status:
        from sqlext.notebooks.convert_notebook import read_notebook, write_notebook  # nbformat may not be installed

        write_notebook(read_notebook(options.file), options.output)
    return status.code


@dataclass
class _Status:
    code: int = 0


@contextmanager
def _reported() -> Iterator[_Status]:
    """Report our errors and errors of files and of optional packages on stderr, and set the exit status."""
    status = _Status()
    try:
        yield status
    except ModuleNotFoundError as error:
        from sqlext.notebooks.convert_notebook import missing_package

        _report(missing_package(error), status)
    except (SqlExtError, OSError) as error:
        _report(error, status)
    except KeyboardInterrupt:
        logging.disable()  # asyncio reports that the cell of the kernel, which has ended, has failed
        status.code = INTERRUPTED


def _report(error: Exception, status: _Status) -> None:
    print(with_pages(str(error)), file=sys.stderr)
    status.code = FAILED
