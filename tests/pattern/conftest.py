"""Numba trusts a cache as long as the kernel's own file is unchanged, though kernels call into other files. So the
tests keep one cache for each version of the sources."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import numba

import sqlext.pattern

_SOURCES = sorted(Path(sqlext.pattern.__file__).parent.glob("*.py"))
_VERSION = hashlib.sha256(b"".join(source.read_bytes() for source in _SOURCES)).hexdigest()[:16]
numba.config.CACHE_DIR = str(Path(tempfile.gettempdir()) / f"sqlext-numba-{_VERSION}")
