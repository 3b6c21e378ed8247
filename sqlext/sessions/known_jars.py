"""The jars of packages, remembered from one start of Spark to the next.

Ivy looks for them at each start: it asks the repositories for each jar, also for one that is on the disk, which takes 2
seconds of processor time for Delta and half a minute for Kafka, and fails without a network. And its list of jars
becomes part of the path on which Python workers look for modules.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sqlext.host_folder import own_folder
from sqlext.spark.locations import local_path

PACKAGES, JARS, MODULES = "spark.jars.packages", "spark.jars", "spark.submit.pyFiles"  # settings of Spark
# The settings by which Ivy finds the jars of packages.
_OF_IVY = (PACKAGES, *(f"spark.jars.{name}" for name in ("excludes", "repositories", "ivySettings", "ivy")))
_CHANGING = re.compile(r"SNAPSHOT|latest\.|[\[\](+]")  # in a version that is another one tomorrow
_OUR_GROUPS = ("io.delta:", "org.apache.iceberg:", "org.apache.spark:")  # whose jars Spark's own versions suit
_NAMES_JARS = re.compile(r"spark\.jars|pyFiles|--(?:packages|jars|py-files|exclude-packages|repositories|properties)")
_SCALA = re.compile(r"_\d[\d.]*$")  # the version of Scala at the end of an artifact's name


class KnownJars(NamedTuple):
    """The jars of some packages: values of the settings JARS and MODULES, which has those with modules of Python."""

    jars: str
    modules: str

    def in_settings(self, settings: Mapping[str, str], spark_jars: Path | None) -> dict[str, str]:
        """The settings with these jars in place of the packages. `spark_jars`: the folder of Spark's jars, if Spark
        takes each class from them first."""
        is_ours = all(package.strip().startswith(_OUR_GROUPS) for package in settings[PACKAGES].split(","))
        jars = self.jars if spark_jars is None or not is_ours else without_sparks_own(self.jars, spark_jars)
        modules = ",".join(filter(None, (settings.get(MODULES), self.modules)))
        others = {name: value for name, value in settings.items() if name not in _OF_IVY}
        return others | {JARS: jars, MODULES: modules}


def request_of(settings: Mapping[str, str], submitted: str) -> str:
    """What Ivy is asked for, as a text; "" if its answer may be another one tomorrow, or if jars are named elsewhere.

    `submitted`: other places that may name jars: the arguments of spark-submit, and its file of defaults.

    >>> request_of({"spark.jars.packages": "a:b:1", "spark.ui.enabled": "false"}, "--master local")
    'spark.jars.packages=a:b:1'
    >>> request_of({"spark.jars.packages": "a:b:1-SNAPSHOT"}, ""), request_of({}, "")
    ('', '')
    >>> request_of({"spark.jars.packages": "a:b:1", "spark.jars": "c.jar"}, "")
    ''
    >>> request_of({"spark.jars.packages": "a:b:1"}, "--packages c:d:1")
    ''
    """
    asked = {name: settings[name] for name in _OF_IVY if settings.get(name)}
    names_others = any(name.startswith(JARS) and value and name not in _OF_IVY for name, value in settings.items())
    if PACKAGES not in asked or names_others or _CHANGING.search(asked[PACKAGES]) or _NAMES_JARS.search(submitted):
        return ""
    return "\n".join(f"{name}={value}" for name, value in asked.items())


def known_jars(request: str, folder: Path | None = None) -> KnownJars | None:
    """The jars that Ivy has found for a request; None unless all of them are still there.

    `folder`: where lists of jars are kept.
    """
    try:
        jars, modules = _file(request, folder).read_text("utf-8").split("\n")
    except (OSError, ValueError):
        return None
    return KnownJars(jars, modules) if all(map(_exists, jars.split(","))) else None


def without_sparks_own(jars: str, spark_jars: Path) -> str:
    """The value of `spark.jars` without the jars of which the folder `spark_jars` of Spark has some version.

    Spark's class loader takes each class from Spark's own jars if it can, so they have no effect, and Spark copies each
    jar of `spark.jars` when it starts: 74 of the 87 MB of Delta's jars are Hadoop, Parquet and the like.
    """
    own = {_artifact(path.name) for path in spark_jars.glob("*.jar")}
    return ",".join(jar for jar in jars.split(",") if _artifact(jar) not in own)


def _artifact(jar: str) -> str:
    """The name of a jar without its version, and without the group that Ivy writes before it.

    >>> _artifact("file:///j/org.apache.hadoop_hadoop-client-api-3.4.2.jar"), _artifact("hadoop-client-api-3.5.0.jar")
    ('hadoop-client-api', 'hadoop-client-api')
    """
    name = re.sub(r"-\d[\w.-]*\.jar$", "", jar.rpartition("/")[2])
    return name if _SCALA.search(name) else name.rpartition("_")[2]


def remember_jars(request: str, jars: str, folder: Path | None = None) -> None:
    """Keep the value of `spark.jars` with which Spark has started, if all of its jars are files of this machine."""
    if not all(map(_exists, jars.split(","))):
        return
    file = _file(request, folder)
    try:
        modules = ",".join(filter(_has_modules, jars.split(",")))
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as draft:
            draft.write(f"{jars}\n{modules}")
        os.replace(draft.name, file)
    except (OSError, zipfile.BadZipFile):
        pass  # Ivy finds them again at the next start


def _file(request: str, folder: Path | None) -> Path:
    return (folder or Path(own_folder("sqlext-jars"))) / hashlib.sha256(request.encode()).hexdigest()[:32]


def _exists(jar: str) -> bool:
    path = local_path(jar)
    return path is not None and path.is_file()


def _has_modules(jar: str) -> bool:
    path = local_path(jar)
    if path is None:
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith(".py") for name in archive.namelist())
