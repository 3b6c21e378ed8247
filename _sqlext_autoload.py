"""Extends the sessions that another program starts, where Spark's configuration has `spark.sqlext.enabled = true`.

`sqlext hook install` writes a .pth file through which every Python of an environment imports this module at its start.
So it is not in the package, loads nothing heavy, and must not harm any program: it does nothing in Spark's
workers, patches no object that several modules share, and loads sqlext only for a program that asks for it. The command
`sqlext` begins here too, where no file of another project can take the place of ours.
"""

import os
import sys
from contextvars import ContextVar

ENABLED = "spark.sqlext.enabled"
_MODULES = ("pyspark.sql.session", "pyspark.sql.connect.session")  # of classic sessions, and those of Connect
_METHODS = ("getOrCreate", "create")
_HOOKED = "hooked_by_sqlext"
_WORKER = "PYTHON_WORKER_FACTORY_"  # Spark gives variables of such names to every Python worker that it starts
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # spark-submit gives it to the program that it starts
_SEARCHING: ContextVar[bool] = ContextVar("inside the finder", default=False)
_INSIDE: ContextVar[bool] = ContextVar("inside a hooked method", default=False)


def wait_for_sessions():
    """Hook the builders of sessions as soon as their modules are imported, except in a worker of Spark."""
    is_waiting = any(isinstance(finder, _Finder) for finder in sys.meta_path)  # Python reads .pth files of a venv twice
    if is_waiting or any(name.startswith(_WORKER) for name in os.environ):
        return
    for name in _MODULES:
        if name in sys.modules:
            hook(sys.modules[name])
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds two modules as the other finders do, with a loader that hooks their builder."""

    def find_spec(self, name, path=None, target=None):
        if name not in _MODULES or _SEARCHING.get():  # another finder may ask all finders too, as this one does
            return None
        token = _SEARCHING.set(True)
        try:
            finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path if finder is not self)
            specs = (find(name, path, target) for find in finders if find is not None)
            spec = next((spec for spec in specs if spec is not None), None)
        finally:
            _SEARCHING.reset(token)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)  # the spec is this module's; its loader may be that of a whole zip file
        return spec


class _Loader:
    """Loads a module by the loader that was found for it, and then hooks its builder."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):  # such as get_code, by which `python -m` runs a module
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader  # some libraries look at the type of a loader
        self._loader.exec_module(module)
        hook(module)


def hook(module):
    """Let the builder of a module's sessions, and their newSession(), extend those that are configured so."""
    session = getattr(module, "SparkSession", None)
    builder = getattr(session, "Builder", None)
    methods = [*((builder, name, _hooked) for name in _METHODS), (session, "newSession", _hooked_new_session)]
    for of, name, hooked in methods:  # sessions of Connect have no newSession
        own = getattr(of, name, None)
        if own is not None and not hasattr(own, _HOOKED):
            setattr(of, name, hooked(own))


def _hooked(own):
    from functools import wraps

    @wraps(own)
    def start(self):
        if _INSIDE.get():  # the builder of classic sessions calls that of Connect
            return own(self)
        token = _INSIDE.set(True)
        try:
            asked = _prepare(self)
            spark = own(self)
        finally:
            _INSIDE.reset(token)
        if _is_true(_value(spark, default=asked)):
            _extend(spark)
        return spark

    setattr(start, _HOOKED, True)
    return start


def _hooked_new_session(own):
    from functools import wraps

    @wraps(own)
    def new_session(self):
        spark = own(self)
        if _is_true(_value(self, default="false")):
            _extend(spark)
        return spark

    setattr(new_session, _HOOKED, True)
    return new_session


def _prepare(builder):
    """Choose the Python of the workers, which must be done before Spark starts, if the program asks for sqlext.

    Returns the value of `spark.sqlext.enabled` as far as it is known before, else "false".
    """
    try:
        if _is_running():
            return "false"
        settings = settings_before_start(builder)
        asked = settings.get(ENABLED, "false")
        master = settings.get("spark.remote") or settings.get("spark.master", "local")
        is_local = master.startswith("local")  # on a cluster the driver's path need not exist
        if _is_true(asked) and is_local and "spark.pyspark.python" not in settings:
            from sqlext.spark.worker_python import use_this_python

            use_this_python(master)
        return asked
    except Exception:  # a program that does not ask must not notice; one that asks gets an error of `_extend`
        return "false"


def _is_running():
    """Return True if Spark runs in this process: its sessions have all settings, and its workers their Python."""
    import pyspark

    context = getattr(pyspark, "SparkContext", None)  # pyspark-client has none
    return context is not None and context._active_spark_context is not None


def _value(spark, default):
    """The value of `spark.sqlext.enabled` in a session."""
    try:
        return spark.conf.get(ENABLED, None) or default
    except Exception:  # such as a Connect server that does not answer, which the program's own first call reports
        return default


def _is_true(value):
    return str(value).strip().lower() == "true"


def main():
    """The command `sqlext`; returns its exit status."""
    return _ours("sqlext.cli.main").main()


def _ours(name):
    """A module of our package. Raises ImportError if files of another project have replaced ours."""
    from importlib import import_module
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        if "extend" not in dir(import_module("sqlext")):
            raise ImportError("the package sqlext is not that of spark-sqlext")
        return import_module(name)
    except ImportError as error:
        try:
            distribution("sqlext")
        except PackageNotFoundError:
            raise error from None
        raise ImportError(
            "the distribution sqlext, another project, has replaced files of spark-sqlext: run "
            "`pip uninstall sqlext`, then `pip install --force-reinstall --no-deps spark-sqlext`"
        ) from None


def _extend(spark):
    """Extend a session. Raises SetupError if that fails, or an error of Spark."""
    sqlext = _ours("sqlext")
    try:
        sqlext.extend(spark)
    except sqlext.SqlExtError:
        raise
    except Exception as error:
        if type(error).__module__.startswith(("pyspark.", "grpc.")):
            raise
        raise sqlext.SetupError(
            "SESSION_NOT_EXTENDED",
            f"{ENABLED} is true, and the session could not be extended: {type(error).__name__}: {error}",
            hint=f"run `pip check` for what is missing, or set {ENABLED}=false.",
        ) from error


def settings_before_start(builder):
    """Spark's settings as far as they are known before it starts; the program's own win, as in Spark."""
    options = {name: str(value) for name, value in getattr(builder, "_options", {}).items()}
    places = {"spark.remote": os.environ.get("SPARK_REMOTE"), "spark.master": os.environ.get("MASTER")}
    known = {name: value for name, value in places.items() if value}
    if _SUBMITTED in os.environ and not {**known, **options}.get("spark.remote"):
        return {**known, **_settings_of_jvm(), **options}
    return {**known, **_settings_of_files_and_arguments(), **options}


def _settings_of_jvm():
    """The settings with which spark-submit has started the JVM."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _settings_of_files_and_arguments():
    """What the JVM will read when it starts: `spark-defaults.conf`, and PYSPARK_SUBMIT_ARGS, which comes first."""
    import shlex
    from itertools import pairwise

    words = []
    for word in shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")):
        words += word.split("=", 1) if word.startswith("--") and "=" in word else [word]
    arguments = list(pairwise(words))
    files = [file for option, file in arguments if option == "--properties-file"]
    if not files or "--load-spark-defaults" in words:
        files.insert(0, _defaults_file())
    settings = {}
    for file in files:
        settings.update(_properties(file))
    for option, value in arguments:
        if option in ("--conf", "-c"):
            name, _, value = value.partition("=")
            settings[name.strip()] = value.strip()
        elif option in ("--master", "--remote"):
            settings[f"spark.{option[2:]}"] = value
    return settings


def _defaults_file():
    import pyspark

    home = os.environ.get("SPARK_HOME") or pyspark.__path__[0]
    return os.path.join(os.environ.get("SPARK_CONF_DIR") or os.path.join(home, "conf"), "spark-defaults.conf")


def _properties(file):
    """The settings of a file in the form of Java's properties; none if there is no such file."""
    import re

    if not os.path.exists(file):
        return {}
    with open(file, encoding="utf-8") as lines:
        pairs = [re.fullmatch(r"\s*([^\s#!=:][^\s=:]*)\s*[\s=:]\s*(.*?)\s*", line, re.DOTALL) for line in lines]
    return {pair[1]: pair[2] for pair in pairs if pair is not None}
