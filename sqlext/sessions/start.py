"""Starts Spark for `session()`, or adopts the running session, and explains why Spark did not start."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pyspark
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.util import is_remote_only

from sqlext.errors import SetupError
from sqlext.formats.format import Format
from sqlext.sessions.hook import unhooked
from sqlext.sessions.known_jars import JARS, PACKAGES, known_jars, remember_jars, request_of
from sqlext.spark.java_errors import Py4JError
from sqlext.spark.kind import is_connect, is_on_this_machine
from sqlext.spark.locations import local_path
from sqlext.spark.quiet_probes import kept_stderr, quiet_probes
from sqlext.spark.start_versions import checkpointing_package
from sqlext.spark.user_warnings import warn
from sqlext.spark.worker_python import settings_of_daemon, use_this_python

_LOG_LEVEL = "spark.log.level"  # who sets it also sees the log of failed tasks

BASIC_SETTINGS = {
    # transformWithState refuses the default provider.
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    # A micro-batch writes changes instead of a snapshot, which takes 0.8 s of processor time instead of 1.0 s for
    # 10,000 rows.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # With a limit Spark sums the bytes of all columns for each row: 10 M rows of two columns reached the Python workers
    # in 2.9 s, without a limit in 0.9 s. Batches end after 10,000 rows anyway.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    # HotSpot only interprets a method of more bytes, which Spark generates for many expressions: 30 variables with two
    # conditions each took 5.0 s over 500,000 rows, with this limit 2.0 s (decision 50).
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    _LOG_LEVEL: "ERROR",
}  # fmt: skip

# On a local file system, Spark's other checkpoint manager starts some seventy processes in each micro-batch to read
# links and set permissions (0.8 s of processor time instead of 0.6 s). Both managers rename files into place.
_LOCAL_SETTINGS = {
    "spark.sql.streaming.checkpointFileManagerClass":
        f"{checkpointing_package(pyspark.__version__)}.FileSystemBasedCheckpointFileManager",
}  # fmt: skip

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"  # the arguments of the spark-submit that starts the JVM
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # a program that spark-submit started has this variable, and has a master

_NO_DOWNLOAD = re.compile(r"unresolved dependency|download failed|UNRESOLVED DEPENDENCIES|FAILED DOWNLOADS")
_CAUSE = re.compile(r"^(?:Caused by: |Exception in thread \S+ )?((?:[\w.$]+\.)?\w*(?:Exception|Error)\b.*)$", re.M)
_OLDEST_JAVA = 17


def register_tables(spark: SparkSession) -> None:
    """Enter the tables of the warehouse into the catalog. A table that Spark cannot read only causes a warning."""
    from sqlext.catalog import warehouse  # loaded while the JVM starts

    folder = _warehouse_folder(spark)
    if folder is None:
        return
    spark.conf.set(warehouse.WAREHOUSE, str(folder))
    sql = unhooked(spark)
    for table in warehouse.warehouse_tables(folder):
        try:
            with quiet_probes():
                for statement in table.statements():
                    sql(statement)
        except PySparkException as error:
            reason = str(error).splitlines()[0]
            warn([f"{table.folder} is not in the catalog: {reason}"])


def running_session() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def adopt(running: SparkSession, user_conf: dict[str, str], tables: Format) -> SparkSession:
    """The running session, with the settings `user_conf`. `tables`: the format of its tables.

    Raises SetupError if it lacks the format or has another warehouse.
    """
    remedy = "call stop() on the running session first, or keep it and call sqlext.extend(spark)."
    if any(value not in str(running.conf.get(key, "")) for key, value in tables.needed.items()):
        raise SetupError("SESSION_WITHOUT_FORMAT", f"a Spark session without {tables.title} is running", hint=remedy)
    theirs, ours = running.conf.get("spark.sql.warehouse.dir", ""), user_conf.get("spark.sql.warehouse.dir")
    if ours is not None and local_path(ours) != local_path(str(theirs)):
        raise SetupError(
            "SESSION_WITH_OTHER_WAREHOUSE", f"a Spark session with the warehouse {theirs} is running", hint=remedy
        )
    return SparkSession.builder.config(map=dict(user_conf)).getOrCreate()


def start(app_name: str, master: str | None, user_conf: dict[str, str], tables: Format) -> SparkSession:
    """A new session. `tables`: the format of its tables. Raises SetupError if Spark does not start.

    It is a session of a Connect server if `spark.remote` of `user_conf`, or SPARK_REMOTE, is the address of one.
    """
    if address := user_conf.get("spark.remote") or os.environ.get("SPARK_REMOTE"):
        return _connect(address, user_conf)
    if is_remote_only():
        raise SetupError(
            "SPARK_DID_NOT_START",
            "pyspark-client has no Spark of its own",
            hint='give session() the address of a server, **{"spark.remote": "sc://host:15002"}, or set SPARK_REMOTE; '
            "or install pyspark.",
        )
    if master is None and _SUBMITTED not in os.environ:
        master = "local[*]"
    use_this_python(master or "")
    ours = BASIC_SETTINGS | tables.settings(_warehouse(user_conf))
    settings = {"spark.master": master or "", "spark.app.name": app_name, **ours, **user_conf}
    settings = _settings_of_master(settings["spark.master"]) | settings
    if is_on_this_machine(settings["spark.master"]):
        settings = settings_of_daemon() | settings
    settings[PACKAGES] = packages = _packages(user_conf, tables)
    request = request_of(settings, _submitted()) if _starts_jvm() else ""
    known = known_jars(request) if request else None
    if known is not None:
        settings = known.in_settings(settings, _spark_home() / "jars" if _prefers_own_jars(settings) else None)
    try:
        with kept_stderr(shows_failed_tasks=_LOG_LEVEL in user_conf) as log, _jars_for_spark_submit(settings):
            _load_ahead()
            spark = SparkSession.builder.config(map={k: v for k, v in settings.items() if v}).getOrCreate()
            if request and known is None:
                remember_jars(request, str(spark.conf.get(JARS, "")))
            if not settings["spark.master"]:
                _set_for_master(spark)
            tables.begin(spark.sql)
            return spark
    except (PySparkException, Py4JError) as error:
        raise diagnose(log(), error, packages) from None


def _load_ahead() -> None:
    """Let a thread load what the session and its first clause need, while this thread waits for the JVM."""

    def load() -> None:
        with suppress(Exception):  # the import that needs the module raises the error
            from sqlext.engine.statements import run_statement  # noqa: F401
            from sqlext.sessions import catalog_methods, dispatch, worker_errors  # noqa: F401

    Thread(target=load, name="sqlext-load").start()


def _submitted() -> str:
    """What spark-submit reads besides the settings: its arguments, and its file of defaults."""
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or _spark_home() / "conf", "spark-defaults.conf")
    with suppress(OSError):
        return f"{os.environ.get(_ARGUMENTS, '')}\n{defaults.read_text('utf-8', errors='replace')}"
    return os.environ.get(_ARGUMENTS, "")


def _prefers_own_jars(settings: dict[str, str]) -> bool:
    """True if all code of Spark runs on this machine and takes the classes of its own jars first, as it does unless a
    setting says otherwise."""
    user_first = any(key.endswith(".userClassPathFirst") for key in settings)
    return is_on_this_machine(settings["spark.master"]) and not user_first


def _spark_home() -> Path:
    return Path(os.environ.get("SPARK_HOME") or pyspark.__path__[0])


def _starts_jvm() -> bool:
    return _SUBMITTED not in os.environ and pyspark.SparkContext._gateway is None


@contextmanager
def _jars_for_spark_submit(settings: dict[str, str]) -> Iterator[None]:
    """Move `spark.jars` from the settings to the arguments of the spark-submit that starts this process's JVM.

    As a setting of the session, `spark.jars` would replace the list to which spark-submit adds the jars of
    `spark.jars.packages`, and the executors would lack Delta.
    """
    if not (_starts_jvm() and settings.get("spark.jars.packages") and settings.get("spark.jars")):
        yield
        return
    before = os.environ.get(_ARGUMENTS)
    os.environ[_ARGUMENTS] = f"--jars {shlex.quote(settings.pop('spark.jars'))} {before or 'pyspark-shell'}"
    try:
        yield
    finally:
        os.environ.pop(_ARGUMENTS)
        if before is not None:
            os.environ[_ARGUMENTS] = before


def _connect(address: str, user_conf: dict[str, str]) -> SparkSession:
    """A session of a Connect server, with the settings of `user_conf` that can be set on a running session."""
    builder = SparkSession.builder.remote(address)
    return builder.config(map={k: v for k, v in user_conf.items() if k != "spark.remote"}).getOrCreate()


def _set_for_master(spark: SparkSession) -> None:
    """Set the settings for the master that spark-submit has chosen, except the ones that the user has set."""
    for key, value in _settings_of_master(str(spark.conf.get("spark.master"))).items():
        if spark.conf.get(key, None) is None:
            spark.conf.set(key, value)


def _settings_of_master(master: str) -> dict[str, str]:
    """The settings for a local master, so that a small stream does not use Spark's own default of 200 partitions.

    >>> _settings_of_master("local[3]")["spark.sql.shuffle.partitions"], _settings_of_master("spark://host:7077")
    ('6', {})
    """
    if not master.startswith("local"):
        return {}
    cores = master.removeprefix("local").strip("[]").split(",")[0] or "1"
    partitions = 2 * (int(cores) if cores.isdecimal() else os.cpu_count() or 1)
    return {"spark.sql.shuffle.partitions": str(partitions), **_LOCAL_SETTINGS}


def _packages(user_conf: dict[str, str], tables: Format) -> str:
    """The value of `spark.jars.packages` with the format's, unless Spark has its jar, or the user names it or sets an
    empty list."""
    packages = user_conf.get(PACKAGES)
    if packages == "" or not tables.jar:
        return packages or ""
    has_jar = any((_spark_home() / "jars").glob(f"*{tables.jar}*.jar"))
    if has_jar or tables.jar in f"{packages},{user_conf.get(JARS, '')}":
        return packages or ""
    return ",".join(filter(None, [tables.package(pyspark.__version__), packages]))


def _warehouse(user_conf: dict[str, str]) -> str:
    """The folder of the tables, as Spark takes it."""
    return user_conf.get("spark.sql.warehouse.dir") or str(Path("spark-warehouse").absolute())


def _warehouse_folder(spark: SparkSession) -> Path | None:
    """The folder of the tables; None if a metastore stores the catalog, or if the folder is not on this machine."""
    if is_connect(spark) or spark.conf.get("spark.sql.catalogImplementation") != "in-memory":
        return None
    return local_path(str(spark.conf.get("spark.sql.warehouse.dir")))


# why Spark did not start


def diagnose(log: str, error: Exception, packages: str) -> SetupError:
    """The SetupError for a start that failed with `error` and wrote `log` to stderr.

    >>> str(diagnose("download failed: io.delta", RuntimeError("exited"), "io.delta:x:1")).splitlines()[0]
    'SQLEXT_JAR_NOT_FOUND: Spark could not download io.delta:x:1'
    """
    if _NO_DOWNLOAD.search(log):
        return SetupError(
            "JAR_NOT_FOUND",
            f"Spark could not download {packages}",
            hint="without access to Maven Central give session() one of: a local jar, "
            '**{"spark.jars": "/path/delta-spark_4.2_2.13-4.4.0.jar,…"} (and those it needs: delta-storage, …); '
            'a mirror, **{"spark.jars.repositories": "https://…"}; '
            'or an Ivy settings file, **{"spark.jars.ivySettings": "/path/ivysettings.xml"}.',
        )
    if (problem := java_problem()) is not None:
        return problem
    causes = _CAUSE.findall(log) or [line for line in log.splitlines() if line.strip()][-1:] or [str(error)]
    return SetupError("SPARK_DID_NOT_START", f"Spark did not start: {causes[-1].strip()[:500]}")


def java_problem() -> SetupError | None:
    """The error of a machine without a Java that Spark can use; None if there is one."""
    java = java_version()
    if java is not None and java >= _OLDEST_JAVA:
        return None
    state = "none was found" if java is None else f"this is Java {java}"
    return SetupError(
        "JAVA_NOT_FOUND",
        f"Spark needs Java {_OLDEST_JAVA} or newer and {state}",
        hint="install a JDK or JRE (Debian, Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME.",
    )


def java_version() -> int | None:
    """The major version of the Java that Spark would use; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if java is None:
        return None
    banner = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return parse_java_version(banner)


def parse_java_version(banner: str) -> int | None:
    """The major version in the output of `java -version`.

    >>> parse_java_version('openjdk version "17.0.15" 2025-04-15'), parse_java_version('java version "1.8.0_402"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(match[1]) if match else None
