"""The cells of the matrix surface × hook × setting × version of Spark, and what each of them must print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cluster import standalone
from tests.installed.environments import Environment, NotReleased
from tests.jvm import OPTIONS

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "program.py"
ENABLED, REFUSED = "spark.sqlext.enabled", "SQLEXT_SPARK_VERSION"
LOCAL = ("python", "spark-submit", "pyspark", "jupyter")  # surfaces with a local master
_LONGEST = 600  # seconds
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.extraJavaOptions": OPTIONS,
}
_OTHERS = ("PYSPARK_", "PYTHON", "SPARK_", "SQLEXT_", "VIRTUAL_ENV", "JUPYTER_")
_NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(open(sys.argv[1]).read())])
nbclient.NotebookClient(notebook, kernel_name="python3").execute()
print(*(output.get("text", "") for output in notebook.cells[0].outputs))
"""


def clean_environment() -> dict[str, str]:
    """The variables of this process without those that choose a Python, a Spark or settings of sqlext."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}


Environments = Callable[[str, str], Environment]  # of a package and a version


@dataclass(frozen=True)
class Cell:
    """`hook`: is it installed? `enabled`: the value of spark.sqlext.enabled."""

    version: str
    surface: str
    hook: bool
    enabled: bool

    @property
    def package(self) -> str:
        return "pyspark-client" if self.surface == "pyspark-client" else "pyspark"

    def __str__(self) -> str:
        return f"{self.surface}-{'hook' if self.hook else 'no_hook'}-{str(self.enabled).lower()}-{self.version}"


@dataclass(frozen=True)
class Outcome:
    """`word`: pass, refused, fail or not released; `report`: what a failed cell printed."""

    word: str
    report: str = ""


@dataclass
class Place:
    """Where a cell runs. `folder`: its current folder, which is its own; `server`: the address of a Connect server."""

    cell: Cell
    environment: Environment
    folder: Path
    server: Callable[[], str]

    @property
    def is_activated(self) -> bool:
        """Return False where the hook must choose the workers' Python, because PATH does not lead to it."""
        return not (self.cell.hook and self.cell.enabled and self.cell.surface in LOCAL)

    @cached_property
    def setting(self) -> dict[str, str]:
        return {ENABLED: str(self.cell.enabled).lower()}

    def variables(self, options: Mapping[str, str]) -> dict[str, str]:
        """The environment of the process: spark-defaults.conf has what makes runs fast, and the surface's settings."""
        others = clean_environment()
        if self.is_activated:
            others["PATH"] = f"{self.environment.bin}{os.pathsep}{others['PATH']}"
        else:
            others["PYSPARK_DRIVER_PYTHON"] = str(self.environment.python)  # spark-submit and pyspark read it
        ours = {"SPARK_CONF_DIR": str(self.folder), "SPARK_LOCAL_IP": "127.0.0.1", "IPYTHONDIR": str(self.folder)}
        return {**others, **ours, "SQLEXT_TEST_OPTIONS": json.dumps(dict(options))}

    def run(
        self, *command: str | Path, options: Mapping[str, str], defaults: Mapping[str, str] = {}, **others: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. `options`: of the session's builder; `defaults`: in spark-defaults.conf."""
        settings = {**_SETTINGS, "spark.log.level": "ERROR", **defaults}
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        (self.folder / "spark-defaults.conf").write_text(text)
        from_root = "tests.cluster.standalone" in command
        shell = f'exec(open("{PROGRAM}").read())\n' if command[0] == self.environment.bin / "pyspark" else None
        return subprocess.run(
            [str(word) for word in command],
            cwd=ROOT if from_root else self.folder, env={**self.variables(options), **others}, input=shell,
            capture_output=True, text=True, check=False, timeout=_LONGEST,
        )  # fmt: skip

    @property
    def conf(self) -> tuple[str, ...]:
        return tuple(word for name, value in self.setting.items() for word in ("--conf", f"{name}={value}"))


def _python(place: Place) -> subprocess.CompletedProcess[str]:
    return place.run(place.environment.python, PROGRAM, options={"spark.master": "local[1]", **place.setting})


def _spark_submit(place: Place) -> subprocess.CompletedProcess[str]:
    words = ("--master", "local[1]", *place.conf, PROGRAM)
    return place.run(place.environment.bin / "spark-submit", *words, options={})


def _shell(place: Place) -> subprocess.CompletedProcess[str]:
    return place.run(place.environment.bin / "pyspark", "--master", "local[1]", *place.conf, options={})


def _jupyter(place: Place) -> subprocess.CompletedProcess[str]:
    options = {"spark.master": "local[1]"}
    return place.run(place.environment.python, "-c", _NOTEBOOK, PROGRAM, options=options, defaults=place.setting)


def _connect(place: Place) -> subprocess.CompletedProcess[str]:
    options = {"spark.remote": place.server(), **place.setting}
    return place.run(place.environment.python, PROGRAM, options=options)


def _cluster(place: Place) -> subprocess.CompletedProcess[str]:
    submit = f'exec "{place.environment.bin}/spark-submit" --master "$SQLEXT_TEST_MASTER" "$@"'
    words = ("-m", "tests.cluster.standalone", "sh", "-c", submit, "sh", *place.conf, PROGRAM)
    python = str(place.environment.python)
    return place.run(python, *words, options={}, SQLEXT_WORKER_PYTHON=python)


SURFACES: dict[str, Callable[[Place], subprocess.CompletedProcess[str]]] = {
    "python": _python,
    "spark-submit": _spark_submit,
    "pyspark": _shell,
    "jupyter": _jupyter,
    "connect": _connect,
    "pyspark-client": _connect,
    "cluster": _cluster,
}


def all_cells(versions: Sequence[str], surfaces: Sequence[str] = tuple(SURFACES)) -> list[Cell]:
    """All cells of some versions and surfaces, those of one environment and state of the hook together."""
    return [
        Cell(version=version, surface=surface, hook=hook, enabled=enabled)
        for version, hook, surface, enabled in product(versions, (True, False), surfaces, (True, False))
    ]


def expected(cell: Cell, environment: Environment) -> dict[str, object]:
    """What the program prints of itself in a cell."""
    extended = cell.hook and cell.enabled
    return {
        "udf": [1, 2, 3, 4],
        "hook in workers": False,
        "plain": [[4, 17]],
        "views": ["t"],
        "no table": "TABLE_OR_VIEW_NOT_FOUND",
        "previous row": [[2, 3]] if extended else "PARSE_SYNTAX_ERROR",
        "in a new session": [[2, 3]] if extended else "PARSE_SYNTAX_ERROR",
        "mapped rows": [[1, 2], [3, 4]] if extended else "PARSE_SYNTAX_ERROR",
        "workers": [str(environment.folder)],
    }


def outcome(place: Place, done: subprocess.CompletedProcess[str], workers: Environment) -> Outcome:
    """`workers`: the environment of the Python workers, which for a client is that of the server."""
    report = f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    lines = [line.strip().removeprefix(">>> ") for line in done.stdout.splitlines()]
    results = [json.loads(line.removeprefix("RESULT ")) for line in lines if line.startswith("RESULT ")]
    if results == [expected(place.cell, workers)] and done.returncode == 0:
        return Outcome("pass")
    return Outcome("refused" if REFUSED in report else "fail", f"{place.cell}\n{results}\n{report}")


def run(cells: Sequence[Cell], environments: Environments) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells one after the other; those of a version and a state of the hook share a Connect server."""
    for (version, _), group in groupby(cells, key=lambda cell: (cell.version, cell.hook)):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="sqlext-installed-")))
            addresses: list[str] = []

            def server(stack: ExitStack = stack, addresses: list[str] = addresses, version: str = version) -> str:
                if not addresses:
                    home = environments("pyspark", version)
                    started = standalone.connect_server(
                        "local[1]", _SETTINGS, spark_home=home.packages / "pyspark", python=str(home.python)
                    )
                    addresses.append(stack.enter_context(started))
                return addresses[0]

            for i, cell in enumerate(group):
                (folder / str(i)).mkdir()
                print(cell, end=" ", flush=True, file=sys.stderr)
                result = _run_one(cell, environments, folder / str(i), server)
                print(result.word, result.report, flush=True, file=sys.stderr)
                yield cell, result


def _run_one(cell: Cell, environments: Environments, folder: Path, server: Callable[[], str]) -> Outcome:
    try:
        workers, environment = environments("pyspark", cell.version), environments(cell.package, cell.version)
    except NotReleased:
        return Outcome("not released")
    for made in {environment, workers}:
        made.hook("install" if cell.hook else "remove")
    place = Place(cell, environment, folder, server)
    return outcome(place, SURFACES[cell.surface](place), workers)
