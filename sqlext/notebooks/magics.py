"""The magics `%sql`, `%%sql` and `%stop` of IPython and Jupyter, after `%load_ext sqlext`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import display
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog import streams
from sqlext.engine.streams.streaming_tables import trigger
from sqlext.errors import BindError, with_pages
from sqlext.notebooks.cell_progress import Canceled, cell_display, show_no_traceback_of_canceled
from sqlext.notebooks.databricks_names import databricks_names
from sqlext.notebooks.live_progress import show_progress
from sqlext.notebooks.magic_line import MagicLine, options_of, parse_magic_line
from sqlext.notebooks.python_cells import watch_python_cells
from sqlext.notebooks.run_magic import notebook_file, parse_run_line, run_cells
from sqlext.notebooks.shown_table import ShownTable, shown_table
from sqlext.notebooks.sql_cells import CellRunner
from sqlext.notebooks.theme import Note
from sqlext.notebooks.widgets import Widgets
from sqlext.rewriter.heads.triggers import AVAILABLE_NOW
from sqlext.server.served_session import use_server
from sqlext.sessions.failures import reason
from sqlext.sessions.hook import extend
from sqlext.sessions.session import session
from sqlext.sessions.start import running_session
from sqlext.sessions.watched import Display, watched
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.user_warnings import show_warnings_by

LAST_RESULT = "_sqldf"  # the variable of the last result, as in Databricks
_TABLE = "_sqlext_table"  # the attribute of a result of `%sql` that holds the rows to show


@magics_class
class SqlMagics(Magics):
    """Runs SQL in the session `spark` of the notebook, or in the running session, or in a new one."""

    def __init__(self, shell: InteractiveShell, new_display: Callable[[], Display]):
        super().__init__(shell)
        self.new_display = new_display  # for the progress of a statement
        self.variables = shell.user_ns
        self.get_shell = lambda: shell
        self._run_by_ipython = shell.find_line_magic("run")
        self.formatters: Any = shell.display_formatter and shell.display_formatter.formatters
        self.widgets = Widgets()

    @no_var_expand  # IPython would evaluate the {2,3} of a pattern
    @line_cell_magic
    def sql(self, line: str, cell: str | None = None) -> DataFrame | None:
        """Run SQL statements and show their results as tables.

        %%sql [--view NAME] [--limit N] [--cache] [--explain] [--draw] [--why] [VARIABLE]
        SELECT … WHERE x > :python_variable;

        result = %sql SELECT …
        %sql [options] [VARIABLE <<] SELECT …

        --view NAME     create a temporary view of the last result
        --limit N       show N rows (default: 100)
        --cache         keep the rows of the last result in Spark's cache
        --explain       show how the statements would run, and run nothing
        --draw          draw the matches of MATCH_RECOGNIZE over time, below the table, and the near misses
        --why           show where the query loses its rows (EXPLAIN MATCH ANALYZE) and the drawing, not the result
        VARIABLE        the Python variable of the last result, a DataFrame; results are then not shown

        In a cell of a .sql notebook the options follow `-- sqlext:` on its first line.
        :name is the value of a widget or of a Python variable, {name} a DataFrame of Python. The last result is also in
        _sqldf.
        """
        with short_errors():
            options = parse_magic_line(line if line.strip() else options_of(cell), has_body=cell is not None)
            text = options.sql if cell is None else f"{options.sql}\n{cell}"
            runner = CellRunner(self.spark(), self.widgets, self.variables)
            if options.explains:
                with watched(runner.spark, self.new_display()):
                    print("\n".join(runner.explain(text)))
                return None
            if options.says_why:
                with watched(runner.spark, self.new_display()):
                    display(*runner.why(text))
                return None
            is_shown = cell is not None and options.target is None
            results = self._results(runner, text, options, is_shown=is_shown)
            with watched(runner.spark, self.new_display()):
                if options.draws:
                    display(*runner.draw(text))
                return None if cell is not None or options.target is not None else self._last(results, options)

    @no_var_expand
    @line_magic
    def stop(self, line: str) -> None:
        """End streaming queries: `%stop` ends all of them, `%stop NAME` the queries of one streaming table."""
        with short_errors():
            stop_streams(self.spark(), line.strip())

    @no_var_expand
    @line_magic
    def run(self, line: str) -> Any:
        """Run a notebook here: `%run ./other $day="2026-01-31"`. All other files are run by IPython's own `%run`."""
        parsed = parse_run_line(line)
        file = notebook_file(parsed[0], Path.cwd()) if parsed is not None else None
        if parsed is None or file is None:
            return self._run_by_ipython(line)
        return run_cells(file, self.get_shell(), self.widgets, parsed[1])

    def _results(self, runner: CellRunner, text: str, options: MagicLine, *, is_shown: bool) -> list[DataFrame]:
        """The results that have columns, which are stored and shown; the progress of each statement, and of the streams
        that it starts, is shown below the cell.

        A stream that ends by itself is awaited, because the next statement may read its table.
        """
        frames, results = runner.run(text), []
        while True:
            before = streams.started()
            with watched(runner.spark, self.new_display()):
                frame = next(frames, None)  # the statement runs
                if frame is not None and frame.columns:
                    results.append(self._result(frame, options, is_shown=is_shown))
            if frame is None:
                return results
            begun = [query for name, query in streams.started().items() if before.get(name) is not query]
            if begun:
                show_progress(runner.spark, begun, waits=trigger(runner.spark) == AVAILABLE_NOW)

    def _last(self, results: list[DataFrame], options: MagicLine) -> DataFrame | None:
        """The last result of a line, which IPython shows as a table if it is not assigned."""
        for frame in results[:-1]:
            display(shown_table(frame, options.limit))
        if not results:
            return None
        _show_as_table(self.formatters, results[-1], shown_table(results[-1], options.limit))
        return results[-1]

    def spark(self) -> SparkSession:
        """The session of the notebook; a new one becomes the variable `spark`, also after `spark.stop()`."""
        spark, running = self.variables.get("spark"), running_session()
        if running is None or not hasattr(type(spark), "createDataFrame"):
            if running is None:
                use_server()  # becomes the running session
            spark = running or session()
            self.variables["spark"] = spark
        return extend(spark)

    def _result(self, frame: DataFrame, options: MagicLine, *, is_shown: bool) -> DataFrame:
        """Store a result under its names, and show it."""
        frame = frame.cache() if options.is_cached else frame
        if options.view is not None:
            frame.createOrReplaceTempView(options.view)
        self.variables[LAST_RESULT] = frame
        if options.target is not None:
            self.variables[options.target] = frame
        if is_shown:
            display(shown_table(frame, options.limit))
        return frame


@contextmanager
def short_errors() -> Iterator[None]:
    """Errors of Spark that are raised in the `with` block are shown by their message alone, without the stacks of
    Python and Java. An interrupt ends the cell as Canceled.

    Errors of ours are always shown in this way.
    """
    try:
        with quiet_probes():
            yield
    except (PySparkException, Py4JError) as error:
        lines = with_pages(reason(error)).splitlines()
        error._render_traceback_ = lambda: lines  # type: ignore[union-attr]  # IPython asks for it
        raise
    except KeyboardInterrupt:
        raise Canceled from None


def load(shell: InteractiveShell, new_display: Callable[[], Display] = cell_display) -> SqlMagics:
    """Add the magics to a shell, and those names of Databricks notebooks that are not already in use."""
    magics = SqlMagics(shell, new_display)
    shell.register_magics(magics)
    show_no_traceback_of_canceled(shell)
    watch_python_cells(shell, new_display)
    show_warnings_by(lambda sentence: display(Note(sentence)))
    for name, value in databricks_names(magics.widgets).items():
        if name == "display" or name not in shell.user_ns:  # IPython has its own `display`, which ours calls
            shell.user_ns[name] = value
    return magics


def _show_as_table(formatters: Any, frame: DataFrame, table: ShownTable) -> None:
    """Make a DataFrame that `%sql` returns be shown as a table. Other DataFrames are shown as before."""

    def html(any_frame: DataFrame) -> str | None:
        shown: ShownTable | None = vars(any_frame).get(_TABLE)
        return shown._repr_html_() if shown is not None else None

    def text(any_frame: DataFrame, printer: Any, cycle: bool) -> None:  # noqa: FBT001, called by IPython
        printer.text(repr(vars(any_frame).get(_TABLE)) if _TABLE in vars(any_frame) else repr(any_frame))

    setattr(frame, _TABLE, table)
    formatters["text/html"].for_type(type(frame), html)
    formatters["text/plain"].for_type(type(frame), text)


def stop_streams(spark: SparkSession, name: str) -> None:
    """Stop all streaming queries, or the queries of the streaming table `name`. Raises BindError (UNKNOWN_STREAM)."""
    active = spark.streams.active
    if name and not streams.running(spark, name.lower()):
        names = ", ".join(sorted(str(query.name or query.id) for query in active))
        hint = f"the running streams are {names}." if names else "no stream is running."
        raise BindError("UNKNOWN_STREAM", f'no running stream has the name "{name}"', hint=hint)
    for query in streams.running(spark, name.lower()) if name else active:
        query.stop()
