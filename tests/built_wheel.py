"""The distributions of this checkout, built as `pip wheel` would build them from a clone. Needs no network.

`python -m tests.built_wheel FOLDER` builds them twice, compares their bytes and puts them into the folder.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
BUILD = """
import sys
sys.path.insert(0, "build_backend")  # as pyproject.toml says
import reproducible
target = sys.argv[1]  # setuptools writes its own words into sys.argv
reproducible.build_sdist(target)
reproducible.build_wheel(target)
"""


def tracked_files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


def build(folder: Path) -> tuple[Path, Path]:
    """The source distribution and the wheel, built in an empty folder without a warning of setuptools."""
    source, target = folder / "source", folder / "dist"
    for name in tracked_files():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    target.mkdir()
    command = [sys.executable, "-c", BUILD, str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "!!" not in done.stderr, done.stderr  # a warning of setuptools
    (sdist,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return sdist, wheel


def main(folder: Path) -> None:
    """Put distributions into a folder of which a second build has the same bytes. Prints their hashes."""
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        folder.mkdir(exist_ok=True)
        for one, other in zip(build(Path(first)), build(Path(second))):
            if one.read_bytes() != other.read_bytes():
                sys.exit(f"two builds of {one.name} differ")
            print(sha256(one.read_bytes()).hexdigest(), "", shutil.copy(one, folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
