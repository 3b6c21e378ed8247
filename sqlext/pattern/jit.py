"""The options that kernels are compiled with, and the folder that keeps their machine code for later processes.

Unless `_nrt` is False, Numba counts a reference to every array at each call and at each access to a named tuple; then a
row cost 300 ns instead of 4. The price is that `compiled` kernels cannot allocate: the caller passes the arrays that
they fill.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import njit

from sqlext.host_folder import own_folder

_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}
_NOT_FROM_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _nothing() -> None:
    pass


def keep_machine_code() -> None:
    """Keep machine code beside the sources, or in the user's cache, or otherwise in a temporary folder.

    Numba does not load at all where it can write neither beside the sources nor at home, as in many containers.
    """
    try:
        njit(cache=True)(_nothing)
    except RuntimeError:
        numba.config.CACHE_DIR = own_folder("sqlext-numba")  # type: ignore[attr-defined]


keep_machine_code()

compiled = njit(cache=True, **_OPTIONS)
allocating = njit(nogil=True, cache=True)  # for kernels that are called a few times for a block, not for each row
# A call for each row would copy the shapes of a dozen arrays, so these kernels become part of their caller. Numba does
# that for `inlined`, which compiles quickly where the kernel is small. LLVM does it for `internal`, which compiles
# quickly where the kernel is large and made `threads` 20 to 50 % faster; Python cannot call such kernels.
inlined = njit(inline="always", cache=True, **_OPTIONS)
internal = njit(forceinline=True, error_model="numpy", **_NOT_FROM_PYTHON, **_OPTIONS)
