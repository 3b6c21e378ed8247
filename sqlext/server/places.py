"""Which server a process may use, by its working folder, its environment and all versions, and where the server's files
are.

Two processes use one server only if each would have started the very same Spark. This is light by design, because a
command that finds a server loads nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if sys.platform == "linux":
    import fcntl

from sqlext.host_folder import own_folder
from sqlext.spark.package_files import digest

_FOLDER = "sqlext-servers"
_RECORD, _SOCKET, _LOCK, _LOG = ".json", ".sock", ".lock", ".log"
_DEFAULT_WAREHOUSE, _DEFAULT_MASTER = "spark-warehouse", "local[*]"
REFUSED_BY = "SQLEXT_SERVER"  # the variable with which a user refuses servers, "off"
# The variables of which Spark, its JVM, file systems and workers read settings.
_VARIABLES = (
    "TZ", "LANG", "LC_", "HOME", "TMPDIR", "JAVA_", "JDK_", "SPARK_", "PYSPARK_", "PYTHON", "HADOOP_", "SQLEXT_",
    "NUMBA_", "AWS_", "AZURE_", "GOOGLE_",
)  # fmt: skip
# Those which PySpark sets itself in a process that has a session are none of the user's.
_NOT_SETTINGS = (
    REFUSED_BY, "PYTHONUNBUFFERED", "PYTHONIOENCODING", "SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The options with which Spark is started. `warehouse` is absolute or a URI, `conf` has `KEY=VALUE` in order."""

    warehouse: str
    master: str
    conf: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join([f"warehouse {self.warehouse}", f"master {self.master}", *self.conf])


def settings(warehouse: str | None, master: str | None, conf: Mapping[str, str]) -> Settings:
    """The settings that the options of a command mean; None stands for an option that is not written.

    >>> settings("s3://tables", None, {"spark.sql.shuffle.partitions": "4"})
    Settings(warehouse='s3://tables', master='local[*]', conf=('spark.sql.shuffle.partitions=4',))
    """
    folder = warehouse or _DEFAULT_WAREHOUSE
    absolute = folder if "://" in folder else os.path.abspath(os.path.expanduser(folder))
    return Settings(absolute, master or _DEFAULT_MASTER, tuple(f"{key}={value}" for key, value in sorted(conf.items())))


@dataclass(frozen=True)
class Place:
    """The files of one server, all with the name `stem` in a folder that only its user can read."""

    stem: str

    @property
    def record(self) -> Path:
        return Path(self.stem + _RECORD)

    @property
    def socket(self) -> Path:
        return Path(self.stem + _SOCKET)

    @property
    def log(self) -> Path:
        return Path(self.stem + _LOG)

    @property
    def is_current(self) -> bool:
        """Return True if this process could use a server there: its environment and versions are those of the
        server."""
        return os.path.basename(self.stem).startswith(_origin())

    def lock(self) -> int | None:
        """Take the lock that a running server holds; None if one runs. Returns its file descriptor."""
        file = os.open(self.stem + _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            assert sys.platform == "linux"
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return None
        return file

    def is_running(self) -> bool:
        """Return True if a server runs there. What a killed one has left is removed."""
        lock = self.lock()
        if lock is None:
            return True
        self.remove()
        os.close(lock)
        return False

    def remove(self) -> None:
        """Remove the files with which a server is found."""
        self.socket.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)

    def read(self) -> dict[str, Any]:
        """What `write` wrote. Raises OSError and ValueError."""
        record: dict[str, Any] = json.loads(self.record.read_text("utf-8"))
        return record

    def write(self, **entries: Any) -> None:
        """Write the record of the server, which `sqlext server status` shows."""
        draft = f"{self.stem}.draft"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(entries, file)
        os.replace(draft, self.record)


def place_of(wanted: Settings) -> Place:
    """The place of the server that this process would use with these settings."""
    return Place(os.path.join(own_folder(_FOLDER), f"{_origin()}-{_digits(asdict(wanted))}"))


def places_here() -> list[Place]:
    """The places of the servers that this process might use, by any settings."""
    try:
        names = sorted(name for name in os.listdir(own_folder(_FOLDER)) if name.endswith(_SOCKET))
    except OSError:  # this user can write no temporary files
        return []
    if not names:  # nothing is read for the digits of the origin
        return []
    return [place for place in _places(names, _SOCKET) if place.is_current]


def all_places() -> list[Place]:
    """The places of all servers of this user, also of those that were killed."""
    return list(_places(sorted(os.listdir(own_folder(_FOLDER))), _RECORD))


def _places(names: list[str], ending: str) -> Iterator[Place]:
    folder = own_folder(_FOLDER)
    return (Place(os.path.join(folder, name.removesuffix(ending))) for name in names if name.endswith(ending))


def _origin() -> str:
    """Digits for the folder, the environment and the versions of this process: of sqlext, PySpark and Python."""
    environment = {
        name: value for name, value in os.environ.items() if name.startswith(_VARIABLES) and name not in _NOT_SETTINGS
    }
    if environment.get("PYSPARK_PYTHON") == sys.executable:  # as `session()` sets it
        del environment["PYSPARK_PYTHON"]
    spark = find_spec("pyspark")  # without loading it
    folder = os.path.dirname(spark.origin or "") if spark is not None else ""
    version = Path(folder, "version.py")
    texts = version.read_text("utf-8") if version.is_file() else ""
    return _digits([os.getcwd(), environment, digest(), folder, texts, sys.executable, sys.version])


def _digits(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
