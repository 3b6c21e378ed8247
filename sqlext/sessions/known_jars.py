"""The jars of Delta, remembered from one start of Spark to the next.

Ivy looks for them at each start, which takes 2 seconds of processor time even if all of them are on the disk, and its
list of jars becomes part of the path on which Python workers look for modules.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from sqlext.host_folder import own_folder
from sqlext.spark.locations import local_path

_SCALA = re.compile(r"_\d[\d.]*$")  # the version of Scala at the end of an artifact's name


def known_jars(package: str, folder: Path | None = None) -> str:
    """The value of `spark.jars` for the package, Maven coordinates; "" unless all jars are still there.

    `folder`: where lists of jars are kept.
    """
    try:
        jars = _file(package, folder).read_text("utf-8")
    except OSError:
        return ""
    return jars if all(map(_exists, jars.split(","))) else ""


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


def remember_jars(package: str, jars: str, folder: Path | None = None) -> None:
    """Keep the value of `spark.jars` with which Spark has started, if all of its jars are files of this machine."""
    if not all(map(_exists, jars.split(","))):
        return
    file = _file(package, folder)
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as draft:
            draft.write(jars)
        os.replace(draft.name, file)
    except OSError:
        pass  # Ivy finds them again at the next start


def _file(package: str, folder: Path | None) -> Path:
    return (folder or Path(own_folder("sqlext-jars"))) / re.sub(r"[^\w.-]", "_", package)


def _exists(jar: str) -> bool:
    path = local_path(jar)
    return path is not None and path.is_file()
