"""Checks the workers' Python before our code runs on a cluster, and sends sqlext if it is missing there."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlext.errors import SetupError
from sqlext.spark.kind import is_connect, is_on_this_machine, master_of
from sqlext.spark.package_files import digest, shipped_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIBRARIES = ("numpy", "numba", "pyarrow")
STREAM_LIBRARIES = (*LIBRARIES, "pandas", "google.protobuf")
_INSTALLED = "sqlglot"  # sent together with sqlext, and installed together with it
_DISTRIBUTIONS = {"google.protobuf": "protobuf"}
_REMEDY = "docs/deploy.md has the ways: an environment archive, an image, or a library of the cluster."


@dataclass(frozen=True, kw_only=True)
class WorkerPython:
    """The Python of the workers: its path; the digest of its sqlext, which is "" if it has none and "unknown" if its
    sqlext is too old to have a digest; and the libraries that it lacks."""

    executable: str
    digest: str
    missing: tuple[str, ...]


_KNOWN: dict[str, WorkerPython] = {}  # by application, or by session of a Connect server


def prepare(spark: SparkSession, libraries: tuple[str, ...] = LIBRARIES) -> bool:
    """Send sqlext to the executors of a cluster that lack it. Return True if this call has sent it.

    Functions that were created before do not find it. The first call for an application runs a job of one small task.
    Workers of a local master run in the same environment as this process, so nothing is done for them.

    Raises SetupError: WORKER_WITHOUT_LIBRARIES, or WORKER_WITH_OTHER_SQLEXT if the workers have another version of
    sqlext.
    """
    application = _application(spark)
    if application is None:
        return False
    is_new = application not in _KNOWN
    if is_new:
        _KNOWN[application] = _worker_python(spark)
    python = _KNOWN[application]
    check(python, libraries)
    if not is_new or python.digest:
        return False
    spark.addArtifacts(str(shipped_zip()), pyfile=True)
    return True


def sent_archive(spark: SparkSession) -> str | None:
    """The name of the file in which sqlext was sent to the executors of this session; None if it was not sent."""
    python = _KNOWN.get(_application(spark) or "")
    return shipped_zip().name if python is not None and not python.digest else None


def check(python: WorkerPython, libraries: tuple[str, ...]) -> None:
    """Raise SetupError if the workers' Python cannot run the functions that are planned here."""
    libraries = (*libraries, _INSTALLED) if python.digest else libraries
    missing = [_DISTRIBUTIONS.get(name, name) for name in libraries if name in python.missing]
    if missing:
        raise SetupError(
            "WORKER_WITHOUT_LIBRARIES",
            f"the Python of the workers, {python.executable}, lacks {', '.join(missing)}",
            hint=f"install {' '.join(missing)} there. {_REMEDY}",
        )
    if python.digest not in ("", digest()):
        raise SetupError(
            "WORKER_WITH_OTHER_SQLEXT",
            f"the Python of the workers, {python.executable}, has another version of sqlext than the driver",
            hint="install one version of spark-sqlext in both, or none for the workers: then the driver sends its own.",
        )


def check_driver_python(spark: SparkSession) -> None:
    """Raise SetupError DRIVER_WITHOUT_PYTHON if the driver's machine lacks the Python of the workers.

    Spark starts this Python there for streams and for `sqlext_match`, in the folder in which the driver was started.
    """
    name = os.environ.get("PYSPARK_PYTHON", "")
    if is_connect(spark) or not name or shutil.which(name) is not None:
        return
    raise SetupError(
        "DRIVER_WITHOUT_PYTHON",
        f"Spark starts the workers' Python on the driver too, for streams and sqlext_match, and {name} is not there",
        hint="unpack the environment archive, or link the environment, in the folder in which the driver is started.",
    )


def _application(spark: Any) -> str | None:
    """The owner of sent files: a session of a Connect server, or an application; None if workers run on this
    machine."""
    if is_connect(spark):
        return str(spark.session_id)
    return None if is_on_this_machine(master_of(spark)) else str(spark.conf.get("spark.app.id", ""))


def _worker_python(spark: SparkSession) -> WorkerPython:
    from pyspark.sql.functions import udf  # workers that import sqlext do not load pyspark
    from pyspark.sql.types import StringType

    # This is not an Arrow function, because Arrow may be missing. The type is an object, because a name would be parsed
    # by the active session, which may be another one, and closed.
    function = udf(_probe((*STREAM_LIBRARIES, _INSTALLED)), StringType(), useArrow=False)
    rows = spark.range(0, 1, 1, 1).select(function("id")).collect()
    answer = json.loads(rows[0][0])
    return WorkerPython(executable=answer["executable"], digest=answer["digest"], missing=tuple(answer["missing"]))


def _probe(libraries: tuple[str, ...]) -> Callable[[int], str]:
    """A function that describes the Python that runs it. It is pickled by its code, so it does not need sqlext
    there."""

    def description(_: int) -> str:
        import json
        import sys
        from importlib.util import find_spec

        def is_there(name: str) -> bool:
            try:
                return find_spec(name) is not None
            except ModuleNotFoundError:  # raised for a missing parent package
                return False

        code = ""
        if is_there("sqlext"):
            try:
                from sqlext.spark.package_files import digest

                code = digest()
            except ImportError:
                code = "unknown"
        missing = [name for name in libraries if not is_there(name)]
        return json.dumps({"executable": sys.executable, "digest": code, "missing": missing})

    return description
