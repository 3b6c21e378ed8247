"""Fresh Python environments as users have them: pyspark installed by pip, and sqlext from its wheel.

The other libraries are those of the Python that runs this, by a .pth file, so an environment takes seconds and little
space. It sees neither the checkout nor the editable install.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

HERE = "the version of this Python"


class NotReleased(Exception):
    """The package registry has no such version of a package."""


@dataclass(frozen=True)
class Environment:
    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def python(self) -> Path:
        return self.bin / "python"

    @property
    def packages(self) -> Path:
        (folder,) = self.folder.glob("lib/python*/site-packages")
        return folder

    def hook(self, state: str) -> None:
        """Run `sqlext hook install` or `sqlext hook remove`."""
        _run(self.bin / "sqlext", "hook", state)


def make(folder: Path, package: str, version: str, wheel: Path) -> Environment:
    """An environment with `package` (pyspark or pyspark-client) of a version, which may have been made before.

    Raises NotReleased if there is no such version.
    """
    environment, made = Environment(folder), folder / "made"
    if not made.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run(sys.executable, "-m", "venv", "--without-pip", folder)
        if version == HERE:
            _link(package, environment)
        else:
            _pip(environment, f"{package}=={version}.*")
        libraries = "\n".join(site.getsitepackages())
        (environment.packages / "libraries.pth").write_text(f"{libraries}\n")
        made.touch()
    _pip(environment, "--no-index", "--force-reinstall", str(wheel))
    return environment


def _pip(environment: Environment, *words: str) -> None:
    options = ("install", "--quiet", "--disable-pip-version-check", "--no-deps")
    _run(sys.executable, "-m", "pip", "--python", environment.python, *options, *words)


def _link(package: str, environment: Environment) -> None:
    """Put the files that pip has installed in this Python into another environment, without copying where possible."""
    for file in distribution(package).files or ():
        target = Path(os.path.normpath(environment.packages / file))
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file.locate(), target)
        except OSError:  # another file system
            shutil.copy2(file.locate(), target)


def _run(*words: str | Path) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if "No matching distribution found" in done.stderr:
        raise NotReleased(done.stderr)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
