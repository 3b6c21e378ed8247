"""The build backend of pyproject.toml: that of setuptools, whose archives are the same bytes for the same files.

setuptools writes the time of the build, the user and the permissions of the checkout into them. Here all times are
SOURCE_DATE_EPOCH, by default the first time that a zip file can hold.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  # all other hooks of PEP 517 and PEP 660

_EPOCH = "SOURCE_DATE_EPOCH"
_YEAR_1980 = "315532800"


def build_wheel(*arguments: Any, **options: Any) -> str:
    """Build the wheel; setuptools itself reads SOURCE_DATE_EPOCH for it."""
    os.environ.setdefault(_EPOCH, _YEAR_1980)
    with _common_permissions():
        return build_meta.build_wheel(*arguments, **options)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Build the source distribution, and write it anew with members in order, without times and owners."""
    with _common_permissions():  # of files that it leaves for build_wheel
        name: str = build_meta.build_sdist(sdist_directory, config_settings)
    archive = Path(sdist_directory, name)
    with tarfile.open(archive) as built:
        members = [(member, file.read()) for member in built if (file := built.extractfile(member)) is not None]
    with archive.open("wb") as out, gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed:
        _write(packed, members)
    return name


@contextmanager
def _common_permissions() -> Iterator[None]:
    """What is written in the `with` block has the permissions that most users have."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def _write(out: Any, members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for built, content in sorted(members, key=lambda member: member[0].name):
            member = tarfile.TarInfo(built.name)
            member.size, member.mode = len(content), 0o644
            member.mtime = int(os.environ.get(_EPOCH, _YEAR_1980))
            archive.addfile(member, BytesIO(content))
