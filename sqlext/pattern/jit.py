"""How kernels are compiled, and where their machine code is kept from one process to the next.

Without `_nrt` False Numba counts a reference to every array at each call and each touch of a named tuple, which made a
row cost 300 ns instead of 4. So `compiled` kernels cannot allocate: they fill arrays that they are given.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numba
from numba import njit

_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}
_NOT_FROM_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _nothing() -> None:
    pass


def keep_machine_code() -> None:
    """Let machine code be kept beside the sources, else in the user's cache, else in a temporary folder.

    Numba refuses to load at all where it can write neither beside the sources nor at home, as in many a container.
    """
    try:
        njit(cache=True)(_nothing)
    except RuntimeError:
        numba.config.CACHE_DIR = _own_folder()  # type: ignore[attr-defined]


def _own_folder() -> str:
    """A temporary folder that nobody else can write to: what is read from it is run."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = os.path.join(tempfile.gettempdir(), f"sqlext-numba-{user}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.stat(folder)
    is_own = found.st_uid == user and not found.st_mode & 0o022
    return folder if is_own else tempfile.mkdtemp()


keep_machine_code()

compiled = njit(cache=True, **_OPTIONS)
allocating = njit(nogil=True, cache=True)  # for kernels called a few times for a block, not for each row
# Where a call for each row would copy the shapes of a dozen arrays: made part of the caller by Numba (quick to compile
# where that is small), or by LLVM (quick where it is large, 20 to 50 % faster in `threads`; not callable from Python).
inlined = njit(inline="always", cache=True, **_OPTIONS)
internal = njit(forceinline=True, error_model="numpy", **_NOT_FROM_PYTHON, **_OPTIONS)
