"""Jars from Maven Central, with what they need: resolved once by the Ivy that Spark has, and then asked of nobody.

Their paths are in a file of the cache, `~/.cache/sqlext-jars`, or below $XDG_CACHE_HOME. As long as all of them are
there, nothing is started and no repository is asked.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyspark

from sqlext.sessions.known_jars import without_sparks_own

JAVA = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
BROKER = ("org.apache.kafka:kafka_2.13:4.1.0", "org.slf4j:slf4j-simple:2.0.17")
# PyPI has versions of Spark that Maven Central had not on 2026-11-30.
_VERSION = {"4.1.4": "4.1.1"}.get(pyspark.__version__, pyspark.__version__)
CONNECTOR = tuple(  # what Spark reads and writes topics with, and Avro
    f"org.apache.spark:{artifact}_2.13:{_VERSION}" for artifact in ("spark-sql-kafka-0-10", "spark-avro")
)
_IVY = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="sqlext" module="tests"/>
<configurations><conf name="default"/></configurations>
<dependencies>{}</dependencies></ivy-module>"""
_DEPENDENCY = '<dependency org="{0}" name="{1}" rev="{2}" conf="default->default">{3}</dependency>'
_ARTIFACT = '<artifact name="{}" type="jar" ext="jar"{}/>'
_LONGEST = 300  # seconds


class NoJars(Exception):
    """Maven Central cannot be reached, or has no such jar."""


def connector_jars() -> str:
    """The value of `spark.jars` with which this Spark reads and writes topics. Raises NoJars."""
    return without_sparks_own(",".join(map(str, jars(CONNECTOR))), SPARK_JARS)


@cache
def jars(coordinates: Sequence[str]) -> list[Path]:
    """The jars of `group:artifact:version` and of what these need; `group:artifact:version:,tests` has the jar with the
    classifier `tests`, too. Raises NoJars."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sqlext-jars"
    known = folder / hashlib.sha256(",".join(coordinates).encode()).hexdigest()
    paths = _paths(known) if known.exists() else []
    if paths and all(path.exists() for path in paths):
        return paths
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        wanted, found = Path(place, "ivy.xml"), Path(place, "paths")
        wanted.write_text(_IVY.format("".join(map(_dependency, coordinates))))
        options = ("-ivy", wanted, "-cache", folder / "ivy", "-confs", "default")
        ivy = (JAVA, "-cp", SPARK_JARS / "*", "org.apache.ivy.Main", *options, "-cachepath", found)
        try:
            subprocess.run(ivy, capture_output=True, text=True, timeout=_LONGEST, check=True)
        except subprocess.CalledProcessError as error:
            raise NoJars(f"Maven Central gave no jars of {', '.join(coordinates)}: {error.stdout[-500:]}") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoJars(f"no jars of {', '.join(coordinates)}: {error}") from None
        found.replace(known)
    return _paths(known)


def _dependency(coordinates: str) -> str:
    """
    >>> _dependency("g:a:1:,tests").count("<artifact"), _dependency("g:a:1").count("<artifact")
    (2, 0)
    """
    group, artifact, version, *classifiers = coordinates.split(":")
    names = classifiers[0].split(",") if classifiers else ()
    artifacts = (_ARTIFACT.format(artifact, name and f' m:classifier="{name}"') for name in names)
    return _DEPENDENCY.format(group, artifact, version, "".join(artifacts))


def _paths(file: Path) -> list[Path]:
    return [Path(path) for path in file.read_text().strip().split(os.pathsep) if path]
