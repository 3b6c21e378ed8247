"""What `sqlext hook install` lets every Python of an environment do at its start, without Spark.

Whole programs in environments of their own are in tests/installed/.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark
import pytest

import _sqlext_autoload as autoload
import sqlext
from sqlext.cli import hook_command
from sqlext.spark.worker_python import use_this_python

from .programs import printed

SPARK_HOME = Path(pyspark.__file__).parent
ZIP = SPARK_HOME / "python" / "lib" / "pyspark.zip"

# As a Python of the environment starts: PYTHONPATH of a worker holds the zip, whose modules share one loader.
STARTED = """
    import site, sys
    from pathlib import Path
    site.addsitedir("site")
    site.addsitedir("site")  # as Python does in a virtual environment
    print([type(finder).__name__ for finder in sys.meta_path].count("_Finder"), "sqlext" in sys.modules)
    from pyspark.sql import SparkSession, conf, session
    from pyspark.sql.connect import session as connect
    print(".zip" in session.__file__, session.__loader__ is session.__spec__.loader is conf.__loader__)
    print("exec_module" in vars(session.__loader__), hasattr(SparkSession.Builder.create, "hooked_by_sqlext"))
    builders = (SparkSession.Builder, connect.SparkSession.Builder)
    print([hasattr(builder.getOrCreate, "hooked_by_sqlext") for builder in builders])
    print("sqlext" in sys.modules)
"""


def started(folder: Path, **environment: str) -> list[str]:
    (folder / "site").mkdir()
    hook_command.install(folder / "site")
    path = os.pathsep.join([str(ZIP), str(Path(autoload.__file__).parent)])
    return printed(STARTED, folder, PYTHONPATH=path, SPARK_HOME=str(SPARK_HOME), **environment)


@pytest.mark.slow
def test_the_modules_of_sessions_are_hooked_and_their_loader_is_left_as_it_is(tmp_path):
    assert started(tmp_path) == ["1 False", "True True", "False True", "[True, True]", "False"]


@pytest.mark.slow
def test_nothing_happens_in_a_worker(tmp_path):
    lines = started(tmp_path, PYTHON_WORKER_FACTORY_SECRET="a secret")
    assert lines == ["0 False", "True True", "False False", "[False, False]", "False"]


def test_a_hook_whose_package_is_gone_is_silent(tmp_path):
    hook_command.install(tmp_path)
    program = "import site, sys; sys.meta_path.clear(); site.addsitedir('.'); print('_sqlext_autoload' in sys.modules)"
    assert printed(program, tmp_path) == ["False"]


def test_the_command_installs_and_removes_one_file(tmp_path):
    assert not hook_command.is_installed(tmp_path)
    hook_command.install(tmp_path)
    assert hook_command.is_installed(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text("import _sqlext_autoload\n")  # that of an earlier version
    assert not hook_command.is_installed(tmp_path)
    hook_command.remove(tmp_path)
    assert list(tmp_path.iterdir()) == []


# The file spark-defaults.conf, PYSPARK_SUBMIT_ARGS, the options of the builder, and the value that Spark will see.
SETTINGS = [
    ("", "", {}, None),
    ("spark.sqlext.enabled  true", "", {}, "true"),
    (" spark.sqlext.enabled=true \n", "", {}, "true"),
    ("# spark.sqlext.enabled true\n\nspark.sqlext.enabled: false", "", {}, "false"),
    ("spark.sqlext.enabled true", "--conf spark.sqlext.enabled=false pyspark-shell", {}, "false"),
    ("", '"--conf" "spark.sqlext.enabled=true" "--name" "PySparkShell" "pyspark-shell"', {}, "true"),
    ("", "--conf=spark.sqlext.enabled=true -c spark.x=y pyspark-shell", {}, "true"),
    ("", "--conf spark.sqlext.enabled=true pyspark-shell", {"spark.sqlext.enabled": False}, "false"),
    ("spark.sqlext.enabled true", "--properties-file other.conf pyspark-shell", {}, None),
    ("spark.sqlext.enabled true", "--properties-file other.conf --load-spark-defaults pyspark-shell", {}, "true"),
]


@pytest.mark.parametrize(("defaults", "arguments", "options", "value"), SETTINGS)
def test_the_settings_are_seen_before_spark_starts(tmp_path, monkeypatch, defaults, arguments, options, value):
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    builder = pyspark.sql.SparkSession.Builder()
    builder.config(map=options)
    assert autoload.settings_before_start(builder).get(autoload.ENABLED) == value


def test_what_cannot_be_read_ends_no_program(tmp_path):
    (tmp_path / "spark-defaults.conf").write_bytes(b"\xff\xfe\x00")
    program = """
        import _sqlext_autoload as autoload
        from pyspark.sql import SparkSession
        autoload.wait_for_sessions()
        print(autoload._prepare(SparkSession.Builder()), autoload._value(None, default="false"))
    """
    path = str(Path(autoload.__file__).parent)
    for arguments in ("pyspark-shell", '--name "'):
        lines = printed(program, tmp_path, PYTHONPATH=path, SPARK_CONF_DIR=str(tmp_path), PYSPARK_SUBMIT_ARGS=arguments)
        assert lines == ["false false"]


def test_a_session_that_asks_and_cannot_be_extended_is_an_error_of_ours():
    with pytest.raises(sqlext.SetupError) as caught:
        autoload._extend(object())
    assert str(caught.value).startswith("SQLEXT_SESSION_NOT_EXTENDED: spark.sqlext.enabled is true, and ")


# The master, PYSPARK_PYTHON before, and whether the workers get this Python.
PYTHONS = [
    ("local[2]", None, True),
    ("local[2]", "python3", True),  # as the script `pyspark` sets it
    ("local[2]", "/opt/python", False),
    ("spark://host:7077", None, True),
    ("spark://host:7077", "python3", False),
]


@pytest.mark.parametrize(("master", "chosen", "is_this"), PYTHONS)
def test_workers_run_this_python_unless_another_was_chosen(monkeypatch, master, chosen, is_this):
    monkeypatch.setenv("PYSPARK_PYTHON", chosen or "")
    if chosen is None:
        monkeypatch.delenv("PYSPARK_PYTHON")
    use_this_python(master)
    assert os.environ["PYSPARK_PYTHON"] == (sys.executable if is_this else chosen)
