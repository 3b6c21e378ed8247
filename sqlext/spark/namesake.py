"""The distribution `sqlext` of PyPI: another project, whose package has the name of ours."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

from sqlext.spark.user_warnings import warn

# Where its files have replaced ours, `_sqlext_autoload` reports it.


def warn_of_namesake() -> None:
    """Warn if it is installed beside spark-sqlext, which then works until the other one is updated or removed."""
    try:
        distribution("sqlext")
    except PackageNotFoundError:
        return
    warn(
        [
            "the distribution sqlext, another project, is installed in the folder of spark-sqlext: run "
            "`pip uninstall sqlext`, then `pip install --force-reinstall --no-deps spark-sqlext`."
        ]
    )
