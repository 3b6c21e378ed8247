"""The files of this installation of sqlext, a digest of its code, and the zip that is sent to executors."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path

_CODE = ".py"
_MACHINE_CODE = (".nbi", ".nbc")  # Numba's index of a kernel's signatures, and the kernel for one of them
_SOME_DAY = (2020, 1, 1, 0, 0, 0)  # the date of all files in the zip, so that the same code gives the same zip
_DRIVER_ONLY = (
    "catalog",
    "cli",
    "demo_data",
    "engine/emit",
    "engine/joins",
    "engine/match",
    "engine/materialized",
    "engine/planning",
    "engine/queries",
    "engine/reports",
    "engine/rules",
    "engine/scan",
    "engine/sources",
    "engine/statements",
    "engine/streams",
    "engine/views",
    "engine/why",
    "formats",
    "formatting",
    "frames",
    "language_server",
    "notebooks",
    "playground",
    "rewriter/checkpoint_words",
    "rewriter/emit",
    "rewriter/heads",
    "rewriter/joins",
    "rewriter/match_windows",
    "rewriter/refresh_keys",
    "rewriter/statements",
    "server",
    "sessions",
)  # folders that executors never read
_TOKENIZER = "sqlglot"  # pure Python; rules and `sqlext_match` are compiled in Spark's Python processes


def package_folder() -> Path:
    """The folder of the installed package `sqlext`."""
    return Path(__file__).parent.parent


@functools.cache
def digest() -> str:
    """Sixteen digits that differ for any two versions of the code of sqlext, and do not depend on where it is
    installed."""
    digits = hashlib.sha256()
    for name, path in files(package_folder(), (_CODE,)):
        digits.update(f"{name}\0".encode())
        digits.update(hashlib.sha256(path.read_bytes()).digest())
    return digits.hexdigest()[:16]


def files(folder: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """(name in the folder, path) of each file with one of the suffixes, in the order of the names."""
    paths = (Path(top, name) for top, _, names in os.walk(folder, followlinks=True) for name in names)
    yield from sorted((path.relative_to(folder).as_posix(), path) for path in paths if path.suffix in suffixes)


def write_zip(target: Path, left_out: Collection[str] = ()) -> None:
    """Write the package with its compiled kernels, without the folders in `left_out`, and the tokenizer that it needs.

    The same files give the same bytes. Python imports from the zip, and `host_folder` unpacks it. Raises OSError.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package, folder in (("sqlext", package_folder()), (_TOKENIZER, _folder_of(_TOKENIZER))):
            for name, path in files(folder, (_CODE, *_MACHINE_CODE)):
                if package == "sqlext" and any(name.startswith(f"{left}/") for left in left_out):
                    continue
                entry = zipfile.ZipInfo(f"{package}/{name}", _SOME_DAY)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())


def _folder_of(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None  # the driver has parsed a statement with it
    return Path(spec.origin).parent


@functools.cache
def shipped_zip() -> Path:
    """The zip for the executors of this process's applications, in a temporary folder: the folders that they need.

    Its name is derived from its content.
    """
    folder = Path(tempfile.mkdtemp(prefix="sqlext-"))
    written = folder / "sqlext.zip"
    write_zip(written, _DRIVER_ONLY)
    content = hashlib.sha256(written.read_bytes()).hexdigest()[:16]
    return written.rename(folder / f"sqlext-{content}.zip")
