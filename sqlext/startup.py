"""Why Spark did not start, said so that it can be mended."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from sqlext.errors import SetupError

_NO_DOWNLOAD = re.compile(r"unresolved dependency|download failed|UNRESOLVED DEPENDENCIES|FAILED DOWNLOADS")
_CAUSE = re.compile(r"^(?:Caused by: |Exception in thread \S+ )?((?:[\w.$]+\.)?\w*(?:Exception|Error)\b.*)$", re.M)
_OLDEST_JAVA = 17


def diagnose(log: str, error: Exception, packages: str) -> SetupError:
    """The SetupError for a start that failed with `error` after writing `log` to stderr.

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
    """What is wrong with the Java of this machine; None if Spark can use it."""
    java = java_version()
    if java is not None and java >= _OLDEST_JAVA:
        return None
    found = "none was found" if java is None else f"this is Java {java}"
    return SetupError(
        "JAVA_NOT_FOUND",
        f"Spark needs Java {_OLDEST_JAVA} or newer and {found}",
        hint="install a JDK or JRE (Debian, Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME.",
    )


def java_version() -> int | None:
    """The major version of the Java that Spark would start; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if java is None:
        return None
    banner = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return parse_java_version(banner)


def parse_java_version(banner: str) -> int | None:
    """
    >>> parse_java_version('openjdk version "17.0.15" 2025-04-15'), parse_java_version('java version "1.8.0_402"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(found[1]) if found else None
