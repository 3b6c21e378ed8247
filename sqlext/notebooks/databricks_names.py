"""The names that Databricks notebooks use without imports: `dbutils`, `display`, `displayHTML`, `getArgument`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from IPython.display import HTML
from IPython.display import display as display_by_ipython
from pyspark.sql import DataFrame

from sqlext.errors import UnsupportedError
from sqlext.notebooks.shown_table import shown_table
from sqlext.notebooks.widgets import Widgets


class NotebookExit(Exception):
    """Raised by `dbutils.notebook.exit(value)`: the notebook ends here, successfully."""

    def _render_traceback_(self) -> list[str]:
        return [f"Notebook exited: {self}"]


class NotebookUtilities:
    """The methods of `dbutils.notebook`."""

    def exit(self, value: object = "") -> NoReturn:
        """End the notebook with a value."""
        raise NotebookExit(value)

    def run(self, path: str, *arguments: Any, **options: Any) -> NoReturn:
        """Raise UnsupportedError: running a notebook in a kernel of its own is not built."""
        raise UnsupportedError(
            "NOTEBOOK_UTILITY",
            "dbutils.notebook.run is not built",
            hint=f"write %run {path}, which runs the notebook here.",
        )


@dataclass(frozen=True)
class Dbutils:
    """`dbutils`, as far as it has a meaning outside of Databricks."""

    widgets: Widgets
    notebook: NotebookUtilities

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        hint = "dbutils.widgets and dbutils.notebook.exit are; for files use Python's pathlib."
        raise UnsupportedError("NOTEBOOK_UTILITY", f"dbutils.{name} is not built", hint=hint)


def display(*objects: Any, **options: Any) -> Any:
    """Show DataFrames as tables of their first rows, and other objects as IPython shows them."""
    shown = [shown_table(each) if isinstance(each, DataFrame) else each for each in objects]
    return display_by_ipython(*shown, **options)


def display_html(html: str) -> None:
    """Show a text as HTML."""
    display_by_ipython(HTML(html))


def databricks_names(widgets: Widgets) -> dict[str, Any | Callable[..., Any]]:
    """The names and their values, which become Python variables of a notebook."""
    return {
        "dbutils": Dbutils(widgets, NotebookUtilities()),
        "display": display,
        "displayHTML": display_html,
        "getArgument": widgets.getArgument,
    }
