"""The folders for what peers download once: jars and servers from Maven Central, unpacked and installed files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_MAVEN_GET = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get"


def cache(name: str) -> Path:
    """A folder that outlives the benchmark, below $XDG_CACHE_HOME or ~/.cache; it may not exist yet.

    >>> cache("trino-476").name
    'trino-476'
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sqlext-bench" / name


def maven(group: str, artifact: str, version: str, packaging: str = "jar") -> Path:
    """The file of an artifact from Maven Central, which `mvn` downloads into its local repository if necessary."""
    repository = Path.home() / ".m2" / "repository"
    folder = repository.joinpath(*group.split("."), artifact, version)
    path = folder / f"{artifact}-{version}.{packaging}"
    if not path.exists():
        coordinates = f"-Dartifact={group}:{artifact}:{version}:{packaging}"
        local = f"-Dmaven.repo.local={repository}"  # overrides the user's settings: the file must be where we look
        subprocess.run(["mvn", "-B", "-q", _MAVEN_GET, local, coordinates, "-Dtransitive=false"], check=True)
    return path
