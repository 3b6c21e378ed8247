"""The package as it is sent to executors, and the errors about the Python of workers; without Spark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sqlext
from sqlext.sessions import warm
from sqlext.spark.executors import LIBRARIES, STREAM_LIBRARIES, WorkerPython, check
from sqlext.spark.package_files import digest, shipped_zip, write_zip
from tests.architecture.source import MODULES, imports

# Workers have the libraries of this Python, but look for packages in the zip first, as Spark has them do.
IMPORTED = """
import json, sys
sys.path.insert(1, {archive!r})
import sqlext, sqlglot
from sqlext.spark.package_files import digest
from sqlext.expressions import numbers
print(json.dumps([sqlext.__file__, sqlext.__path__[0], numbers.__file__, sqlglot.__file__, digest()]))
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    target = tmp_path_factory.mktemp("sent") / "sqlext.zip"
    write_zip(target)
    return target


def imported(archive: Path, temporary: Path) -> list[str]:
    """Where a worker's modules come from; `temporary`: the host's folder for temporary files."""
    process = subprocess.run(
        [sys.executable, "-c", IMPORTED.format(archive=str(archive))],
        cwd=temporary,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.mark.slow
def test_a_worker_imports_the_zip_from_a_folder_that_all_workers_of_the_host_share(archive, tmp_path):
    first, second = imported(archive, tmp_path), imported(archive, tmp_path)
    assert first == second
    assert [Path(path).is_relative_to(tmp_path) for path in first[1:4]] == [True, True, True]
    assert first[4] == digest()
    folder = tmp_path / f"sqlext-packages-{os.getuid()}"
    assert len(list(folder.iterdir())) == 1
    folder.chmod(0o777)  # somebody else could write code there
    assert not Path(imported(archive, tmp_path)[1]).is_relative_to(folder)


@pytest.mark.slow
def test_the_same_code_is_the_same_in_each_zip(archive, tmp_path):
    def sources(path: Path) -> list[tuple[str, int, tuple[int, ...]]]:  # other tests may compile kernels meanwhile
        entries = zipfile.ZipFile(path).infolist()
        return [(entry.filename, entry.CRC, entry.date_time) for entry in entries if entry.filename.endswith(".py")]

    write_zip(tmp_path / "again.zip")
    assert sources(tmp_path / "again.zip") == sources(archive)


# What an installation from the checkout finds of sqlext would hide what the zip lacks.
WORKER_MODULES = """
import importlib, json, pkgutil, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
sys.path.insert(1, {archive!r})
import sqlext
from sqlext import operators
from sqlext.engine import shipped
for package in operators, shipped:
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
import sqlext.rewriter.rules.plan_rule, sqlext.pattern.threads.thread_search
print(json.dumps([sqlext.__path__[0], [name for name in sys.modules if name.startswith("sqlext.")]]))
"""


def sent_modules() -> set[str]:
    names = [name for name in zipfile.ZipFile(shipped_zip()).namelist() if re.fullmatch(r"sqlext/.*\.py", name)]
    return {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names}


@pytest.mark.slow
def test_executors_get_only_the_folders_that_they_need(tmp_path):
    process = subprocess.run(
        [sys.executable, "-c", WORKER_MODULES.format(archive=str(shipped_zip()))],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    folder, modules = json.loads(process.stdout)
    assert Path(folder).is_relative_to(tmp_path)
    assert {name.rpartition(".")[0] for name in sent_modules()} == {
        name.rpartition(".")[0] for name in [*modules, "sqlext"]
    }


def test_no_import_in_a_function_reaches_what_executors_do_not_get():
    roots = [name for name in MODULES if name.startswith(("sqlext.operators.", "sqlext.engine.shipped."))]
    reached, waiting = set(), {*roots, "sqlext.rewriter.rules.plan_rule"}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        imported = {entry.imported for entry in imports(MODULES[name]) if not entry.for_types}
        waiting |= (imported & MODULES.keys()) - reached - {"sqlext"}  # which loads its names only for users
    assert reached - sent_modules() == set()


def test_warming_up_matches_by_every_strategy_in_ranges_and_on_a_stream():
    plan, types = warm.lowered(warm.clauses()[0])
    rows = warm.input_rows(plan, types)
    assert warm.match_in_batch(plan, rows) == ["two_pass", "lazy_dfa", "bounded", "threads"]
    assert warm.match_unsorted(plan, rows) > 0
    assert warm.match_in_ranges(plan, rows) > 0
    assert warm.match_on_stream(plan, rows) > 0
    assert warm.pair_both_sides() > 0
    assert warm.pair_read_sides() > 0
    assert warm.order_texts() == 2


PYTHON = "the Python of the workers, /p,"
LACKS = f"WITHOUT_LIBRARIES: {PYTHON} lacks"
PYTHONS = [
    ("", (), STREAM_LIBRARIES, None),
    (digest(), (), STREAM_LIBRARIES, None),
    ("", ("google.protobuf",), LIBRARIES, None),
    ("", ("google.protobuf",), STREAM_LIBRARIES, f"{LACKS} protobuf"),
    ("", ("sqlglot",), LIBRARIES, None),
    (digest(), ("sqlglot",), LIBRARIES, f"{LACKS} sqlglot"),
    (digest(), ("numba", "numpy"), LIBRARIES, f"{LACKS} numpy, numba"),
    ("unknown", (), LIBRARIES, f"WITH_OTHER_SQLEXT: {PYTHON} has another version of sqlext than the driver"),
]


@pytest.mark.parametrize(("code", "missing", "libraries", "line"), PYTHONS)
def test_what_the_workers_lack_is_said_before_anything_runs(code, missing, libraries, line):
    python = WorkerPython(executable="/p", digest=code, missing=missing)
    if line is None:
        return check(python, libraries)
    with pytest.raises(sqlext.SetupError) as caught:
        check(python, libraries)
    assert str(caught.value).splitlines()[0] == f"SQLEXT_WORKER_{line}"
